import { styleText } from 'node:util';
import { done } from './terminal.ts';

/** The results of `npm run doctor`. */

/** The result of a probe, of a check of signatures, or of a start of a program. */
export interface Check {
  what: string;
  mark: 'good' | 'minor' | 'bad';
  /** Titles and texts. */
  details?: readonly (readonly [title: string, text: string])[];
}

export function print({ what, mark, details = [] }: Check): void {
  if (mark === 'good') done(what);
  else
    console.log(`${mark === 'minor' ? styleText('yellow', '•') : styleText('red', '✗')} ${what}`);
  for (const [title, text] of details) console.log(`    ${title.padEnd(8)}${text}`);
}

const MAX_SHOWN_LENGTH = 100;

/** The beginning of a text of others, without control characters for the terminal. */
export const startOf = (text: string, maxLength = MAX_SHOWN_LENGTH): string =>
  text
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
