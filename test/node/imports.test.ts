import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * The imports of `src` point one way: from what a request meets first to what all share. Packages import others by
 * their names, and only those that they declare.
 */

const MODULES = [
  'index.ts',
  'scheduled.ts',
  'routes',
  'auth',
  'validation',
  'services.ts',
  'requests',
  'import',
  'channels',
  'cache',
  'resources',
  'http',
  'db',
  'lib',
];

const files = globSync('src/**/*.ts').sort();

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(([, path = '']) =>
    join(dirname(file), path),
  );

const imports = new Map(files.map((file) => [file, importsOf(file)]));

const moduleOf = (file: string): string => relative('src', file).split('/')[0] ?? '';

const placeOf = (file: string): number => MODULES.indexOf(moduleOf(file));

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

/** The room of a file: a folder of a floor, or a file beside these folders. */
const roomOf = (floor: string, file: string): string | undefined => {
  const [first, room] = relative('src', file).split('/');
  return first === floor ? room : undefined;
};

it.each(['resources', 'channels'])('no two rooms of %s import each other in a circle', (floor) => {
  const rooms = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const room = roomOf(floor, file);
    if (room === undefined) continue;
    const others = targets.flatMap((target) => roomOf(floor, target) ?? []);
    rooms.set(room, new Set([...(rooms.get(room) ?? []), ...others.filter((one) => one !== room)]));
  }
  const reachable = (from: string, seen = new Set<string>()): Set<string> => {
    for (const next of rooms.get(from) ?? []) if (!seen.has(next)) reachable(next, seen.add(next));
    return seen;
  };
  expect(rooms.size).toBeGreaterThan(3);
  expect([...rooms.keys()].filter((room) => reachable(room).has(room))).toEqual([]);
});

it('each table is in the schema of a room', () => {
  const tables = files.filter((file) => /= sqliteTable\(/.test(readFileSync(file, 'utf8')));
  expect(tables.filter((file) => !file.endsWith('/schema.ts'))).toEqual([]);
});

const { workspaces }: { workspaces: string[] } = JSON.parse(readFileSync('package.json', 'utf8'));

describe.each(workspaces)('the package in %s', (folder) => {
  const { dependencies = {} }: { dependencies?: Record<string, string> } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  const sources = globSync(`${folder}/src/**/*.{ts,tsx}`);

  it('the package imports its own files and its declared dependencies', () => {
    const strangers = sources.flatMap((file) => [
      ...importsOf(file).filter((target) => !target.startsWith(`${folder}/`)),
      ...packagesOf(file).filter((name) => !(name in dependencies)),
    ]);
    expect([...new Set(strangers)]).toEqual([]);
  });
});

/** The packages that a file imports; React's names stand for Preact's. */
const packagesOf = (file: string): string[] =>
  [
    ...readFileSync(file, 'utf8').matchAll(
      /(?:from|import\() ?'(?!node:)((?:@[\w-]+\/)?\w[\w.-]*)/g,
    ),
  ].map(([, name = '']) => name.replace(/^react(-dom)?$/, 'preact'));

it('no import climbs more than three folders', () => {
  const all = globSync('{src,openapi,packages,console,scripts,bench,test}/**/*.{ts,tsx}', {
    exclude: ['**/node_modules/**'],
  });
  const climbing = all.filter((file) => /from '(\.\.\/){4}/.test(readFileSync(file, 'utf8')));
  expect(climbing).toEqual([]);
});

it('the limits and enums of the contract need no library, so that pages load them without zod', () => {
  const needed = (file: string): string[] => [file, ...importsOf(file).flatMap(needed)];
  const light = [
    'limits',
    'enums',
    'intents',
    'durations',
    'messages',
    'json',
    'outcomes',
    'objects',
  ]
    .flatMap((name) => needed(`packages/contract/src/${name}.ts`))
    .flatMap(packagesOf);
  expect(light).toEqual([]);
});

it('the bodies of the interface are in the contract alone', () => {
  const bodies = globSync('{src,openapi,packages/*/src,console/src}/**/*.{ts,tsx}').filter((file) =>
    /z\.strictObject\(/.test(readFileSync(file, 'utf8')),
  );
  // The inputs of a tool stand beside it: assistants read them from the service, and no program of ours sends them.
  const isAtHome = /^(packages\/contract|src\/channels\/assistants)\//;
  expect(bodies.filter((file) => !isAtHome.test(file))).toEqual([]);
  expect(bodies.length).toBeGreaterThan(5);
});

it('the console takes the limits of lengths from the contract', () => {
  const typed = globSync('console/src/**/*.tsx').filter((file) =>
    /maxLength(=\{|: )\d/.test(readFileSync(file, 'utf8')),
  );
  expect(typed).toEqual([]);
});
