import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

/** The imports of `src` point one way: from what a request meets first to what all share. */

const MODULES = [
  'index.ts',
  'app.ts',
  'routes',
  'auth',
  'middleware',
  'validation',
  'isolate.ts',
  'requests',
  'import',
  'cache',
  'resources',
  'http',
  'db',
  'lib',
];

const files = globSync('src/**/*.ts').sort();

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(
    ([, path = '']) => {
      const target = join(dirname(file), path);
      return [`${target}.ts`, `${target}/index.ts`].find((name) => files.includes(name)) ?? target;
    },
  );

const imports = new Map(files.map((file) => [file, importsOf(file)]));

const moduleOf = (file: string): string => relative('src', file).split('/')[0] ?? '';

/** The total of a license is one of its columns, so that `resources` reads it. */
const TOTALS = ['src/requests/totals.ts', 'src/requests/record.ts'];

const placeOf = (file: string): number =>
  MODULES.indexOf(TOTALS.includes(file) ? 'resources' : moduleOf(file));

it('every file belongs to a module, and there are at most 14', () => {
  expect([...new Set(files.map(moduleOf))].sort()).toEqual([...MODULES].sort());
  expect(MODULES).toHaveLength(14);
});

it('no import points up', () => {
  const up = [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => placeOf(target) < placeOf(file))
      .map((target) => `${file} → ${target}`),
  );
  expect(up).toEqual([]);
});

it('the totals of licenses need the database alone', () => {
  const needed = TOTALS.flatMap((file) => imports.get(file) ?? []);
  const others = needed.filter((target) => !TOTALS.includes(target));
  expect([...new Set(others.map(moduleOf))].sort()).toEqual(['db', 'lib']);
});

it('no file imports itself in a circle', () => {
  const circles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (done.has(file)) return;
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file]);
      return;
    }
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});
