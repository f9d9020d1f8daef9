/**
 * Text as a terminal may show it. Much of it comes from strangers: what they send to a validation, or
 * write into a file, must not move the cursor, colour a line or turn its direction.
 */
export const stripControlCharacters = (text: string): string =>
  text.replaceAll(/\s+/gu, ' ').replaceAll(/\p{C}/gu, '\u{FFFD}');

/** The same of several lines, which stay lines, with the blanks before them. */
export const stripControlCharactersInLines = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(/[^\P{C}\n\t]/gu, '\u{FFFD}');
