import { closeSync, fchmodSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { styleText } from 'node:util';
import type { Operations } from '../../../client/src/types.ts';
import { done, note, usageError } from '../terminal.ts';
import { stripControlCharacters } from '../text.ts';
import { meantField } from './fields.ts';
import { KINDS, type Kind } from './kinds.ts';
import { cannotWrite } from './output-file.ts';

/** What became of what was imported, for a person and for a file. */

export type Result = Operations['POST /api/v2/import']['response']['results'][number];

/** By what a person finds an item in its source. */
export interface Named {
  where: string;
  id: unknown;
  licenseKey: unknown;
  productId: unknown;
  /** What is the same in the source and came before it. */
  duplicateOf: string | undefined;
}

export const OUTCOMES = ['created', 'unchanged', 'kept', 'refused'] as const;
const MAX_SHOWN = 20;
const MAX_SHOWN_AT_END = 4;
const MAX_IGNORED_SHOWN = 50;

export const refusal = (reason: string): Result => ({
  outcome: 'refused',
  id: null,
  differences: [],
  reason,
});

/** Enough of a key to find it by, and too little to use it: its two ends, and half of it at most. */
function shortened(key: unknown): string {
  if (typeof key !== 'string') return '';
  const shown = Math.min(MAX_SHOWN_AT_END, Math.floor(key.length / 4));
  return `, license ${key.slice(0, shown)}…${key.slice(key.length - shown)}`;
}

/** Why it became of an item what it did; nothing where it is simply there now. */
const reasonOf = ({ duplicateOf }: Named, { outcome, reason }: Result): string | null => {
  if (outcome === 'created' || outcome === 'unchanged' || duplicateOf === undefined) return reason;
  return reason === null ? duplicateOf : `${reason} (${duplicateOf})`;
};

/** Opens it behind what it has: of what an import created, the next one does not tell again. */
function openReport(name: string): number {
  try {
    // It has whole license keys: it is for its owner alone, also where it was there.
    const fd = openSync(name, 'a', 0o600);
    if (fstatSync(fd).isFile()) fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    throw usageError(cannotWrite(name, error).message);
  }
}

export class Report {
  readonly #counts = new Map<string, number>();
  /** As they are shown, by their kinds and names. */
  readonly #ignoredFields = new Map<string, string>();
  readonly #name: string | undefined;
  readonly #file: number | undefined;
  readonly #isDryRun: boolean;
  /** Whether the file has what was told before. */
  readonly #isContinued: boolean;
  #refused = 0;
  #written = 0;

  /** @param name a file for all that is not simply there now, a JSON object a line */
  constructor(name: string | undefined, isDryRun = false) {
    this.#name = name;
    this.#isDryRun = isDryRun;
    this.#file = name === undefined ? undefined : openReport(name);
    this.#isContinued = this.#file !== undefined && fstatSync(this.#file).size > 0;
  }

  get refused(): number {
    return this.#refused;
  }

  /** How many were here with other values. */
  get kept(): number {
    return KINDS.reduce((sum, kind) => sum + (this.#counts.get(`${kind} kept`) ?? 0), 0);
  }

  ignore(kind: Kind, names: readonly string[]): void {
    for (const name of names) {
      const key = `${kind} ${name}`;
      if (this.#ignoredFields.has(key)) continue;
      const meant = meantField(kind, name);
      const question = meant === undefined ? '' : `did you mean ${meant}?`;
      this.#ignoredFields.set(key, question ? `${key} (${question})` : key);
      const reason = question || 'not known, or a secret';
      this.#write({ kind, field: name, outcome: 'ignored', reason });
    }
  }

  add(kind: Kind, named: Named, result: Result): void {
    const { where, id, licenseKey } = named;
    const reason = reasonOf(named, result);
    this.#count(`${kind} ${result.outcome}`);
    for (const name of result.differences) this.#count(`${result.outcome}: ${kind} ${name}`);
    if (result.outcome === 'refused' && ++this.#refused <= MAX_SHOWN) {
      const what = `${kind}, ${where}${shortened(licenseKey)}`;
      note(`${styleText('red', '✗')} ${stripControlCharacters(`${what}: ${reason}`)}`);
    }
    if (result.outcome === 'refused' || result.differences.length > 0) {
      const { outcome, differences, id: storedId } = result;
      this.#write({ kind, where, id, licenseKey, outcome, reason, differences, storedId });
    }
  }

  #count(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** The fields in which things of an outcome differ from what was sent, and how many do. */
  #differencesOf(outcome: string): string {
    const fields = [...this.#counts].flatMap(([key, count]) => {
      const [, field] = key.split(`${outcome}: `);
      return field === undefined ? [] : `${field} (${count.toLocaleString('en')})`;
    });
    return fields.join(', ');
  }

  /** The fields that were not taken; those that can be put right come first. */
  #ignored(): string {
    const shown = [...this.#ignoredFields.values()].toSorted(
      (one, other) => Number(other.endsWith('?)')) - Number(one.endsWith('?)')),
    );
    const rest = shown.splice(MAX_IGNORED_SHOWN);
    return [...shown, ...(rest.length > 0 ? [`and ${rest.length} more`] : [])].join(', ');
  }

  /** At once: what is stopped has told all that it did. */
  #write(line: object): void {
    this.#written++;
    if (this.#file === undefined) return;
    try {
      const told = this.#isDryRun ? { ...line, dryRun: true } : line;
      writeFileSync(this.#file, `${JSON.stringify(told)}\n`);
    } catch (error) {
      throw cannotWrite(this.#name ?? '', error);
    }
  }

  /** Tells what became of it all. */
  end(): void {
    const column = (text: string | number) => String(text).padStart(11);
    console.log(`\n${' '.repeat(12)}${OUTCOMES.map(column).join('')}`);
    for (const kind of KINDS) {
      const counts = OUTCOMES.map((outcome) => this.#counts.get(`${kind} ${outcome}`) ?? 0);
      console.log(
        kind.padEnd(12) + counts.map((count) => column(count.toLocaleString('en'))).join(''),
      );
    }
    console.log();
    const notes: [what: string, fields: string][] = [
      ['Created, but not as they were sent', this.#differencesOf('created')],
      ['Here with other values, which stay', this.#differencesOf('kept')],
      ['Fields that were not taken', this.#ignored()],
    ];
    const told = notes.filter(([, fields]) => fields !== '');
    for (const [what, fields] of told) console.log(stripControlCharacters(`${what}: ${fields}`));
    if (this.#file !== undefined) {
      closeSync(this.#file);
      const before = this.#isContinued ? ', behind what it had' : '';
      done(
        this.#written === 0
          ? `There was nothing to report: ${this.#name} is ${this.#isContinued ? 'as it was' : 'empty'}.`
          : `${this.#name} has all that was refused, kept, stored otherwise or not taken, and why${before}.`,
      );
    } else if (told.length > 0 || this.#refused > MAX_SHOWN) {
      console.log('With --report FILE all of them are written down, each with the reason.');
    }
  }
}
