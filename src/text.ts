/** SQLite ends a text at NUL, and UTF-8 has no lone surrogates: such text would come back changed. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** The same text without what could not be stored. */
export const toStorable = (text: string): string => text.toWellFormed().replaceAll('\0', '');
