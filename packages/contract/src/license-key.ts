/** License keys: the form that the service gives them, and keys as people read them (1.2). */

/** Crockford's alphabet: no I, L, O, U, which are misread or make words. */
export const KEY_ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export const KEY_GROUPS = 5;
export const KEY_GROUP_LENGTH = 4;

/** The key that the doctor validates, and that no license has. */
export const DOCTOR_KEY = 'LICET-DOCTOR';
/** The header of the doctor's requests to the address of a market. */
export const DOCTOR_HEADER = 'Licet-Doctor';

const KEY_LENGTH = KEY_GROUPS * KEY_GROUP_LENGTH;
/** A key without its hyphens, perhaps pasted several times. */
const OWN_KEY = new RegExp(`^([${KEY_ALPHABET}]{${KEY_LENGTH}})\\1*$`);
const GROUP = new RegExp(`.{${KEY_GROUP_LENGTH}}`, 'g');

/** Stored keys have at most 255 characters. More than this is no key with something around it. */
const MAX_READ_LENGTH = 1_000;

/** The characters of windows-1252, by their byte. */
const WINDOWS_1252 = new TextDecoder('windows-1252').decode(
  Uint8Array.from({ length: 256 }, (_, byte) => byte),
);
const REST = `[${WINDOWS_1252.slice(0x80, 0xc0)}]`;
/** A character of UTF-8 that was decoded as windows-1252, such as `â€“` for a dash. */
const DECODED_WRONGLY = new RegExp(`[Â-ß]${REST}|[à-ï]${REST}{2}|[ð-ô]${REST}{3}`, 'g');
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A byte-order mark that was decoded as another encoding: as windows-1252 once or twice, Mac, code pages 1251, 437, 850
 * and 866, UTF-16, ASCII.
 */
const BYTE_ORDER_MARK = /^(?:ï»¿|Ã¯Â»Â¿|Ôªø|п»ї|∩╗┐|´╗┐|я╗┐|ÿþ|þÿ|\?{3})/;
/** The last ones stand for quotes, or escape them. */
const QUOTES = /[\p{Quotation_Mark}`´ʹʺʼ′″‵‶\\]/gu;
/** The last ones look like dashes. */
const DASHES = /[\p{Dash}˗⁃ー─━➖]/gu;
/** Commas, brackets and the like, of which no key of ours has any but hyphens. */
const SIGNS = /[\p{P}\p{S}]/gu;
/** Blanks, and characters that nobody sees, or that could not be decoded. */
const UNSEEN = /[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\ufffd]/gu;

function decodeAgain(characters: string): string {
  try {
    return utf8.decode(Uint8Array.from(characters, (one) => WINDOWS_1252.indexOf(one)));
  } catch {
    return characters;
  }
}

const isDigit = (code: number): boolean => /^\p{Nd}$/u.test(String.fromCodePoint(code));

/** The digits of other scripts that were met: there are some hundreds. */
const digits = new Map<string, string>();

/** A digit of another script as 0 to 9. The digits of a script have ten codes in a row, from zero on. */
function westernDigit(digit: string): string {
  const known = digits.get(digit);
  if (known !== undefined) return known;
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (isDigit(first - 1)) first--;
  const western = String((code - first) % 10);
  digits.set(digit, western);
  return western;
}

/** A text with the digits of other scripts as 0 to 9. */
export const withWesternDigits = (text: string): string =>
  text.replaceAll(/(?!\d)\p{Nd}/gu, westernDigit);

/** A text whose signs are read: without quotes, all dashes `-`, the digits of other scripts as 0 to 9. Undefined if too long. */
function compose(text: string): string | undefined {
  if (text.length > MAX_READ_LENGTH) return undefined;
  // A character of UTF-8 can end with the byte of a no-break space, which was trimmed with the blanks.
  const composed = `${text}\u00a0`
    .replace(BYTE_ORDER_MARK, '')
    .replaceAll(DECODED_WRONGLY, decodeAgain)
    .replaceAll(QUOTES, '')
    .normalize('NFKC');
  // One character can become 18, and the rest takes milliseconds for thousands.
  if (composed.length > MAX_READ_LENGTH) return undefined;
  return withWesternDigits(composed).replaceAll(DASHES, '-');
}

/** The plain reading of a composed text. */
const plainOf = (composed: string): string =>
  composed
    .replaceAll(UNSEEN, '')
    .toUpperCase()
    .replace(/[.。]$/, '');

/** The letters and digits of a plain reading, with O as 0, I and L as 1. */
const bareOf = (plain: string): string =>
  plain.replaceAll(SIGNS, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');

/** A code of {@link KEY_ALPHABET} as a person reads it: without its hyphens. */
export const readCode = (text: string): string => bareOf(plainOf(compose(text) ?? ''));

/** The key of the service that a plain reading is, in its groups. */
const ownKeyOf = (plain: string): string | undefined =>
  OWN_KEY.exec(bareOf(plain))?.[1]?.match(GROUP)?.join('-');

/** The names of characters in HTML that matter in a key. */
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', nbsp: ' ', shy: '', zwj: '', zwnj: '' },
  ...{ hyphen: '-', dash: '-', ndash: '-', mdash: '-', minus: '-' },
};
const ENTITY = /&(?:#(\d{1,6})|#x([\da-f]{1,5})|([a-z]{3,6}));/gi;

const decodeEntity = (entity: string, code?: string, hex?: string, name = ''): string => {
  if (code === undefined && hex === undefined) return ENTITIES[name.toLowerCase()] ?? entity;
  return String.fromCodePoint(code === undefined ? Number.parseInt(hex ?? '', 16) : Number(code));
};

function decodePercent(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

/** A text of a URL or of HTML as it is shown. */
const decodeOnce = (text: string): string =>
  text.replaceAll(/(?:%[\da-f]{2})+/gi, decodePercent).replaceAll(ENTITY, decodeEntity);

/** Letters and digits that hyphens join. A line ends behind a hyphen where a mail wraps it. */
const WORD = /[\dA-Z]+(?:-+[\dA-Z]+)*/g;
const WRAP = /-\s*\n\s*/g;
/** A word of letters alone needs hyphens to be a key. */
const KEY_WORD = new RegExp(
  `^(?=.*[\\d-])[\\dA-Z]{${KEY_GROUP_LENGTH}}(?:-*[\\dA-Z]{${KEY_GROUP_LENGTH}}){${KEY_GROUPS - 1}}$`,
);

/** The one key of the service among the words of a composed text; undefined for several. */
function keyAmongWords(composed: string): string | undefined {
  const words = composed
    .replaceAll(WRAP, '-')
    .replaceAll(/\s/g, ' ')
    .replaceAll(UNSEEN, (sign) => (sign === ' ' ? sign : ''))
    .toUpperCase();
  const keys = new Set<string>();
  for (const [word] of words.matchAll(WORD)) {
    const key = KEY_WORD.test(word) ? ownKeyOf(word) : undefined;
    if (key !== undefined) keys.add(key);
  }
  const [key] = keys;
  return keys.size === 1 ? key : undefined;
}

/** The one key of the service that a text holds, such as a sentence or a URL, in its groups. */
function ownKeyIn(text: string, plain: string): string | undefined {
  const whole = ownKeyOf(plain);
  if (whole !== undefined || plain.length <= KEY_LENGTH) return whole;
  // Mails encode the links of pages that have encoded them before.
  const decoded = compose(decodeOnce(decodeOnce(text)));
  return decoded && (ownKeyOf(plainOf(decoded)) ?? keyAmongWords(decoded));
}

/**
 * A license key as a person reads it (1.2), for a text that is no license key itself. The signs that copying, mails and
 * word processors add or change are gone, and letters are in upper case.
 *
 * @returns the plain reading; then, if the text holds one key that the service can have made, its groups, with O as 0, I
 * and L as 1
 */
export function readKey(text: string): readonly string[] {
  const composed = compose(text);
  if (composed === undefined) return [];
  const plain = plainOf(composed);
  if (plain === '') return [];
  const own = ownKeyIn(text, plain);
  return own === undefined || own === plain ? [plain] : [plain, own];
}
