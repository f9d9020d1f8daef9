import type { ReactNode } from 'react';

/** A small table inside a section: no selection, no pages. It scrolls sideways where it is too wide. */
export const SimpleTable = <Row extends { id: number | string }>({
  label,
  columns,
  rows,
}: {
  label: string;
  columns: readonly (readonly [header: string, cell: (row: Row) => ReactNode])[];
  rows: readonly Row[];
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by keyboard
  <div className="overflow-x-auto" tabIndex={0}>
    <table aria-label={label} className="w-full text-left">
      <thead>
        <tr className="border-b border-line text-xs text-muted">
          {columns.map(([header]) => (
            <th
              key={header}
              scope="col"
              className="px-3 py-2 font-medium whitespace-nowrap first:pl-4 last:pr-4 sm:first:pl-5"
            >
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} className="border-line not-last:border-b">
            {columns.map(([header, cell]) => (
              <td key={header} className="px-3 py-2 first:pl-4 last:pr-4 sm:first:pl-5">
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
