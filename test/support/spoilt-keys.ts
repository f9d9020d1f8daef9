/** A license key, and the forms in which people and programs send it (1.2). */

/** A key of our own alphabet, with the digits that look like letters. */
export const KEY = '7K2M-0QX4-B1TD-WJ8R-5HVN';

const dashed = (dash: string): string => KEY.replaceAll('-', dash);
const within = (sign: string): string => `7K2M-0QX4-B1${sign}TD-WJ8R-5HVN`;
const around = (before: string, after = before): string => `${before}${KEY}${after}`;
/** The digits of a script that begin at a code. */
const digitsFrom = (zero: number): string =>
  KEY.replaceAll(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
const fullWidth = (text: string): string =>
  text.replaceAll(/[!-~]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0));
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
/** A text in UTF-8 that a program decoded as windows-1252. */
const decodedAs1252 = (text: string): string =>
  new TextDecoder('windows-1252').decode(bytesOf(text));

/** By their names. None is the key, apart from case and blanks around it. */
export const SPOILT: Readonly<Record<string, string>> = {
  // Nobody sees these.
  'a zero width space behind': around('', '\u200b'),
  'a zero width space before': around('\u200b', ''),
  'a zero width space within': within('\u200b'),
  'a zero width joiner within': within('\u200d'),
  'a word joiner behind': around('', '\u2060'),
  'a byte-order mark within': within('\ufeff'),
  'a soft hyphen within': within('\u00ad'),
  'a left-to-right mark behind': around('', '\u200e'),
  'a right-to-left mark before': around('\u200f', ''),
  'directional isolates around': around('\u2068', '\u2069'),
  'a directional embedding around': around('\u202a', '\u202c'),
  'a combining grapheme joiner within': within('\u034f'),
  'a variation selector behind': around('', '\ufe0e'),
  'a Hangul filler behind': around('', '\u3164'),
  'a Braille blank behind': around('', '\u2800'),
  'a tag behind': around('', '\u{e0020}'),
  // Blanks and line ends.
  'a blank within': within(' '),
  'a no-break space within': within('\u00a0'),
  'a narrow no-break space within': within('\u202f'),
  'an ideographic space within': within('\u3000'),
  'a thin space within': within('\u2009'),
  'a tab within': within('\t'),
  'a next line behind': around('', '\u0085'),
  'a line separator within': within('\u2028'),
  'a wrap behind a hyphen': KEY.replace('B1TD-', 'B1TD-\r\n'),
  'a wrap within a group': within('\n'),
  'a wrap with an indentation': KEY.replace('B1TD-', 'B1TD-\n    '),
  'a bell behind': around('', '\u0007'),
  'an escape within': within('\u001b'),
  'a delete within': within('\u007f'),
  // Dashes.
  'hyphens of typography': dashed('\u2010'),
  'no-break hyphens': dashed('\u2011'),
  'figure dashes': dashed('\u2012'),
  'en dashes': dashed('\u2013'),
  'em dashes': dashed('\u2014'),
  'horizontal bars': dashed('\u2015'),
  'minus signs': dashed('\u2212'),
  'small hyphens': dashed('\ufe63'),
  'full width hyphens': dashed('\uff0d'),
  'hyphen bullets': dashed('\u2043'),
  'modifier minus signs': dashed('\u02d7'),
  'long vowel marks of Katakana': dashed('\u30fc'),
  'double hyphens': dashed('--'),
  'blanks around the hyphens': dashed(' - '),
  'no hyphens': dashed(''),
  'no hyphens, in lower case': dashed('').toLowerCase(),
  'blanks for hyphens': dashed(' '),
  'soft hyphens for hyphens': dashed('\u00ad'),
  'a hyphen too many': `- ${KEY}-`,
  // Quotes, and the dot of a sentence.
  'double quotes': around('"'),
  'single quotes': around("'"),
  backticks: around('`'),
  'curly quotes': around('\u201c', '\u201d'),
  'single curly quotes': around('\u2018', '\u2019'),
  'German quotes': around('\u201e', '\u201c'),
  'French quotes with blanks': around('\u00ab\u00a0', '\u00a0\u00bb'),
  'corner brackets': around('\u300c', '\u300d'),
  'acute accents': around('\u00b4'),
  'escaped quotes': around('\\"'),
  'a final dot': around('', '.'),
  'a final dot within quotes': around('"', '."'),
  'an ideographic full stop': around('', '\u3002'),
  // Signs of files, mails, chats and markup.
  'a comma behind': around('', ','),
  'a quote and a comma behind': around('', '\u2019,'),
  'square brackets': around('[', ']'),
  'angle brackets': around('<', '>'),
  'the mark of a quoted mail before': around('> ', ''),
  asterisks: around('*'),
  'bars of a spoiler': around('||'),
  'an exclamation mark behind': around('', '!'),
  'underscores for hyphens': dashed('_'),
  'dots for hyphens': dashed('.'),
  'a soft line break of a mail within': within('=\r\n'),
  // Letters and digits that look alike.
  'O for 0': KEY.replace('0', 'O'),
  'o for 0': KEY.toLowerCase().replace('0', 'o'),
  'I for 1': KEY.replace('1', 'I'),
  'L for 1': KEY.replace('1', 'L'),
  'l for 1': KEY.replace('1', 'l'),
  'O and I, without hyphens': dashed('').replace('0', 'O').replace('1', 'I'),
  'full width letters': fullWidth(KEY),
  'mathematical digits': digitsFrom(0x1d7ce),
  'Arabic digits': digitsFrom(0x660),
  'Persian digits': digitsFrom(0x6f0),
  'Devanagari digits': digitsFrom(0x966),
  'Bengali digits': digitsFrom(0x9e6),
  'Myanmar digits': digitsFrom(0x1040),
  'digits of Adlam': digitsFrom(0x1e950),
  // Encodings.
  'a byte-order mark as windows-1252': decodedAs1252(around('\ufeff', '')),
  'a byte-order mark as windows-1252, twice': decodedAs1252(decodedAs1252(around('\ufeff', ''))),
  'a byte-order mark as windows-1251': around('п»ї', ''),
  'a byte-order mark as code page 437': around('∩╗┐', ''),
  'a byte-order mark as code page 850': around('´╗┐', ''),
  'a byte-order mark of Mac': around('Ôªø', ''),
  'a byte-order mark of UTF-16': around('ÿþ', ''),
  'a byte-order mark as ASCII': around('\ufffd\ufffd\ufffd', ''),
  'a byte-order mark through ASCII': around('???', ''),
  'en dashes as windows-1252': decodedAs1252(dashed('\u2013')),
  'curly quotes as windows-1252': decodedAs1252(around('\u201c', '\u201d')),
  'a no-break space as windows-1252': decodedAs1252(around('', '\u00a0')),
  'a no-break space that is not UTF-8': around('', '\ufffd'),
  // Several at once.
  'all that a mail does to it':
    '\u201c7k2m\u2013Oqx4\u2013bltd\u2013\r\n\twj8r\u20135hvn.\u201d\u200b',
};
