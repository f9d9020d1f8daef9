import { expect, it } from 'vitest';
import readme from '../../README.md?raw';
import { routes } from '../../src/app';
import { declaredIntents } from '../../src/auth/middleware';
import { API_INTENTS } from '../../src/lib/enums';

it('lists every endpoint with its intents in the README', () => {
  const declared = new Map([
    ['POST /api/v1/validate', 'no token'],
    ['GET /api/v2/healthy', 'no token'],
    ['GET /.well-known/jwks.json', 'no token'],
  ]);
  for (const { method, path, handler } of routes) {
    const intents = declaredIntents(handler);
    if (!intents) continue;
    const isAny = intents.length === API_INTENTS.length;
    declared.set(`${method} ${path}`, isAny ? 'any' : intents.join(', '));
  }
  const rows = readme.matchAll(/^\| (GET|POST|PUT|DELETE) \| (\S+) \| (.*) \|$/gm);
  const listed = [...rows].map(([, method, path, intents]) => [`${method} ${path}`, intents]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(declared));
});
