import { csvLine, listCell } from '@licet/cli/csv';
import { FIELDS, metadataOf } from '@licet/cli/import/fields';
import { fieldsOf, type Kind } from '@licet/cli/import/kinds';

/** CSV files for spreadsheets. */

/** Rows as CSV (RFC 4180), the first with the names of the columns. */
export const toCsv = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => `${csvLine(row)}\r\n`).join('');

/** The value of a heading of the import, such as `customer.email`. */
export function cellOf(item: object, heading: string): string | number {
  const [name = '', inner] = heading.split('.');
  const outer = fieldsOf(item)[name];
  const value = inner === undefined ? outer : fieldsOf(outer)[inner];
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return value;
  return Array.isArray(value) ? listCell(value) : String(value);
}

/** The rows of items that can be imported again, with a column for each name of their metadata. */
export class ItemRows {
  readonly #kind: Kind;
  readonly #names = new Set<string>();
  readonly #rows: { cells: string; metadata: ReadonlyMap<string, string> }[] = [];

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  add(item: object): void {
    const metadata = new Map(metadataOf(this.#kind, item));
    for (const name of metadata.keys()) this.#names.add(name);
    const cells = csvLine(FIELDS[this.#kind].map((heading) => cellOf(item, heading)));
    this.#rows.push({ cells, metadata });
  }

  /** The lines of the file, the first with the names of the columns. */
  *lines(): Generator<string> {
    const names = [...this.#names].sort();
    const end = (cells: readonly string[]): string =>
      cells.length === 0 ? '\r\n' : `,${csvLine(cells)}\r\n`;
    yield csvLine(FIELDS[this.#kind]) + end(names);
    for (const { cells, metadata } of this.#rows) {
      yield cells + end(names.map((name) => metadata.get(name) ?? ''));
    }
  }
}

/** Without the byte-order mark, spreadsheets read a file in an old encoding. */
export const BYTE_ORDER_MARK = '\uFEFF';

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

const saveCsv = (name: string, lines: Iterable<string>): void =>
  saveFile(datedName(name, 'csv'), 'text/csv', [BYTE_ORDER_MARK, ...lines]);

export const downloadCsv = (name: string, rows: Parameters<typeof toCsv>[0]): void =>
  saveCsv(name, [toCsv(rows)]);

/** Downloads items in the form that the import takes. */
export function downloadItems(name: string, kind: Kind, items: readonly object[]): void {
  const rows = new ItemRows(kind);
  for (const item of items) rows.add(item);
  saveCsv(name, rows.lines());
}
