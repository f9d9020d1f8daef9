import { type Change, changeOf } from './changes.ts';
import { isObject, type JsonObject } from './json.ts';

/** Ids, keys and hardware IDs of an import, which a spreadsheet may have rewritten: several then become the same one (3). */

/** `2.91529E+17`, also with a decimal comma. A hardware ID such as `12E4` stays one. */
const SCIENTIFIC = /^[+-]?(?:\d+[.,]\d*\s*e\s*[+-]?|\d+\s*e\s*\+|\de)\s*\d{1,3}$/i;

/** `2.91529×10^17`, as programs for documents write it; also `2.91529×1017`, which has lost its raised digits. */
const POWER_OF_TEN =
  /^[+-]?\d+(?:[.,]\d+)?\s*(?:[x*×·⋅∙✕]\s*10\s*(?:\^|\*\*)\s*\(?[+-]?|[×·⋅∙✕]\s*10)\d{1,3}\)?$/i;

const RAISED = /[⁺⁻⁰¹²³⁴-⁹]+/gu;

/** The signs by which a cell is text or a formula: `'2.91529E+17`, `="2.91529E+17"`. */
const CELL_SIGNS = /^[='"‘’`]+|["'’`]+$/g;

/** A text without the signs of its cell, and with plain digits. */
const plain = (text: string): string =>
  text
    .trim()
    .replaceAll(RAISED, (raised) => `^${raised}`)
    .normalize('NFKC')
    .replaceAll('\u2212', '-')
    .replaceAll(CELL_SIGNS, '')
    .trim();

/** `48213.0`, as a table with an empty cell writes a number. */
const DECIMAL = /^\d{4,}[.,]0+$/;

/** `291.529.000.000.000`, with any separator. Four groups may be an address. */
const GROUPED = /^\d{1,3}(?:([.,'’\s])\d{3})(?:\1\d{3}){3,}$/;

/** `#NUM!`, `#¡VALOR!`, `#N/A`, `Err:502`, and a column that was too narrow. */
const ERROR_CELL =
  /^(?:#[¡¿]?[\p{L}/0]+[!?]|#(?:N\/A|NV|N\/D|N\/DISP|GETTING_DATA)|Err:\d{3}|#{3,})$/iu;

/** A spreadsheet keeps 15 digits of a number. */
const ENDS_IN_ZEROS = /^\d{13,}000$/;

/** The fields that hold an id or a key. */
const ID_FIELDS: ReadonlySet<string> = new Set([
  ...['licenseKey', 'hwids', 'ownerPlatformId', 'ownerChatId', 'roleId', 'purchaseRoleId'],
  ...['chatId', 'platformAId', 'platformBId', 'platformCId', 'marketAId', 'marketBId'],
]);

/** The reason why a text cannot be the id that somebody gave; undefined if it can. */
export function rewrittenReason(text: string): string | undefined {
  const value = plain(text);
  if (ERROR_CELL.test(value)) {
    return 'is an error of a spreadsheet: correct its formula, or format the column as text';
  }
  if (SCIENTIFIC.test(value) || POWER_OF_TEN.test(value))
    return 'was rounded by a spreadsheet: format the column as text';
  if (DECIMAL.test(value) || GROUPED.test(value)) {
    return 'was rewritten as a number by a spreadsheet: format the column as text';
  }
  return undefined;
}

/** Whether a text may be an id that was rounded, though it does not look so. */
export const mayBeRounded = (text: string): boolean => ENDS_IN_ZEROS.test(plain(text));

interface IdValue {
  path: readonly PropertyKey[];
  text: string;
}

/** The ids and keys of an item of an import. */
function idsIn(item: JsonObject, outer: readonly string[] = []): IdValue[] {
  return Object.entries(item).flatMap(([name, value]) => {
    const path = [...outer, name];
    if (name === 'customer' && isObject(value)) return idsIn(value, path);
    const isId = ID_FIELDS.has(name) || (name === 'data' && item.licenseDataType === 'HWID');
    if (!isId) return [];
    if (Array.isArray(value)) {
      return value.flatMap((one, index) =>
        typeof one === 'string' ? [{ path: [...path, index], text: one }] : [],
      );
    }
    const isText = typeof value === 'string' || typeof value === 'number';
    return isText ? [{ path, text: String(value) }] : [];
  });
}

/** The ids and keys of an item that a spreadsheet rewrote. */
export const rewrittenIds = (item: JsonObject): Change[] =>
  idsIn(item).flatMap(({ path, text }) => {
    const reason = rewrittenReason(text);
    return reason === undefined ? [] : [changeOf(item, path, reason)];
  });

/** Characters that nobody sees, or that look like a blank. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

const codePointOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** The reason why a person should look at an id or a key again; undefined if there is none. */
function doubtAbout({ path, text }: IdValue): string | undefined {
  if (mayBeRounded(text)) return 'ends in 000: compare it, a spreadsheet may have rounded it';
  const [character] = (path[0] === 'licenseKey' && INVISIBLE.exec(text.trim())) || [];
  return character === undefined
    ? undefined
    : `contains the invisible character ${codePointOf(character)}: a customer cannot type it`;
}

/** The ids and keys of an item that are stored, but that a person should look at again. */
export const doubtfulIds = (item: JsonObject): Change[] =>
  idsIn(item).flatMap((id) => {
    const doubt = doubtAbout(id);
    return doubt === undefined ? [] : [changeOf(item, id.path, doubt)];
  });
