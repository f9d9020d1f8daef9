/** SQLite ends a text at NUL, and UTF-8 has no lone surrogates: such text would come back changed. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** The same text without what could not be stored. */
export const toStorable = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/**
 * The same text by itself. Engines make a part of a text a view of the whole, and who keeps the part
 * keeps what surrounded it: of a client's 16 KB all, for 20 characters.
 */
export const detached = (text: string): string => JSON.parse(JSON.stringify(text));
