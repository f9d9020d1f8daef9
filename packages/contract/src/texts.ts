import { MAX_HWID_BYTES } from './limits.ts';

/** Rules for text. They need no schema, so that the console can load them without one. */

/** Whether a text comes back unchanged: SQLite ends it at NUL, and UTF-8 has no lone surrogates. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Whether a hardware ID is short enough, in UTF-8 as JSON writes it: six bytes for a control character. */
export const fitsHwid = (hwid: string): boolean =>
  hwid.length * 6 <= MAX_HWID_BYTES ||
  new TextEncoder().encode(JSON.stringify(hwid).slice(1, -1)).length <= MAX_HWID_BYTES;
