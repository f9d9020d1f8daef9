import { closeSync, fchmodSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { styleText } from 'node:util';
import { IMPORT_OUTCOMES } from '@licet/contract/enums';
import { done, note, usageError } from '../terminal.ts';
import { stripControlCharacters } from '../text.ts';
import { FIELDS } from './fields.ts';
import { KINDS, type Kind } from './kinds.ts';
import { cannotWrite } from './output-file.ts';
import { type Named, type Result, reasonOf } from './results.ts';
import { meantField } from './suggestion.ts';

/** The results of an import, for the user and for a file. */

const MAX_SHOWN = 20;
const MAX_SHOWN_AT_END = 4;
const MAX_IGNORED_SHOWN = 50;

/** The two ends of a key, at most half of it: enough to find the license, too little to use it. */
function shortened(key: unknown): string {
  if (typeof key !== 'string') return '';
  const shown = Math.min(MAX_SHOWN_AT_END, Math.floor(key.length / 4));
  return `, license ${key.slice(0, shown)}…${key.slice(key.length - shown)}`;
}

/** Opens a report to append to it. A repeated import does not report earlier differences again. */
function openReport(name: string): number {
  try {
    // The report contains whole license keys. Only its owner may read it, even if the file existed before.
    const fd = openSync(name, 'a', 0o600);
    if (fstatSync(fd).isFile()) fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    throw usageError(cannotWrite(name, error).message);
  }
}

export class Report {
  readonly #counts = new Map<string, number>();
  /** Descriptions of ignored fields, by kind and name. */
  readonly #ignoredFields = new Map<string, string>();
  readonly #name: string | undefined;
  readonly #file: number | undefined;
  readonly #isDryRun: boolean;
  /** Whether the file had lines before this import. */
  readonly #isContinued: boolean;
  #refused = 0;
  /** Created with other values than sent. */
  #changed = 0;
  #written = 0;
  /** Created as owners of licenses. */
  #owners = 0;

  /** @param name the report's file: a JSON object per line for each item that is not stored as sent */
  constructor(name: string | undefined, isDryRun = false) {
    this.#name = name;
    this.#isDryRun = isDryRun;
    this.#file = name === undefined ? undefined : openReport(name);
    this.#isContinued = this.#file !== undefined && fstatSync(this.#file).size > 0;
  }

  get refused(): number {
    return this.#refused;
  }

  /** The number of items that exist with other values. */
  get kept(): number {
    return KINDS.reduce((sum, kind) => sum + (this.#counts.get(`${kind} kept`) ?? 0), 0);
  }

  ignore(kind: Kind, names: readonly string[]): void {
    for (const name of names) {
      const key = `${kind} ${name}`;
      if (this.#ignoredFields.has(key)) continue;
      const meant = meantField(FIELDS[kind], name);
      const question = meant === undefined ? '' : `did you mean ${meant}?`;
      this.#ignoredFields.set(key, question ? `${key} (${question})` : key);
      const reason = question || 'unknown, or a secret';
      this.#write({ kind, field: name, outcome: 'ignored', reason });
    }
  }

  add(kind: Kind, named: Named, result: Result): void {
    const { where, id, licenseKey } = named;
    const reason = reasonOf(named, result);
    this.#count(`${kind} ${result.outcome}`);
    for (const name of result.differences) this.#count(`${result.outcome}: ${kind} ${name}`);
    const isRefused = result.outcome === 'refused';
    const isChanged = result.outcome === 'created' && result.differences.length > 0;
    if (
      (isRefused && ++this.#refused <= MAX_SHOWN) ||
      (isChanged && ++this.#changed <= MAX_SHOWN)
    ) {
      const what = `${kind}, ${where}${shortened(licenseKey)}`;
      const mark = isRefused ? styleText('red', '✗') : styleText('yellow', '!');
      note(
        `${mark} ${stripControlCharacters(`${what}: ${reason ?? result.differences.join(', ')}`)}`,
      );
    }
    if (isRefused || result.differences.length > 0) {
      const { outcome, differences, id: storedId } = result;
      this.#write({ kind, where, id, licenseKey, outcome, reason, differences, storedId });
    }
  }

  /** Counts customers that were created as owners of licenses. */
  addOwners(count: number): void {
    this.#owners += count;
    this.#count('customers created', count);
  }

  #count(key: string, count = 1): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  /** The fields in which items of an outcome differ from those sent, with counts. */
  #differencesOf(outcome: string): string {
    const fields = [...this.#counts].flatMap(([key, count]) => {
      const [, field] = key.split(`${outcome}: `);
      return field === undefined ? [] : `${field} (${count.toLocaleString('en')})`;
    });
    return fields.join(', ');
  }

  /** The ignored fields, misspelt ones first. */
  #ignored(): string {
    const shown = [...this.#ignoredFields.values()].toSorted(
      (one, other) => Number(other.endsWith('?)')) - Number(one.endsWith('?)')),
    );
    const rest = shown.splice(MAX_IGNORED_SHOWN);
    return [...shown, ...(rest.length > 0 ? [`and ${rest.length} more`] : [])].join(', ');
  }

  /** Writes synchronously, so that the report is complete when a signal stops the import. */
  #write(line: object): void {
    this.#written++;
    if (this.#file === undefined) return;
    try {
      const written = this.#isDryRun ? { ...line, dryRun: true } : line;
      writeFileSync(this.#file, `${JSON.stringify(written)}\n`);
    } catch (error) {
      throw cannotWrite(this.#name ?? '', error);
    }
  }

  /** Prints the summary and closes the file. */
  end(): void {
    const column = (text: string | number) => String(text).padStart(11);
    const headings = IMPORT_OUTCOMES.map((outcome) =>
      column(outcome === 'refused' ? 'rejected' : outcome),
    );
    console.log(`\n${' '.repeat(12)}${headings.join('')}`);
    for (const kind of KINDS) {
      const counts = IMPORT_OUTCOMES.map((outcome) => this.#counts.get(`${kind} ${outcome}`) ?? 0);
      console.log(
        kind.padEnd(12) + counts.map((count) => column(count.toLocaleString('en'))).join(''),
      );
    }
    console.log();
    if (this.#owners > 0) {
      const owners = this.#owners.toLocaleString('en');
      console.log(
        this.#isDryRun
          ? `Customers created: at most ${owners} as owners of licenses.`
          : `Customers created: ${owners} as owners of licenses.`,
      );
    }
    const notes: [what: string, fields: string][] = [
      ['Created with other values than sent', this.#differencesOf('created')],
      ['Existing items that keep their other values', this.#differencesOf('kept')],
      ['Ignored fields', this.#ignored()],
    ];
    const shown = notes.filter(([, fields]) => fields !== '');
    for (const [what, fields] of shown) console.log(stripControlCharacters(`${what}: ${fields}`));
    if (this.#file !== undefined) {
      closeSync(this.#file);
      done(
        this.#written === 0
          ? `Nothing to report: ${this.#name} is ${this.#isContinued ? 'unchanged' : 'empty'}.`
          : `The report is ${this.#isContinued ? 'appended to' : 'in'} ${this.#name}.`,
      );
    } else if (shown.length > 0 || this.#refused > 0) {
      console.log('Use --report FILE to get each of them with the whole key and the reason.');
    }
  }
}
