/** Whether a text comes back unchanged: SQLite ends it at NUL, and UTF-8 has no lone surrogates. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** A license has up to 1,000 hardware IDs, and D1 returns them as one text of at most 2 MB (1.4). */
export const MAX_HWID_BYTES = 512;

/** Whether a hardware ID is short enough, in UTF-8 as JSON writes it: six bytes for a control character. */
export const fitsHwid = (hwid: string): boolean =>
  hwid.length * 6 <= MAX_HWID_BYTES ||
  new TextEncoder().encode(JSON.stringify(hwid).slice(1, -1)).length <= MAX_HWID_BYTES;

export const toStorable = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/**
 * Copies a text. V8 makes a slice a view of its parent: 20 characters would keep a body of 16 KB in memory.
 */
export const copyText = (text: string): string => JSON.parse(JSON.stringify(text));
