import { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import { isObject, parseJson } from '@licet/contract/json';

/** The log of `npm start`: JSON for programs, short lines for a person at a terminal. */

export type Log = (level: string, message: string, timeMs?: number) => void;

/** A line of JSON. A message that is JSON already gets a time and a level. */
function jsonLine(level: string, message: string, timeMs: number): string {
  const head = `{"time":"${new Date(timeMs).toISOString()}","level":"${level}",`;
  const rest = message.startsWith('{"')
    ? message.slice(1)
    : `"message":${JSON.stringify(message)}}`;
  return `${head}${rest}\n`;
}

/** A terminal may not know its width. */
const DEFAULT_COLUMNS = 80;

const STYLES: Readonly<Record<string, 'red' | 'yellow' | 'dim'>> = {
  error: 'red',
  warn: 'yellow',
  REFUSED: 'dim',
  FAILED: 'red',
};

interface ShortLine {
  /** All but the time and the duration: equal lines are one. */
  text: string;
  durationMs?: number;
  style: 'red' | 'yellow' | 'dim' | undefined;
}

interface LogEvent {
  message: string;
  event?: string;
  /** Requests have it, and a duration. */
  outcome?: string;
  durationMs?: number;
  [detail: string]: unknown;
}

const isLogEvent = (value: unknown): value is LogEvent =>
  isObject(value) && typeof value.message === 'string';

/** The part of a message that a person reads: of a request `POST /api/v1/validate 200 VALID`. */
function shortLine(level: string, message: string): ShortLine {
  const parsed = parseJson(message);
  if (!isLogEvent(parsed)) return { text: message, style: STYLES[level] };
  const { message: text, event, outcome, durationMs, ...rest } = parsed;
  if (event !== 'request') {
    const details = Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`);
    return { text: [text, ...details].join('  '), style: STYLES[level] };
  }
  const end = outcome === 'OK' || outcome === 'REFUSED' ? '' : ` ${outcome}`;
  const style = STYLES[level] ?? STYLES[outcome ?? ''];
  return { text: `${text}${end}`, durationMs: durationMs ?? 0, style };
}

/**
 * Lines for a terminal. Equal requests in succession share a line, which counts them, so that busy programs do not push
 * the link to log in out of sight.
 */
export function terminalLog(write: (text: string) => void, columns: () => number): Log {
  let last = '';
  let count = 0;
  return (level, message, timeMs = Date.now()) => {
    const { text, durationMs, style } = shortLine(level, message);
    count = text === last && durationMs !== undefined ? count + 1 : 1;
    last = text;
    const time = new Date(timeMs).toTimeString().slice(0, 8);
    const times = count > 1 ? `  × ${count}` : '';
    const duration = durationMs === undefined ? '' : `  ${durationMs} ms`;
    // A line that wraps could not be replaced.
    const line = `  ${time}  ${text}${duration}${times}`;
    const shown = durationMs === undefined ? line : line.slice(0, columns() - 1);
    // Up one line, and clear it.
    const replace = count > 1 ? '\x1b[1A\x1b[2K' : '';
    const plain = stripVTControlCharacters(shown);
    write(`${replace}${style ? styleText(style, plain, { validateStream: false }) : plain}\n`);
  };
}

/** Writes to stdout. Many lines at once cost as much as one, so they are collected. */
export function openLog(): { log: Log; flush: () => void } {
  let lines = '';
  const flush = () => {
    process.stdout.write(lines);
    lines = '';
  };
  const write = (text: string) => {
    if (lines === '') setImmediate(flush);
    lines += text;
  };
  const { stdout } = process;
  const log: Log =
    stdout instanceof WriteStream
      ? terminalLog(write, () => stdout.columns || DEFAULT_COLUMNS)
      : (level, message, timeMs = Date.now()) => write(jsonLine(level, message, timeMs));
  return { log, flush };
}
