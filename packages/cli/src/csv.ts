import { parseJson } from '@licet/contract/json';

/** Cells of CSV files. The console uses this too, so nothing here needs Node. */

/**
 * The places of a text at which a spreadsheet could run a formula. Spreadsheets of countries with a decimal comma
 * also begin a cell at a semicolon, and ignore quotation marks within a line. A line break in a cell begins a cell as
 * well.
 */
const FORMULA = /(?<=(?:^|[;\t\r\n])"*)(?='*[=+\-@\t\r])/g;

const GUARD = /(?<=(?:^|[;\t\r\n])"*)'(?='*[=+\-@\t\r])/g;

/** A text that no spreadsheet runs as a formula: an apostrophe makes it text. */
const guardFormulas = (text: string): string => text.replaceAll(FORMULA, "'");

/** The text of a cell, without the apostrophes that {@link csvLine} adds. */
export const unguardFormulas = (cell: string): string => cell.replaceAll(GUARD, '');

/** The text of a cell with several values: JSON if one of them could be taken for several, or for JSON. */
export const listCell = (values: readonly string[]): string =>
  values.some((value) => /[;[]/.test(value)) ? JSON.stringify(values) : values.join(';');

/** The values in a cell, which is a list in JSON or has separators. */
export function valuesIn(cell: string, separator: RegExp): string[] {
  const list = cell.startsWith('[') ? parseJson(cell) : undefined;
  const isList = Array.isArray(list) && list.every((value) => typeof value === 'string');
  return isList ? list : cell.split(separator).filter((value) => value.trim() !== '');
}

function csvCell(value: unknown): string {
  const text = String(value ?? '');
  const safe = typeof value === 'number' ? text : guardFormulas(text);
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line of CSV (RFC 4180), without its end. */
export const csvLine = (cells: readonly unknown[]): string => cells.map(csvCell).join(',');

export type CsvRow = readonly unknown[];

/** Lines of CSV, for the end of a file. */
export const csvRows = (rows: readonly CsvRow[]): string =>
  rows.map((row) => `${csvLine(row)}\r\n`).join('');

/** A CSV file, or its start. Without the byte-order mark, spreadsheets read it in an old encoding. */
export const csvFile = (rows: readonly CsvRow[]): string => `\uFEFF${csvRows(rows)}`;
