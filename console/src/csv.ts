import { type CsvRow, csvFile, csvLine, listCell } from '@licet/cli/csv';
import { entitlementsText } from '@licet/cli/entitlements';
import { ENTITLEMENTS, FIELDS, metadataOf } from '@licet/cli/import/fields';
import { fieldsOf, type Kind } from '@licet/cli/import/kinds';

/** CSV files for spreadsheets. */

/** The value of a heading of the import, such as `customer.email`. */
export function cellOf(item: object, heading: string): string | number {
  const [name = '', inner] = heading.split('.');
  const outer = fieldsOf(item)[name];
  const value = inner === undefined ? outer : fieldsOf(outer)[inner];
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return value;
  if (ENTITLEMENTS.includes(name)) return entitlementsText(fieldsOf(value));
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

  /** The parts of the file, the first with the names of the columns. */
  *parts(): Generator<string> {
    const names = [...this.#names].sort();
    yield csvFile([[...FIELDS[this.#kind], ...names]]);
    for (const { cells, metadata } of this.#rows) {
      const texts = csvLine(names.map((name) => metadata.get(name) ?? ''));
      yield `${cells}${names.length > 0 ? ',' : ''}${texts}\r\n`;
    }
  }
}

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
export function downloadItems(name: string, kind: Kind, items: readonly object[]): void {
  const rows = new ItemRows(kind);
  for (const item of items) rows.add(item);
  saveFile(datedName(name, 'csv'), 'text/csv', [...rows.parts()]);
}
