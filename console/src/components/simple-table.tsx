import type { ReactNode } from 'react';

/** A column of a `SimpleTable`; numbers are aligned to the right. */
export type SimpleColumn<Row> = readonly [
  header: string,
  cell: (row: Row) => ReactNode,
  kind?: 'number',
];

/**
 * A small table inside a section: no selection, no pages. It scrolls sideways if it is too wide; on a phone a
 * row is a card, with the first column on top.
 */
export const SimpleTable = <Row extends { id: number | string }>({
  label,
  columns,
  rows,
}: {
  label: string;
  columns: readonly SimpleColumn<Row>[];
  rows: readonly Row[];
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: viewers without a mouse scroll it by keyboard
  <div className="overflow-x-auto" tabIndex={0}>
    <table aria-label={label} className="w-full text-left max-sm:block">
      <thead className="max-sm:hidden">
        <tr className="border-b border-line text-xs text-muted">
          {columns.map(([header, , kind]) => (
            <th
              key={header}
              scope="col"
              className={`px-3 py-2 font-medium whitespace-nowrap first:pl-4 last:pr-4 sm:first:pl-5 sm:last:pr-5 ${kind ? 'text-right' : ''}`}
            >
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {rows.map((row) => (
          <tr
            key={row.id}
            data-row
            className="border-line has-[a]:cursor-pointer has-[a]:hover:bg-hover not-last:border-b max-sm:flex max-sm:flex-wrap max-sm:items-baseline max-sm:gap-x-4 max-sm:gap-y-1 max-sm:px-4 max-sm:py-3"
          >
            {columns.map(([header, cell, kind], index) => {
              const content = cell(row);
              const isEmpty = content === null || content === undefined || content === '';
              const phone = index === 0 ? 'max-sm:w-full' : isEmpty ? 'max-sm:hidden' : '';
              return (
                <td
                  key={header}
                  className={`px-3 py-2 first:pl-4 last:pr-4 max-sm:p-0! sm:first:pl-5 sm:last:pr-5 ${phone} ${kind ? 'sm:text-right' : ''}`}
                >
                  {index > 0 && (
                    <span aria-hidden className="text-xs text-muted sm:hidden">
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
