import { Link, type LinkProps, useLocation } from '@tanstack/react-router';
import { type ReactNode, useRef, useState } from 'react';
import { formatNumber } from '../format.ts';
import { useShortcuts } from '../shortcuts.ts';
import { texts } from '../texts.ts';
import { buttonClass } from './button-class.ts';
import { FilterSelect } from './form.tsx';
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight, Columns3 } from './icons.tsx';
import { Menu, MenuCheck, MenuList } from './menu.tsx';
import { LoadFailure, Skeleton } from './page.tsx';

/**
 * The table of every list: columns to choose, sorting, selection, pages, and the keys j, k, Enter, x and e. A row
 * opens what its first column links to. The widths of columns do not depend on the rows, so that no filter moves
 * them. On a phone a row is a card.
 */

interface Item {
  id: number | string;
}

/** The places of a card: three lines. The right end of a line is as wide as its content, the left end takes the rest. */
const PLACES = {
  title: 'max-md:order-1 max-md:flex-1',
  titleEnd: 'max-md:order-2 max-md:ml-auto',
  line: 'max-md:order-4 max-md:flex-1 max-md:text-muted',
  lineEnd: 'max-md:order-5 max-md:ml-auto max-md:text-muted',
  last: 'max-md:order-7 max-md:flex-1 max-md:text-muted',
  lastEnd: 'max-md:order-8 max-md:ml-auto max-md:text-muted',
} as const;

/** A card, with a break after its first and its second line. */
const CARD =
  "max-md:relative max-md:flex max-md:flex-wrap max-md:items-center max-md:gap-x-3 max-md:gap-y-px max-md:before:order-3 max-md:before:basis-full max-md:before:content-[''] max-md:after:order-6 max-md:after:basis-full max-md:after:content-['']";

/** A column of a `DataTable`. The first one links to the row's screen, and is always shown. */
export interface Column<Row> {
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** The class of its width. Columns without one share the rest. */
  width?: string;
  /** Numbers are aligned to the right. */
  isNumber?: boolean;
  /** Its cells say what they are: the header is for screen readers alone. */
  isIcon?: boolean;
  /** The values of the `sort` parameter, if the service can sort by this column, which has times. */
  sort?: { ascending: string; descending: string };
  /** Its place in the card of a phone; without one it is left out there. */
  phone?: keyof typeof PLACES;
  /** Left out on screens below 1,280 px. */
  isWide?: boolean;
  /** Shown only if the viewer chooses it. */
  isExtra?: boolean;
}

/** The columns that a viewer chose, kept in this browser. */
function useColumnVisibility<Row>(name: string, columns: readonly Column<Row>[]) {
  const key = `licet.columns.${name}`;
  const [visibility, setVisibility] = useState<Record<string, boolean>>(() => {
    const stored = localStorage.getItem(key)?.split(',');
    return Object.fromEntries(
      columns.map(({ id, isExtra = false }) => [id, stored ? stored.includes(id) : !isExtra]),
    );
  });
  const choose = (id: string, isVisible: boolean): void => {
    const next = { ...visibility, [id]: isVisible };
    setVisibility(next);
    const shown = columns.filter((column) => next[column.id]);
    localStorage.setItem(key, shown.map((column) => column.id).join(','));
  };
  return [visibility, choose] as const;
}

/** A page of a list, and its place in the list. */
interface Pages {
  to: NonNullable<LinkProps['to']>;
  /** The filters in the address. */
  search: object;
  after: number | undefined;
  /** The `after` of the next page, if there is one. */
  next: number | undefined;
}

export interface DataTableProps<Row extends Item> {
  /** The name under which the chosen columns are kept. */
  name: string;
  /** The name of the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined while they are loaded. */
  rows: readonly Row[] | undefined;
  error?: unknown;
  onRetry?: () => void;
  /** The screen of a row: its first visible column links there. */
  linkOf?: (row: Row) => LinkProps;
  /** Edits a row, with the key e. */
  onEdit?: (row: Row) => void;
  /** More classes of a row, such as those of a new one. */
  rowClassOf?: (row: Row) => string;
  /** The name of a row, for the label of its checkbox. */
  nameOf?: (row: Row) => string;
  /** The selected rows by id, which may be on other pages. Without it nothing can be selected. */
  selection?: {
    rows: ReadonlyMap<string, Row>;
    onChange: (rows: ReadonlyMap<string, Row>) => void;
  };
  sort?: { value: string | undefined; onChange: (value: string) => void };
  /** The content if there are no rows. */
  empty: ReactNode;
  /** The place of this page in the list; without it, the rows are all there are. */
  pages?: Pages | undefined;
  /** The number of rows on all pages, if the service tells it. */
  total?: number | undefined;
  /** A number of rows in words, such as `2 licenses`. */
  count: (rows: number) => string;
  /** Beside the columns' menu, such as filters. Without them the number of rows stands there, not below the table. */
  tools?: ReactNode;
}

const HEAD_CLASS = 'sticky z-10 border-b border-line bg-surface';
const CELL_CLASS = 'border-line group-not-last:md:border-b';
const PADDING_CLASS = 'px-2 first:pl-4 last:pr-4 xl:px-2.5';
/** Text that follows a number, which stands at the right end of its column. */
const AFTER_NUMBER_CLASS = 'md:pl-6!';
/** The whole cell is the target. */
const CHECKBOX_CLASS =
  'flex min-h-10 min-w-11 items-center gap-3 pl-4 max-md:h-full pointer-coarse:min-h-11';

export function DataTable<Row extends Item>(props: DataTableProps<Row>) {
  const { name, label, columns, rows, selection, linkOf, nameOf, sort } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [visibility, choose] = useColumnVisibility(name, columns);
  const data = rows ?? [];
  const isSelected = ({ id }: Row): boolean => selection?.rows.has(String(id)) ?? false;

  const select = (changed: readonly Row[], isChosen: boolean): void => {
    const next = new Map(selection?.rows);
    for (const row of changed) {
      if (isChosen) next.set(String(row.id), row);
      else next.delete(String(row.id));
    }
    selection?.onChange(next);
  };

  const rowElements = (): HTMLTableRowElement[] => [...(body.current?.rows ?? [])];
  const focusedIndex = (): number =>
    rowElements().findIndex((row) => row.contains(document.activeElement));
  const focusRow = (index: number): void => {
    const row = rowElements()[Math.max(0, Math.min(index, rowElements().length - 1))];
    (row?.querySelector('a') ?? row?.querySelector('button'))?.focus();
    row?.scrollIntoView({ block: 'nearest' });
  };
  useShortcuts({
    j: () => focusRow(focusedIndex() + 1),
    k: () => focusRow(focusedIndex() - 1),
    x: () => {
      const row = data[focusedIndex()];
      if (row && selection) select([row], !isSelected(row));
    },
    e: () => {
      const row = data[focusedIndex()];
      if (row) props.onEdit?.(row);
    },
  });

  const shown = columns.filter(({ id }, index) => index === 0 || visibility[id]);
  // More columns than fit scroll sideways, in a box of their own. The head can stay in sight, below the header of
  // the page, only without that box.
  const isScrolling = shown.some(({ isExtra }) => isExtra);
  const headClass = `${HEAD_CLASS} ${isScrolling ? 'top-0' : 'top-14'}`;
  const gapOf = (index: number): string =>
    shown[index - 1]?.isNumber && !shown[index]?.isNumber ? AFTER_NUMBER_CLASS : '';
  const selectedHere = data.filter(isSelected).length;
  const selectAll = (label: ReactNode) => (
    <label className={CHECKBOX_CLASS}>
      <input
        type="checkbox"
        aria-label={texts.table.selectAll}
        checked={selectedHere === data.length}
        ref={(box) => {
          if (box) box.indeterminate = selectedHere % data.length > 0;
        }}
        onChange={({ target }) => select(data, target.checked)}
      />
      {label}
    </label>
  );

  const range = data.length > 0 && (
    <p className="text-muted">
      <Range rows={data.length} pages={props.pages} total={props.total} count={props.count} />
    </p>
  );

  return (
    <div className="flex flex-col gap-3">
      <div className={`flex gap-2 ${props.tools ? 'items-start' : range ? 'items-end' : 'hidden'}`}>
        <div className="min-w-0 flex-1">{props.tools ?? range}</div>
        <div className="max-md:hidden">
          <Menu label={texts.table.columns} trigger={<Columns3 size={16} aria-hidden />}>
            <MenuList label={texts.table.columns}>
              {columns.slice(1).map(({ id, header }) => (
                <MenuCheck
                  key={id}
                  isChecked={visibility[id] ?? false}
                  onChange={(isVisible) => choose(id, isVisible)}
                >
                  {header}
                </MenuCheck>
              ))}
            </MenuList>
          </Menu>
        </div>
      </div>
      {/* Unlike `hidden`, `clip` lets the head stay in sight. */}
      <div className="overflow-clip rounded-xl border border-line bg-surface">
        {props.error ? (
          <LoadFailure error={props.error} onRetry={() => props.onRetry?.()} />
        ) : rows === undefined ? (
          <Skeleton lines={8} />
        ) : rows.length === 0 ? (
          props.empty
        ) : (
          <div className={isScrolling ? 'md:overflow-x-auto' : ''}>
            {(selection || sort) && (
              <div className="sticky top-14 z-10 flex items-center gap-3 border-b border-line bg-surface py-1 pr-2 text-muted md:hidden">
                {selection && selectAll(texts.table.all)}
                {sort && <SortSelect columns={columns} sort={sort} />}
              </div>
            )}
            <table
              aria-label={label}
              className="w-full table-fixed border-separate border-spacing-0 text-left max-md:block"
            >
              <thead className="text-xs text-muted max-md:hidden">
                <tr>
                  {selection && (
                    <th scope="col" className={`${headClass} w-11 p-0`}>
                      {selectAll(null)}
                    </th>
                  )}
                  {shown.map((column, index) => (
                    <HeaderCell
                      key={column.id}
                      column={column}
                      sort={sort}
                      className={`${headClass} ${column.width ?? (isScrolling ? 'w-48' : '')} ${gapOf(index)}`}
                    />
                  ))}
                </tr>
              </thead>
              <tbody ref={body} className="max-md:block">
                {data.map((row) => (
                  <tr
                    key={row.id}
                    data-row={linkOf && ''}
                    className={`group align-baseline ${CARD} max-md:border-line max-md:py-3 max-md:pr-4 max-md:not-last:border-b ${linkOf ? 'cursor-pointer' : ''} ${selection ? 'max-md:pl-12' : 'max-md:pl-4'} ${isSelected(row) ? 'bg-accent-soft' : 'focus-within:bg-hover hover:bg-hover'} ${props.rowClassOf?.(row) ?? ''}`}
                  >
                    {selection && (
                      <td
                        className={`${CELL_CLASS} align-middle max-md:absolute max-md:inset-y-0 max-md:left-0`}
                      >
                        <label className={CHECKBOX_CLASS}>
                          <input
                            type="checkbox"
                            aria-label={texts.table.selectRow(nameOf?.(row) ?? String(row.id))}
                            checked={isSelected(row)}
                            onChange={({ target }) => select([row], target.checked)}
                          />
                        </label>
                      </td>
                    )}
                    {shown.map((column, index) => {
                      const content = column.cell(row);
                      return (
                        <td
                          key={column.id}
                          className={`${CELL_CLASS} ${PADDING_CLASS} py-2.5 max-md:min-w-0 max-md:p-0! pointer-coarse:py-3 ${
                            column.phone ? PLACES[column.phone] : 'max-md:hidden'
                          } ${column.isWide ? 'max-xl:hidden' : ''} ${column.isNumber ? 'md:text-right' : gapOf(index)}`}
                        >
                          {index === 0 && linkOf ? (
                            <Link
                              {...linkOf(row)}
                              className={`-my-2.5 block rounded-sm py-2.5 text-ink underline-offset-2 group-hover:underline pointer-coarse:-my-3.5 pointer-coarse:py-3.5 ${column.phone === 'title' ? 'font-medium' : ''}`}
                            >
                              {content}
                            </Link>
                          ) : (
                            content
                          )}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
      {range && props.tools && (
        <div className="flex flex-wrap items-center gap-3">
          {range}
          {props.pages && <PageLinks {...props.pages} rows={data.length} />}
        </div>
      )}
    </div>
  );
}

function HeaderCell<Row>({
  column: { header, sort: by, isNumber, isIcon, isWide },
  sort,
  className: place,
}: {
  column: Column<Row>;
  sort: DataTableProps<Item>['sort'];
  className: string;
}) {
  const className = `${place} ${PADDING_CLASS} py-2 font-medium ${isNumber ? '' : 'whitespace-nowrap'} ${isWide ? 'max-xl:hidden' : ''} ${isNumber ? 'text-right' : ''}`;
  if (!by || !sort) {
    return (
      <th scope="col" className={className}>
        {isIcon ? <span className="sr-only">{header}</span> : header}
      </th>
    );
  }
  const isAscending = sort.value === by.ascending;
  const isDescending = sort.value === by.descending;
  const Arrow = isDescending ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      className={className}
      aria-sort={isAscending ? 'ascending' : isDescending ? 'descending' : 'none'}
    >
      <button
        type="button"
        title={texts.table.sortBy(header)}
        className="group -mx-1 -my-1 inline-flex min-h-6 items-center gap-1 rounded px-1 hover:text-ink pointer-coarse:-my-3 pointer-coarse:min-h-11"
        onClick={() => sort.onChange(isAscending ? by.descending : by.ascending)}
      >
        {header}
        <Arrow
          size={14}
          aria-hidden
          className={
            isAscending || isDescending
              ? 'text-accent'
              : 'opacity-0 group-hover:opacity-40 group-focus-visible:opacity-40'
          }
        />
      </button>
    </th>
  );
}

/** Takes the place of the sortable heads on a phone. */
const SortSelect = <Row,>({
  columns,
  sort,
}: {
  columns: readonly Column<Row>[];
  sort: NonNullable<DataTableProps<Item>['sort']>;
}) => (
  <div className="ml-auto">
    <FilterSelect
      label={texts.table.sort}
      options={columns.flatMap(({ header, sort: by }) =>
        by
          ? [
              [by.descending, texts.table.latestFirst(header)] as const,
              [by.ascending, texts.table.earliestFirst(header)] as const,
            ]
          : [],
      )}
      value={sort.value}
      onChange={(value) => value !== undefined && sort.onChange(value)}
    />
  </div>
);

/** The number of rows before a page; undefined if it was opened by its address alone. */
function useRowsBefore(after: number | undefined): number | undefined {
  const passed = useLocation({ select: ({ state }) => state.passed }) ?? [];
  if (after === undefined) return 0;
  const [first] = passed;
  const isFromStart = first !== undefined && first.after === undefined;
  return isFromStart ? passed.reduce((sum, { rows }) => sum + rows, 0) : undefined;
}

/** Which rows of how many, such as `51–100 of 244 licenses`. */
function Range({
  rows,
  pages,
  total,
  count,
}: Pick<DataTableProps<Item>, 'pages' | 'total' | 'count'> & { rows: number }) {
  const before = useRowsBefore(pages?.after);
  const isLast = pages?.next === undefined;
  const known = total ?? (isLast && before !== undefined ? before + rows : undefined);
  if (known === rows) return count(rows);
  const shown =
    before === undefined ? formatNumber(rows) : texts.table.range(before + 1, before + rows);
  return known === undefined ? shown : texts.table.of(shown, count(known));
}

/** Links to the pages before and after this one, if there are any. */
function PageLinks({ to, search, after, next, rows }: Pages & { rows: number }) {
  // The service does not link to earlier pages, so the browser's history keeps their starts.
  const passed = useLocation({ select: ({ state }) => state.passed }) ?? [];
  const link = (start: number | undefined, state: NonNullable<LinkProps['state']>): LinkProps => ({
    to,
    search: { ...search, after: start },
    state,
  });
  if (after === undefined && next === undefined) return null;
  return (
    <nav aria-label={texts.table.pages} className="ml-auto flex gap-2">
      <PageLink
        link={
          after === undefined
            ? undefined
            : link(passed.at(-1)?.after, { passed: passed.slice(0, -1) })
        }
      >
        <ChevronLeft size={16} aria-hidden />
        {texts.table.previous}
      </PageLink>
      <PageLink
        link={next === undefined ? undefined : link(next, { passed: [...passed, { after, rows }] })}
      >
        {texts.table.next}
        <ChevronRight size={16} aria-hidden />
      </PageLink>
    </nav>
  );
}

const PageLink = ({ link, children }: { link: LinkProps | undefined; children: ReactNode }) =>
  link ? (
    <Link {...link} className={buttonClass()}>
      {children}
    </Link>
  ) : (
    <span className={buttonClass('plain', 'opacity-70')} aria-hidden>
      {children}
    </span>
  );
