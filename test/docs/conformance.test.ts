import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CLAUSES_FILE, readClauses } from './clauses.ts';

const { table, unproved, faults } = readClauses();

it('each bullet of the decisions and each section of the interface has a test', () => {
  expect(unproved).toEqual([]);
});

it('each tag in the title of a test is the tag of one clause', () => {
  expect(faults).toEqual([]);
});

it('npm run clauses writes the table of conformance that is committed', () => {
  expect(readFileSync(CLAUSES_FILE, 'utf8') === table, 'Run npm run clauses').toBe(true);
});
