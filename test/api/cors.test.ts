import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { routes } from '../../src/routes/app.ts';
import { newIsolate } from '../support/app.ts';
import { call, create, validate } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { withFaults } from '../support/faults.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';

/** Pages in a browser may ask v1 and the health check, and nothing else (1.1). */

const ORIGIN = { Origin: 'https://shop.example' };

const corsHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

it.each([
  ['/api/v1/validate', 'POST'],
  ['//api/v1/validate/', 'POST'],
  ['/api/v2/healthy', 'GET'],
])(
  'a preflight of %s gets 204 and may send %s, without credentials [1.1.16]',
  async (path, method) => {
    const response = await call('OPTIONS', path, {
      token: null,
      headers: {
        ...ORIGIN,
        'Access-Control-Request-Method': method,
        'Access-Control-Request-Headers': 'content-type',
      },
    });
    expect([response.status, response.text]).toEqual([204, '']);
    expect(corsHeaders(response.headers)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': method,
      'access-control-allow-headers': 'content-type',
      'access-control-max-age': '86400',
    });
  },
);

const ALLOWED = { 'access-control-allow-origin': '*' };

it('any page may read each response of a v1 validation [1.1.16]', async () => {
  captureConsole();
  const { licenseKey, productId } = await create.license();
  const body = { licenseKey, productId, ip: '192.0.2.1' };
  const path = '/api/v1/validate';

  const limited = newIsolate({ VALIDATION_LIMITER: 0 });
  const headers = { ...ORIGIN, 'CF-Connecting-IP': '192.0.2.1' };

  const DB = withFaults(env.DB, (sql) => (sql.includes('past_requests') ? 'fails' : null));
  const failing = newIsolate({ DB });

  const responses = {
    200: await validate(body, { headers: ORIGIN }),
    400: await validate({ ...body, licenseKey: 'unknown' }, { headers: ORIGIN }),
    405: await call('GET', path, { token: null, headers: ORIGIN }),
    413: await validate('x'.repeat(17 * 1024), { headers: ORIGIN }),
    429: await limited.call('POST', path, { body, headers }),
    503: await failing.call('POST', path, { body: { ...body, licenseKey: 'not in KV' } }),
  };
  for (const [status, response] of Object.entries(responses)) {
    expect(response.status).toBe(Number(status));
    expect(corsHeaders(response.headers), status).toEqual(ALLOWED);
  }
});

it('any page may read the health check [1.1.16]', async () => {
  const response = await call('GET', '/api/v2/healthy', { token: null, headers: ORIGIN });
  expect(response.status).toBe(200);
  expect(corsHeaders(response.headers)).toEqual(ALLOWED);
});

const paths = new Set(
  routes
    .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/v2/'))
    .map(({ path }) => path.replace(':platform/', 'CHAT/').replace(/:\w+/g, '999999')),
);
paths.delete('/api/v2/healthy');
paths.add('/api/v2/nowhere');

it.each([...paths])('no page may read any response of %s [1.1.17]', async (path) => {
  for (const token of [ROOT_TOKEN, null]) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await call(method, path, {
        token,
        headers: { ...ORIGIN, 'Access-Control-Request-Method': 'POST' },
      });
      expect(corsHeaders(response.headers), `${method} returned ${response.status}`).toEqual({});
    }
  }
});
