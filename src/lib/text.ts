/** Whether a text comes back unchanged: SQLite ends it at NUL, and UTF-8 has no lone surrogates. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Removes the characters that cannot be stored. */
export const toStorable = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/**
 * Copies a text. V8 makes a slice a view of its parent: 20 characters would keep a body of 16 KB in memory.
 */
export const copyText = (text: string): string => JSON.parse(JSON.stringify(text));
