import { expect, it } from 'vitest';
import { call, createToken } from '../support/client';

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
