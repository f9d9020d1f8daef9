import { isObject } from '@licet/contract/json';
import { valuesIn } from '../csv.ts';
import { entitlementsIn } from '../entitlements.ts';
import { DERIVED, ENTITLEMENTS, FIELDS, isField, REQUIRED } from './fields.ts';
import { type Fields, fieldsOf, type TableKind } from './kinds.ts';
import { type Preset, presetOf, valueIn } from './presets.ts';
import { fieldLike, fieldOfUsualWord, foldName, isDeciding, meantField } from './suggestion.ts';
import { statusIn, strictest } from './words.ts';

/**
 * The columns of a table, or the names in the objects of a list, and the fields that they mean. The console uses this
 * too, so nothing here needs Node.
 */

/** The choices of a person. */
export interface Wanted {
  /** Fields by the name of their column; empty to leave a column out. */
  map: ReadonlyMap<string, string>;
  /** The values of fields in all items. */
  set: ReadonlyMap<string, string>;
}

export const NOTHING_WANTED: Wanted = { map: new Map(), set: new Map() };

/** A name without a field. */
export interface Open {
  name: string;
  suggestion: string | undefined;
  /** Whether nothing may be imported without a choice, in a list too. */
  decides: boolean;
}

export interface Columns {
  /** The field of each name, empty for one that is left out. */
  fields: ReadonlyMap<string, string>;
  constants: ReadonlyMap<string, string>;
  preset: Preset | undefined;
  /** Names for which a person must choose. */
  open: readonly Open[];
  /** Two names for one field. */
  twice: readonly (readonly [field: string, one: string, other: string])[];
  /** Required fields that no item has. */
  missing: readonly string[];
}

/** Fields that may have several columns: the strictest status counts, and notes are joined. */
const SHARED = ['licenseStatus', 'notes'];

const fieldOf = (
  kind: TableKind,
  name: string,
  names: readonly string[],
  wanted: Wanted,
  preset: Preset | undefined,
): string | undefined => {
  const chosen = wanted.map.get(name);
  // A file of several kinds may have the name in another kind, too.
  if (chosen === '' || (chosen !== undefined && isField(kind, chosen))) return chosen;
  const folded = foldName(name);
  if (DERIVED.includes(name)) return '';
  // An older export has the whole customer in a column beside those of its fields.
  if (name === 'customer' && names.some((one) => one.startsWith('customer.'))) return '';
  const known = valueIn(preset?.fields, folded);
  if (known !== undefined) return known;
  if (preset?.leftOut.split(' ').includes(folded)) return '';
  if (isField(kind, name)) return name;
  const like = fieldLike(FIELDS[kind], name);
  if (like !== undefined) return like;
  const isLeftOut = preset?.leavesOthersOut && meantField(FIELDS[kind], name) === undefined;
  return isLeftOut ? '' : undefined;
};

/** Finds the field of each name. */
export function columnsOf(
  kind: TableKind,
  names: readonly string[],
  wanted = NOTHING_WANTED,
): Columns {
  const preset = presetOf(kind, names);
  const fields = new Map<string, string>();
  const unknown: string[] = [];
  const twice: [field: string, one: string, other: string][] = [];
  for (const name of names) {
    const field = fieldOf(kind, name, names, wanted, preset);
    if (field === undefined) {
      unknown.push(name);
      continue;
    }
    const [other] = [...fields].find(([, known]) => known === field) ?? [];
    const isTwice = field !== '' && other !== undefined && !SHARED.includes(field);
    if (isTwice) twice.push([field, other, name]);
    fields.set(name, wanted.set.has(field) ? '' : field);
  }
  const given = new Set([...fields.values(), ...wanted.set.keys()]);
  const open: Open[] = [];
  for (const name of unknown) {
    const usual = fieldOfUsualWord(FIELDS[kind], name);
    if (usual !== undefined && (!given.has(usual) || SHARED.includes(usual))) {
      fields.set(name, wanted.set.has(usual) ? '' : usual);
      given.add(usual);
      continue;
    }
    const suggestion = meantField(FIELDS[kind], name);
    const decides = suggestion !== undefined && isDeciding(suggestion, given);
    open.push({ name, suggestion, decides });
  }
  const isOwned = given.has('ownerPlatformId') && !given.has('licensePlatform');
  const platform = isOwned ? preset?.platform : undefined;
  const usual: (readonly [field: string, value: string])[] =
    platform === undefined
      ? []
      : [
          ['licensePlatform', 'OTHER'],
          ['licensePlatformOther', platform],
        ];
  const set = [...wanted.set].filter(([field]) => isField(kind, field));
  const constants = new Map([...usual, ...set]);
  const missing = REQUIRED[kind].filter((field) => !given.has(field) && !constants.has(field));
  return { fields, constants, preset, open, twice, missing };
}

const LISTS = new Map([
  ['ips', /[;,\s]+/],
  // Hardware IDs may contain blanks and commas.
  ['hwids', /;/],
]);

const MAX_DEPTH = 5;

/** Objects that are one value. */
const WHOLE = [...ENTITLEMENTS, ...DERIVED];

/** The values of an object by their paths: `customer.email`. */
export function* valuesByName(
  item: Fields,
  prefix = '',
  depth = 1,
): Generator<readonly [name: string, value: unknown]> {
  for (const [name, value] of Object.entries(item)) {
    const path = `${prefix}${name}`;
    const isInner = isObject(value) && !WHOLE.includes(path);
    if (isInner && depth < MAX_DEPTH) yield* valuesByName(value, `${path}.`, depth + 1);
    else yield [path, value];
  }
}

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === '';

const END_FIELDS = ['expiryDate', 'expiresAfterDays'];

const CUSTOMER = 'customer.';
const METADATA = 'metadata.';

/** Fields by their names, with the texts of `metadata` within it. */
function withMetadata(fields: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  const isText = (name: string) => name.startsWith(METADATA);
  const texts = [...fields].flatMap(([name, value]) =>
    isText(name) ? [[name.slice(METADATA.length), value] as const] : [],
  );
  const others = [...fields].filter(([name]) => !isText(name));
  return new Map(texts.length > 0 ? [...others, ['metadata', Object.fromEntries(texts)]] : others);
}

/** Fields by their names, and those of the customer within `customer`. */
class Item {
  readonly #fields = new Map<string, unknown>();
  readonly #customer = new Map<string, unknown>();

  #placeOf(field: string): [fields: Map<string, unknown>, name: string] {
    return field.startsWith(CUSTOMER)
      ? [this.#customer, field.slice(CUSTOMER.length)]
      : [this.#fields, field];
  }

  get(field: string): unknown {
    const [fields, name] = this.#placeOf(field);
    return fields.get(name);
  }

  set(field: string, value: unknown): void {
    const [fields, name] = this.#placeOf(field);
    fields.set(name, value);
  }

  toObject(): object {
    const customer = Object.fromEntries(withMetadata(this.#customer));
    const fields = withMetadata(this.#fields);
    return Object.fromEntries(
      this.#customer.size > 0 ? [...fields, ['customer', customer]] : fields,
    );
  }
}

/** The value of a field, with those of the columns before it that share the field. */
function readCell(
  field: string,
  name: string,
  value: unknown,
  earlier: unknown,
  preset: Preset | undefined,
): unknown {
  if (field === 'licenseStatus') {
    const own = valueIn(preset?.statuses, String(value).toLowerCase());
    return strictest(earlier, own ?? statusIn(foldName(name), value));
  }
  if (field === 'notes' && !isBlank(earlier))
    return isBlank(value) ? earlier : `${earlier}\n${value}`;
  if (ENTITLEMENTS.includes(field) && typeof value === 'string') {
    return entitlementsIn(value) ?? value;
  }
  const separator = LISTS.get(field);
  return separator && typeof value === 'string' ? valuesIn(value, separator) : value;
}

/** Converts a row, or an object of another service, to the form of GET. An unknown field keeps its name. */
export function toItem(raw: unknown, { fields, constants, preset }: Columns): unknown {
  if (!isObject(raw)) return raw;
  const known = new Set(fields.values());
  const item = new Item();
  for (const [name, value] of valuesByName(raw)) {
    const field = fields.get(name) ?? name;
    if (field !== '') item.set(field, readCell(field, name, value, item.get(field), preset));
  }
  for (const [field, value] of Object.entries(preset?.blanks ?? {})) {
    if (known.has(field) && isBlank(item.get(field))) item.set(field, value);
  }
  preset?.complete?.(item, (folded) => {
    const [, value] = Object.entries(raw).find(([name]) => foldName(name) === folded) ?? [];
    return value;
  });
  for (const [field, value] of constants) {
    item.set(field, readCell(field, field, value, undefined, undefined));
  }
  if (isBlank(item.get('licenseType'))) {
    // An empty end says that a license is permanent. A file without a column for it says nothing.
    for (const field of END_FIELDS) {
      if (known.has(field) && item.get(field) === undefined) item.set(field, null);
    }
  }
  return item.toObject();
}

/** Most names within objects that are kept: an object can have free data, with a name for each item. */
const MAX_INNER_NAMES = 1_000;
const MAX_NAMES = 10_000;

/** The names in the items of a file, and the first value of each. */
export class Names {
  readonly #values = new Map<string, unknown>();

  add(item: unknown): void {
    for (const [name, value] of valuesByName(fieldsOf(item))) {
      const most = name.includes('.') ? MAX_INNER_NAMES : MAX_NAMES;
      const isKnown = this.#values.has(name);
      if (isKnown ? isBlank(this.#values.get(name)) : this.#values.size < most) {
        this.#values.set(name, value);
      }
    }
  }

  get all(): string[] {
    return [...this.#values.keys()];
  }

  /** The first value of a name that holds something. */
  exampleOf(name: string): unknown {
    return this.#values.get(name);
  }

  holdsSomething(name: string): boolean {
    return !isBlank(this.#values.get(name));
  }
}
