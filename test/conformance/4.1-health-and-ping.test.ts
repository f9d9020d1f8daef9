import { expect, it } from 'vitest';
import { call, createToken, expectError } from '../support/client';

it.each([null, 'no-such-token'])(
  'GET healthy answers 200 and the string healthy with the token %s',
  async (token) => {
    const answer = await call('GET', '/api/v2/healthy', { token });
    expect([answer.status, answer.text]).toEqual([200, 'healthy']);
  },
);

it('GET ping answers 200 and the string pong with a token of any intent', async () => {
  const { token } = await createToken(['LICENSE_VALIDATE']);
  const answer = await call('GET', '/api/v2/ping', { token });
  expect([answer.status, answer.text]).toEqual([200, 'pong']);
});

it.each([null, 'no-such-token'])(
  'GET ping answers 401 with the error structure with the token %s',
  async (token) => {
    const answer = await call('GET', '/api/v2/ping', { token });
    expectError(answer, 401, 'Token is missing, unknown, expired or revoked');
  },
);

it.each([
  ['healthy', []],
  ['ping', expect.any(Array)],
])('another method on %s answers 405 with Allow', async (path, intents) => {
  const answer = await call('POST', `/api/v2/${path}`);
  expect(answer.status).toBe(405);
  expect(answer.headers.get('Allow')).toBe('GET');
  expect(answer.json).toEqual({ message: 'Method not allowed', accepted_intents: intents });
});
