/**
 * Replaces control characters, and makes the text one line. Text from validations and files must not move
 * the terminal's cursor, colour a line or turn its direction.
 */
export const stripControlCharacters = (text: string): string =>
  text.replaceAll(/\s+/gu, ' ').replaceAll(/\p{C}/gu, '\u{FFFD}');

/** The same, but keeps lines and their indentation. */
export const stripControlCharactersInLines = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(/[^\P{C}\n\t]/gu, '\u{FFFD}');
