/** CSV files for spreadsheets. */

/**
 * A cell. A spreadsheet would run text that begins with `=`, `+`, `-`, `@` or a tab as a formula: an
 * apostrophe before it keeps it text.
 */
function cellOf(value: string | number): string {
  const text = String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV (RFC 4180), the first with the names of the columns. */
export const toCsv = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

/** Gives the browser a file to download. Its name gets the date of today. */
export function download(name: string, extension: string, type: string, content: string): void {
  // Spreadsheets take a file without the byte-order mark for one of their old encodings.
  const mark = extension === 'csv' ? '\uFEFF' : '';
  const url = URL.createObjectURL(new Blob([mark, content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name}-${new Date().toISOString().slice(0, 10)}.${extension}`;
  link.click();
  // The download has its own reference by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const downloadCsv = (name: string, rows: Parameters<typeof toCsv>[0]): void =>
  download(name, 'csv', 'text/csv', toCsv(rows));
