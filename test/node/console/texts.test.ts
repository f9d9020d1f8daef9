import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { screenTexts } from '../../../console/src/screen-texts.ts';
import { texts } from '../../../console/src/texts.ts';

/** The texts of the console. */

const FOLDER = 'console/src';
const SOURCES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path) && !/texts\.ts$/.test(path))
  .map((path) => readFileSync(join(FOLDER, path), 'utf8'));

/** Groups with a text for each value of the service. Sources do not name these texts. */
const BY_VALUE = /^(statuses|outcomes|\w+Types|resources|platforms|intents|fields)$/;

const has = (source: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(source);

/** The texts of a group that no user of the group names. */
function unusedIn(group: string, names: readonly string[]): string[] {
  const users = SOURCES.filter(
    (source) => /\b(texts|screenTexts)\b/.test(source) && has(source, group),
  );
  return names
    .filter((name) => !users.some((source) => has(source, name)))
    .map((name) => `${group}.${name}`);
}

it('each text of the console is used', () => {
  const groups = Object.entries({ ...texts, ...screenTexts });
  const unused = groups.flatMap(([group, inner]: [string, unknown]) => {
    if (BY_VALUE.test(group)) return [];
    return unusedIn(group, typeof inner === 'object' && inner ? Object.keys(inner) : [group]);
  });
  expect(unused).toEqual([]);
});
