import { expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';
import { call, create } from '../support/client.ts';

it.each([null, 'no-such-token'])(
  'GET healthy returns 200 and the string healthy with the token %s [interface 4.1]',
  async (token) => {
    const response = await call('GET', '/api/v2/healthy', { token });
    expect([response.status, response.text]).toEqual([200, 'healthy']);
  },
);

it('GET ping returns 200 and the string pong with a token of any intent [interface 4.1]', async () => {
  const { token } = await create.token(['LICENSE_VALIDATE']);
  const response = await call('GET', '/api/v2/ping', { token });
  expect([response.status, response.text]).toEqual([200, 'pong']);
});

it.each<string[]>([
  ['PLATFORM_A=SpigotMC, MARKET_B = A=B & C ', 'PLATFORM_A=SpigotMC', 'MARKET_B=A=B & C'],
  ['MARKET_A=No\u0000line\nend\u001b', 'MARKET_A=No line end'],
  [`MARKET_A=${'🦊'.repeat(50)}`, `MARKET_A=${'🦊'.repeat(40)}`],
  ['PLATFORM_A=Same,PLATFORM_B=same', 'PLATFORM_A=Same'],
  ['PLATFORM_A=market_a, CHAT=Discord, MARKET_Z=X, =, MARKET_B'],
  [''],
])(
  'GET platforms lists the labels of %j for people, and the names without one [3.60]',
  async (text = '', ...changed) => {
    const { token } = await create.token(['LICENSE_VALIDATE']);
    const bindings = { PLATFORM_LABELS: text };
    const response = await newIsolate(bindings).call('GET', '/api/v2/platforms', { token });
    const names = ['PLATFORM_A', 'PLATFORM_B', 'PLATFORM_C', 'MARKET_A', 'MARKET_B'];
    expect([response.status, response.json]).toEqual([
      200,
      names.map((platform) => ({
        platform,
        label:
          changed.find((label) => label.startsWith(platform))?.slice(platform.length + 1) ??
          platform,
      })),
    ]);
  },
);
