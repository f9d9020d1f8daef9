import { Link, type LinkProps, useLocation } from '@tanstack/react-router';
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight, Columns3 } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { useShortcuts } from '../shortcuts.ts';
import { texts } from '../texts.ts';
import { buttonClass } from './button.tsx';
import { Menu, MenuCheck, MenuList } from './menu.tsx';
import { LoadFailure, Skeleton } from './page.tsx';

/**
 * The table of every list: columns to choose, sorting, selection, pages, and the keys j, k, Enter, x and e. On
 * a phone a row is a card: the `title` column on top, the `line` columns below it.
 */

interface Item {
  id: number | string;
}

/** A column of a `DataTable`. */
export interface Column<Row> {
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** Numbers are aligned to the right. */
  isNumber?: boolean;
  /** The values of the `sort` parameter, if the service can sort by this column. */
  sort?: { ascending: string; descending: string };
  /** On a phone: the heading of the row, a value below it (the default), or left out. */
  phone?: 'title' | 'line' | 'hidden';
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
  /** The place of this page in the list. */
  pages?: Pages;
  /** Beside the columns' menu, such as filters. */
  tools?: ReactNode;
  /** At the left below the table, such as a count. */
  footer?: ReactNode;
}

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

  const shown = columns.filter(({ id }) => visibility[id]);
  const titleId = (shown.find(({ phone }) => phone === 'title') ?? shown[0])?.id;
  const selectedHere = data.filter(isSelected).length;

  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-start gap-2 sm:flex-nowrap">
        <div className="min-w-0 flex-1">{props.tools}</div>
        <div className="hidden sm:block">
          <Menu label={texts.table.columns} trigger={<Columns3 size={16} aria-hidden />}>
            <MenuList label={texts.table.columns}>
              {columns.map(({ id, header }) => (
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
      <div className="overflow-hidden rounded-xl border border-line bg-surface">
        {props.error ? (
          <LoadFailure error={props.error} onRetry={() => props.onRetry?.()} />
        ) : rows === undefined ? (
          <Skeleton lines={8} />
        ) : rows.length === 0 ? (
          props.empty
        ) : (
          <div className="overflow-x-auto">
            <table aria-label={label} className="w-full border-collapse text-left max-sm:block">
              <thead className="max-sm:hidden">
                <tr className="border-b border-line text-xs text-muted">
                  {selection && (
                    <th scope="col" className="w-10 py-2 pl-4">
                      <input
                        type="checkbox"
                        aria-label={texts.table.selectAll}
                        className="block"
                        checked={selectedHere === data.length}
                        ref={(box) => {
                          if (box) box.indeterminate = selectedHere % data.length > 0;
                        }}
                        onChange={({ target }) => select(data, target.checked)}
                      />
                    </th>
                  )}
                  {shown.map((column) => (
                    <HeaderCell key={column.id} column={column} sort={sort} />
                  ))}
                </tr>
              </thead>
              <tbody ref={body} className="max-sm:block">
                {data.map((row) => (
                  <tr
                    key={row.id}
                    className={`border-line not-last:border-b max-sm:relative max-sm:flex max-sm:flex-wrap max-sm:items-baseline max-sm:gap-x-3 max-sm:gap-y-1 max-sm:py-3 max-sm:pr-4 ${selection ? 'max-sm:pl-12' : 'max-sm:pl-4'} ${isSelected(row) ? 'bg-accent-soft' : 'focus-within:bg-hover hover:bg-hover'} ${props.rowClassOf?.(row) ?? ''}`}
                  >
                    {selection && (
                      <td className="w-10 py-2.5 pl-4 max-sm:absolute max-sm:top-1 max-sm:left-0">
                        <input
                          type="checkbox"
                          aria-label={texts.table.selectRow(nameOf?.(row) ?? String(row.id))}
                          className="block"
                          checked={isSelected(row)}
                          onChange={({ target }) => select([row], target.checked)}
                        />
                      </td>
                    )}
                    {shown.map((column) => {
                      const isTitle = column.id === titleId;
                      const content = column.cell(row);
                      const phone = isTitle
                        ? 'max-sm:w-full'
                        : column.phone === 'hidden'
                          ? 'max-sm:hidden'
                          : 'max-sm:text-muted';
                      return (
                        <td
                          key={column.id}
                          className={`px-3 py-2.5 first:pl-4 last:pr-4 max-sm:p-0! ${phone} ${column.isNumber ? 'sm:text-right' : ''}`}
                        >
                          {isTitle && linkOf ? (
                            <Link
                              {...linkOf(row)}
                              className="rounded-sm font-medium text-ink underline-offset-2 hover:underline"
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
      <div className="flex flex-wrap items-center gap-3">
        <div className="text-muted">{props.footer}</div>
        {props.pages && <PageLinks {...props.pages} />}
      </div>
    </div>
  );
}

function HeaderCell<Row>({
  column: { header, sort: by, isNumber },
  sort,
}: {
  column: Column<Row>;
  sort: DataTableProps<Item>['sort'];
}) {
  const className = `px-3 py-2 font-medium whitespace-nowrap first:pl-4 last:pr-4 ${isNumber ? 'text-right' : ''}`;
  if (!by || !sort) {
    return (
      <th scope="col" className={className}>
        {header}
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
        className="-mx-1 inline-flex items-center gap-1 rounded px-1 hover:text-ink"
        onClick={() => sort.onChange(isAscending ? by.descending : by.ascending)}
      >
        {header}
        <Arrow
          size={14}
          aria-hidden
          className={isAscending || isDescending ? 'text-accent' : 'opacity-40'}
        />
      </button>
    </th>
  );
}

/** Links to the pages before and after this one, if there are any. */
function PageLinks({ to, search, after, next }: Pages) {
  // The service does not link to earlier pages, so the browser's history keeps their starts.
  const trail = useLocation({ select: ({ state }) => state.trail }) ?? [];
  const link = (start: number | undefined, state: NonNullable<LinkProps['state']>): LinkProps => ({
    to,
    search: { ...search, after: start },
    state,
  });
  if (after === undefined && next === undefined) return null;
  return (
    <nav aria-label={texts.table.pages} className="ml-auto flex gap-2">
      <PageLink
        link={after === undefined ? undefined : link(trail.at(-1), { trail: trail.slice(0, -1) })}
      >
        <ChevronLeft size={16} aria-hidden />
        {texts.table.previous}
      </PageLink>
      <PageLink
        link={
          next === undefined
            ? undefined
            : link(next, { trail: after === undefined ? [] : [...trail, after] })
        }
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
