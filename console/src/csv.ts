import { type CsvRow, csvFile, listCell } from '@licet/cli/csv';
import { FIELDS } from '@licet/cli/import/fields';
import { fieldsOf, type Kind } from '@licet/cli/import/kinds';

/** CSV files for spreadsheets. */

/** The columns of items that can be imported again. */
export const headingsOf = (kind: Kind): readonly string[] => FIELDS[kind];

/** The value of a heading of the import, such as `customer.email`. */
export function cellOf(item: object, heading: string): string | number {
  const [name = '', inner] = heading.split('.');
  const outer = fieldsOf(item)[name];
  const value = inner === undefined ? outer : fieldsOf(outer)[inner];
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return value;
  return Array.isArray(value) ? listCell(value) : String(value);
}

export const rowOf = (kind: Kind, item: object): (string | number)[] =>
  FIELDS[kind].map((heading) => cellOf(item, heading));

/** Gives the browser a file to download. */
export function saveFile(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // By then the download no longer needs the URL.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The name of a file with the date of today, such as `licenses-2035-12-31.csv`. */
export const datedName = (name: string, extension: string): string =>
  `${name}-${new Date().toISOString().slice(0, 10)}.${extension}`;

/** @param rows the first with the names of the columns */
export const downloadCsv = (name: string, rows: readonly CsvRow[]): void =>
  saveFile(datedName(name, 'csv'), 'text/csv', [csvFile(rows)]);

/** Downloads items in the form that the import takes. */
export const downloadItems = (name: string, kind: Kind, items: readonly object[]): void =>
  downloadCsv(name, [headingsOf(kind), ...items.map((item) => rowOf(kind, item))]);
