import { CliError } from '../cli-error.ts';
import { type Columns, columnsOf, Names, type Open, type Wanted } from './columns.ts';
import { FIELDS, isField } from './fields.ts';
import type { Piece } from './json-lines.ts';
import { type Counts, KINDS, type Kind, type TableKind } from './kinds.ts';
import { meantField } from './suggestion.ts';

/** The names in a file, before any of it is imported. The console uses this too, so nothing here needs Node. */

/** The name of a column without a heading. */
const UNNAMED = /^column \d+$/;

export class Survey {
  readonly counts: Counts = {};
  /** The counts in the last line of an export. */
  end: Counts | undefined;
  readonly #names = new Map<Kind, Names>();
  readonly #headings = new Map<Kind, readonly string[]>();

  add(piece: Piece): void {
    if (this.end) throw new CliError('lines follow its last line');
    if ('end' in piece) {
      this.end = piece.end;
      return;
    }
    const { kind, item, headings } = piece;
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    if (headings) this.#headings.set(kind, headings);
    const names = this.#names.get(kind) ?? new Names();
    this.#names.set(kind, names);
    names.add(item);
  }

  get kinds(): Kind[] {
    return KINDS.filter((kind) => this.#names.has(kind));
  }

  isTable(kind: Kind): boolean {
    return this.#headings.has(kind);
  }

  namesOf(kind: Kind): readonly string[] {
    return this.#headings.get(kind) ?? this.#names.get(kind)?.all ?? [];
  }

  exampleOf(kind: Kind, name: string): unknown {
    return this.#names.get(kind)?.exampleOf(name);
  }

  /** The columns of a kind. In a list, only a name that may decide needs a choice; others are ignored. */
  columnsOf(kind: Kind, wanted?: Wanted): Columns {
    const columns = columnsOf(kind, this.namesOf(kind), wanted);
    const isOpen = ({ name, decides }: Open): boolean => {
      const holdsSomething = this.#names.get(kind)?.holdsSomething(name) === true;
      if (this.isTable(kind)) return holdsSomething || !UNNAMED.test(name);
      return holdsSomething && decides;
    };
    return { ...columns, open: columns.open.filter(isOpen) };
  }
}

const MAX_NAME_LENGTH = 60;
const MAX_SHOWN = 20;
const MAX_OPTIONS = 100;

/** A text between quotation marks of a shell. */
const quoted = (text: string): string => `"${text.replaceAll(/["$`\\]/g, '\\$&')}"`;

const shown = (names: readonly string[]): string => {
  const rest = names.length - MAX_SHOWN;
  return names.slice(0, MAX_SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
};

/** The options that choose the columns of a file as suggested. */
const optionsFor = ({ open }: Columns): string =>
  open
    .slice(0, MAX_OPTIONS)
    .map(({ name, suggestion = '' }) => `--map ${quoted(`${name}=${suggestion}`)}`)
    .join(' ');

/** The reason why the columns of a kind cannot be read, and the options that choose; undefined if they can. */
export function problemOfColumns(
  kind: TableKind,
  columns: Columns,
  isTable: boolean,
): string | undefined {
  const { open, twice } = columns;
  const suggested = open.map(({ suggestion }) => suggestion);
  const missing = columns.missing.filter((field) => !suggested.includes(field));
  const problems: string[] = [];
  if (open.length > 0) {
    const described = open.map(({ name, suggestion }) => {
      const hint = suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`;
      return `${name.slice(0, MAX_NAME_LENGTH)}${hint}`;
    });
    const isClear = open.every(({ suggestion }) => suggestion !== undefined);
    const all = isClear ? '' : `. The headings of ${kind} are ${FIELDS[kind].join(', ')}`;
    const [what, these] = isTable ? ['headings', 'columns'] : [`fields of ${kind}`, 'fields'];
    problems.push(
      `unknown ${what}: ${shown(described)}. Rename or remove these ${these}, or add ${optionsFor(columns)} ` +
        `(nothing after = leaves one out)${all}`,
    );
  }
  for (const [field, one, other] of twice) {
    problems.push(`${one} and ${other} are both ${field}: add --map ${quoted(`${other}=`)}`);
  }
  if (missing.length > 0) {
    const options = missing.map((field) =>
      field === 'productId' ? '--set productId=ID' : `--map HEADING=${field}`,
    );
    const none = `${problems.length > 0 ? 'No' : 'no'} ${isTable ? 'column' : 'item'}`;
    problems.push(`${none} has ${missing.join(' and ')}: add ${options.join(' ')}`);
  }
  return problems.length > 0 ? problems.join('. ') : undefined;
}

/** The field that a person means by a name; an error names the nearest. */
export function checkedField(kinds: readonly TableKind[], name: string, option: string): string {
  const fields = kinds.flatMap((kind) => FIELDS[kind]);
  if (kinds.some((kind) => isField(kind, name))) return name;
  const meant = meantField(fields, name);
  const hint = meant === undefined ? ` Use one of ${shown(fields)}.` : ` Did you mean ${meant}?`;
  throw new CliError(`${option}: ${name} is no field of ${kinds.join(', ')}.${hint}`, 2);
}
