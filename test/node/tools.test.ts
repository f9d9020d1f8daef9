import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { ownFolder } from './own.ts';
import { hasTools } from './tools.ts';

/** The tests that are skipped for want of a tool. */

const folder = ownFolder();

it('tests that need tools run with all of them, and are noted with each that is missing', () => {
  const file = join(folder, 'skipped.jsonl');
  vi.stubEnv('LICET_SKIPPED', file);
  expect(hasTools('a loop', 'sh', 'ls')).toBe(true);
  expect(hasTools('a flight', 'sh', 'wing-1', 'wing-2')).toBe(false);
  vi.unstubAllEnvs();
  const notes = readFileSync(file, 'utf8').trim().split('\n');
  expect(notes.map((note) => JSON.parse(note))).toEqual([
    { need: 'wing-1', tests: 'a flight' },
    { need: 'wing-2', tests: 'a flight' },
  ]);
});
