import { expect, it, vi } from 'vitest';
import { licet, logIn, queries, SESSION_QUERY } from '../../console/src/api.ts';
import { failure, serve } from './service.ts';

/** The session of the console, as its requests see it. */

it('a late 401 to an ended session leaves the session that has begun since', async () => {
  vi.stubGlobal('localStorage', { setItem: () => undefined });
  vi.stubGlobal('sessionStorage', { removeItem: () => undefined });
  const held = Promise.withResolvers<void>();
  serve({
    'GET /licenses': async () => {
      await held.promise;
      return failure(401);
    },
    'POST /console/session': () => new Response(null, { status: 204 }),
  });
  const late = licet.licenses.list();
  await logIn('licet_next');
  const session = { id: 7, name: 'Next', intents: [], expiresAt: null };
  queries.setQueryData(SESSION_QUERY.queryKey, session);
  held.resolve();
  await expect(late).rejects.toMatchObject({ status: 401 });
  expect(queries.getQueryData(SESSION_QUERY.queryKey)).toEqual(session);
  await expect(licet.licenses.list()).rejects.toMatchObject({ status: 401 });
  expect(queries.getQueryData(SESSION_QUERY.queryKey)).toBeNull();
});
