import { styleText } from 'node:util';
import { describeFault, type Fault } from './faults.ts';
import type { Result } from './rounds.ts';

export type TableRow = Record<string, number | string>;

/** The outcome of a scenario. */
export interface Finding {
  scenario: string;
  title: string;
  results: Result[];
  thresholds: Threshold[];
  /** They fail the run. */
  faults: Fault[];
  notes: string[];
  /** Instead of the table of results. */
  table?: TableRow[];
}

/** A figure and the limit that it has to keep. */
export interface Threshold {
  text: string;
  value: number | null;
  isMet: boolean;
  /**
   * Whether the figure is the same on every machine: a count, or virtual time. Then a missed limit fails the
   * run. A figure of speed fails nothing: the machine may be busy.
   */
  isExact: boolean;
}

/** Shows what is under way. */
export const progress = (message: string): void =>
  console.error(styleText('gray', `… ${message}`, { stream: process.stderr }));

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));

export const roundOrDash = (value: number | null, digits: number): number | string =>
  value === null ? '–' : round(value, digits);

export const atLeast = (text: string, value: number, limit: number): Threshold => ({
  text: `${text}: at least ${limit}`,
  value: round(value, 3),
  isMet: value >= limit,
  isExact: false,
});

export const atMost = (text: string, value: number | null, limit: number): Threshold => ({
  text: `${text}: at most ${limit}`,
  value: value === null ? null : round(value, 3),
  isMet: value !== null && value <= limit,
  isExact: false,
});

/** Marks a threshold whose figure is the same on every machine. */
export const exact = (threshold: Threshold): Threshold => ({ ...threshold, isExact: true });

function rowOf(result: Result): TableRow {
  return {
    connections: result.connections,
    target: result.name,
    'req/s': round(result.requestsPerSecond, 0),
    ratio: round(result.throughputRatio),
    'p50 ms': round(result.p50Ms),
    'p99 ms': round(result.p99Ms),
    'p99 ratio': round(result.p99Ratio),
    'CPU µs': roundOrDash(result.cpuMicroseconds, 0),
    'CPU ratio': roundOrDash(result.cpuRatio, 2),
    'stored after ms': roundOrDash(result.storedAfterMs, 0),
    '503s': result.backedOff,
    lost: result.lost,
  };
}

/** A table with headings, numbers to the right. */
function toTable(rows: readonly TableRow[]): string {
  const [first] = rows;
  if (!first) return '';
  const headings = Object.keys(first);
  const cells = [headings, ...rows.map((row) => Object.values(row).map(String))];
  const isNumber = (column: number) =>
    rows.some((row) => typeof Object.values(row)[column] === 'number');
  const widths = headings.map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  return cells
    .map((line) =>
      line
        .map((cell, column) =>
          isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `  ${line}`)
    .join('\n');
}

/** Prints the outcome of a scenario. */
export function printFinding({ title, results, thresholds, faults, notes, table }: Finding): void {
  console.log(`\n${styleText('bold', title)}`);
  const rows = table ?? results.map(rowOf);
  if (rows.length > 0) console.log(toTable(rows));
  for (const note of notes) console.log(`  ${note}`);
  for (const { text, value, isMet, isExact } of thresholds) {
    const missed = styleText(isExact ? 'red' : 'yellow', '✗ missed');
    const verdict = isMet ? styleText('green', '✓ met   ') : missed;
    console.log(`  ${verdict} ${text} (${value ?? 'not known'})`);
  }
  for (const fault of faults) console.log(`  ${styleText('red', `✗ ${describeFault(fault)}`)}`);
}
