export const toStorable = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/**
 * Copies a text. V8 makes a slice a view of its parent: 20 characters would keep a body of 16 KB in memory.
 */
export const copyText = (text: string): string => JSON.parse(JSON.stringify(text));
