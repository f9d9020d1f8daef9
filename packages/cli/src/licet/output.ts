import { styleText } from 'node:util';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { callOf, documentOf } from '../invocation.ts';
import { Progress } from '../terminal.ts';
import { stripControlCharacters, stripControlCharactersInLines } from '../text.ts';

/** Output of the command line: results to stdout, explanations to stderr. */

type Style = 'green' | 'yellow' | 'red' | 'dim';

export interface Column<Item> {
  title: string;
  text: (item: Item) => string;
  style?: (item: Item) => Style;
  /** Minimum width, for rows that follow later. */
  minWidth?: number;
  /** Whether a narrow terminal may cut it. */
  isFlexible?: true;
}

const GAP = '  ';
/** Limits of a column's width on a terminal. */
const MAX_WIDTH = 40;
const MIN_FLEXIBLE_WIDTH = 8;

const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\uFF01-\uFF60]/u;

const widthOfCharacter = (character: string): number =>
  /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;

const widthOf = (text: string): number =>
  [...text].reduce((width, character) => width + widthOfCharacter(character), 0);

/** Pads or cuts a text to a width. */
function fitted(text: string, width: number): string {
  const surplus = width - widthOf(text);
  if (surplus >= 0) return text + ' '.repeat(surplus);
  let cut = '';
  for (const character of text) {
    if (widthOf(cut + character) > width - 1) break;
    cut += character;
  }
  return fitted(`${cut}…`, width);
}

interface FittedColumn<Item> extends Column<Item> {
  width: number;
}

const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);

/** Fits columns to the terminal: first narrows flexible ones, then drops the last ones. */
function fitToTerminal<Item>(columns: readonly FittedColumn<Item>[]): FittedColumn<Item>[] {
  const available = process.stdout.columns;
  // Undefined without a terminal, 0 if its width is unknown.
  if (!available) return [...columns];
  const capped = columns.map((column) => ({ ...column, width: Math.min(column.width, MAX_WIDTH) }));
  const narrowest = ({ width, isFlexible }: FittedColumn<Item>) =>
    isFlexible ? Math.min(width, MIN_FLEXIBLE_WIDTH) : width;
  while (capped.length > 1 && total(capped.map(narrowest)) > available) capped.pop();
  const giving = capped.filter(({ isFlexible }) => isFlexible);
  while (total(capped.map(({ width }) => width)) > available) {
    const [widest] = giving.toSorted((one, other) => other.width - one.width);
    if (!widest) break;
    widest.width--;
  }
  return capped;
}

/** Lays out rows in columns. */
export class Table<Item> {
  readonly #columns: readonly FittedColumn<Item>[];

  constructor(columns: readonly Column<Item>[], items: readonly Item[]) {
    const fitted = columns.map((column) => ({
      ...column,
      width: items.reduce(
        (width, item) => Math.max(width, widthOf(stripControlCharacters(column.text(item)))),
        Math.max(column.title.length, column.minWidth ?? 0),
      ),
    }));
    this.#columns = fitToTerminal(fitted);
  }

  header(): string {
    const titles = this.#columns.map(({ title, width }) => fitted(title, width));
    return styleText('dim', titles.join(GAP).trimEnd());
  }

  line(item: Item): string {
    const cells = this.#columns.map(({ text, style, width }) => {
      const cell = stripControlCharacters(text(item));
      // A pipe has no edge, so cells that are wider than their column are not cut.
      const padded = fitted(cell, process.stdout.isTTY ? width : Math.max(width, widthOf(cell)));
      return style ? styleText(style(item), padded) : padded;
    });
    return cells.join(GAP).trimEnd();
  }
}

/** Green for valid, yellow for expired, red for the rest. */
export function statusStyle(status: string): Style {
  if (status === 'VALID' || status === 'ACTIVE') return 'green';
  return status === 'EXPIRED' ? 'yellow' : 'red';
}

/** One line of JSON. Escapes characters that JSON allows and a terminal would interpret. */
const jsonLine = (value: object): string =>
  JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export class Output {
  readonly isJson: boolean;

  /** @param isJson whether to print each object as a line of JSON, for programs */
  constructor(isJson: boolean) {
    this.isJson = isJson;
  }

  /** Prints a list, or a note if it is empty. */
  list<Item extends object>(
    items: readonly Item[],
    columns: readonly Column<Item>[],
    nothing: string,
  ): void {
    if (items.length === 0) this.note(nothing);
    else this.lines(items, columns);
  }

  /** Prints rows under their titles. @returns a function that prints more rows in the same columns */
  lines<Item extends object>(
    items: readonly Item[],
    columns: readonly Column<Item>[],
  ): (items: readonly Item[]) => void {
    const table = this.isJson ? undefined : new Table(columns, items);
    const print = (more: readonly Item[]) => {
      for (const item of more) console.log(table ? table.line(item) : jsonLine(item));
    };
    if (table) console.log(table.header());
    print(items);
    return print;
  }

  /** Prints the fields of an object that are not empty. */
  object(item: object, fields: Readonly<Record<string, string>>): void {
    if (this.isJson) {
      console.log(jsonLine(item));
      return;
    }
    const width = Math.max(...Object.keys(fields).map((name) => name.length));
    for (const [name, text] of Object.entries(fields)) {
      if (text)
        console.log(styleText('dim', name.padEnd(width)) + GAP + stripControlCharacters(text));
    }
  }

  /** Reports success. Prints `result` for scripts, or the whole object for programs. */
  done(message: string, item: object, result?: string): void {
    this.doneAll(message, [item], () => result);
  }

  /** The same for several objects. */
  doneAll<Item extends object>(
    message: string,
    items: readonly Item[],
    resultOf: (item: Item) => string | undefined,
  ): void {
    if (this.isJson) {
      for (const item of items) console.log(jsonLine(item));
      return;
    }
    const mark = styleText('green', '✓', { stream: process.stderr });
    console.error(`${mark} ${stripControlCharacters(message)}`);
    for (const item of items) {
      const result = resultOf(item);
      if (result !== undefined) console.log(stripControlCharacters(result));
    }
  }

  /** Prints a text of several lines, with a title beside it. */
  text(title: string, item: object, text: string): void {
    if (this.isJson) {
      console.log(jsonLine(item));
      return;
    }
    this.note(title);
    console.log(`${stripControlCharactersInLines(text)}\n`);
  }

  /** Prints a note beside the result. */
  note(message: string): void {
    console.error(stripControlCharacters(message));
  }

  /** Warns of an address of the service that others cannot open (3.3). */
  warnUnlessPublic({ isPublic }: { isPublic: boolean }): void {
    if (isPublic) return;
    const mark = styleText('yellow', '!', { stream: process.stderr });
    console.error(
      `${mark} Only the machine of the service and its network can open this address. Set PUBLIC_URL to the public one: ${documentOf('configuration')}.`,
    );
  }
}

/** Formats a timestamp to the second, in UTC: `2026-11-20 17:31:22`. */
export const timeText = (timestamp: string): string =>
  new Date(timestamp).toISOString().slice(0, 19).replace('T', ' ');

/** Formats the day of a timestamp. */
export const dayText = (timestamp: string): string => timeText(timestamp).slice(0, 10);

/** Formats a limit. */
export const limitText = (limit: number): string => (limit === -1 ? '∞' : String(limit));

const MAX_HWID_LENGTH = 20;

/** Marks a hardware ID that many machines share. */
export const markShared = (hwid: string, shown = hwid): string =>
  sharedHwid(hwid) ? `${shown} (shared)` : shown;

/** Shortens a hardware ID for a table. Its beginning and its end stay. */
export const shortHwid = (hwid: string): string =>
  markShared(hwid, hwid.length > MAX_HWID_LENGTH ? `${hwid.slice(0, 12)}…${hwid.slice(-7)}` : hwid);

/** Reads items page by page, and shows the progress. */
export async function collect<Item>(what: string, items: AsyncIterable<Item>): Promise<Item[]> {
  const progress = new Progress(`Reading ${what}`, undefined);
  const read: Item[] = [];
  try {
    for await (const item of items) {
      progress.add(1);
      read.push(item);
    }
  } finally {
    progress.end();
  }
  return read;
}

/** Reads the first items. @returns them, and whether there are more */
export async function firstOf<Item>(
  items: AsyncIterable<Item>,
  count: number,
): Promise<{ first: Item[]; hasMore: boolean }> {
  const first: Item[] = [];
  for await (const item of items) {
    if (first.length === count) return { first, hasMore: true };
    first.push(item);
  }
  return { first, hasMore: false };
}

/** Reads all items of a list, or the first `limit` of them with a note if there are more. */
export async function collectUpTo<Item>(
  output: Output,
  what: string,
  items: AsyncIterable<Item>,
  limit: number | undefined,
): Promise<Item[]> {
  if (limit === undefined) return collect(what, items);
  const { first, hasMore } = await firstOf(items, limit);
  if (hasMore) output.note(`There are more than ${limit} ${what}. Raise --limit to see them.`);
  return first;
}

/** `1 address`, `2 addresses` */
export const counted = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;

/** The end of a command's help. */
export const examples = (...commands: readonly string[]): string =>
  `\nExamples:\n${commands.map((command) => `  ${callOf('licet')} ${command}`).join('\n')}`;
