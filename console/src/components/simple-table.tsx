import type { ReactNode } from 'react';

/** A column of a `SimpleTable`. Numbers are aligned to the right; a `wide` one is left out on a tablet. */
export type SimpleColumn<Row> = readonly [
  header: string,
  cell: (row: Row) => ReactNode,
  kind?: 'number' | 'wide',
];

const WIDE_CLASS = 'sm:max-lg:hidden';

/** On a phone a row is a card, with the first column on top. */
const CARD = {
  table: 'max-sm:block',
  head: 'max-sm:hidden',
  row: 'max-sm:flex max-sm:flex-wrap max-sm:items-baseline max-sm:gap-x-4 max-sm:gap-y-1 max-sm:px-4 max-sm:py-3',
  cell: 'max-sm:min-w-0 max-sm:p-0! max-sm:wrap-anywhere max-sm:has-[.line-clamp-2]:w-full',
  header: 'text-xs text-muted sm:hidden',
};
const NO_CARD: typeof CARD = { table: '', head: '', row: '', cell: '', header: 'hidden' };

/**
 * A small table inside a section: no selection, no pages. It scrolls sideways if it is too wide; on a phone its rows
 * are cards.
 */
export const SimpleTable = <Row extends { id: number | string }>({
  label,
  columns,
  rows,
  isNarrow = false,
}: {
  label: string;
  columns: readonly SimpleColumn<Row>[];
  rows: readonly Row[];
  /** It fits a phone as it is, without cards. */
  isNarrow?: boolean;
}) => {
  const card = isNarrow ? NO_CARD : CARD;
  /** Keeps text apart from the number before it, which stands at the right end of its column. */
  const gapOf = (index: number): string =>
    columns[index - 1]?.[2] === 'number' && columns[index]?.[2] !== 'number' ? 'sm:pl-6!' : '';
  /** The column before a wide one at the end is the last on a tablet. */
  const endOf = (index: number): string =>
    index === columns.length - 2 && columns[index + 1]?.[2] === 'wide' ? 'sm:max-lg:pr-5' : '';
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: viewers without a mouse scroll it by keyboard
    <div className="overflow-x-auto" tabIndex={0}>
      <table aria-label={label} className={`w-full text-left ${card.table}`}>
        <thead className={card.head}>
          <tr className="border-b border-line text-xs text-muted">
            {columns.map(([header, , kind], index) => (
              <th
                key={header}
                scope="col"
                className={`px-2 py-2 font-medium whitespace-nowrap first:pl-4 last:pr-4 sm:first:pl-5 sm:last:pr-5 lg:not-first:pl-3 lg:not-last:pr-3 ${endOf(index)} ${kind === 'wide' ? WIDE_CLASS : ''} ${kind === 'number' ? 'text-right' : gapOf(index)}`}
              >
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className={card.table}>
          {rows.map((row) => (
            <tr
              key={row.id}
              data-row
              className={`border-line has-[a]:cursor-pointer has-[a]:hover:bg-hover not-last:border-b ${card.row}`}
            >
              {columns.map(([header, cell, kind], index) => {
                const content = cell(row);
                const isEmpty = content === null || content === undefined || content === '';
                const phone = index === 0 ? 'max-sm:w-full' : isEmpty ? 'max-sm:hidden' : '';
                return (
                  <td
                    key={header}
                    className={`px-2 py-2 first:pl-4 last:pr-4 ${card.cell} sm:first:pl-5 sm:last:pr-5 lg:not-first:pl-3 lg:not-last:pr-3 ${endOf(index)} ${isNarrow ? '' : phone} ${kind === 'wide' ? WIDE_CLASS : ''} ${kind === 'number' ? (isNarrow ? 'text-right' : 'sm:text-right') : gapOf(index)}`}
                  >
                    {index > 0 && (
                      <span aria-hidden className={card.header}>
                        {header}:{' '}
                      </span>
                    )}
                    {content}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};
