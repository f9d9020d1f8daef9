import { request } from 'node:http';
import { readRootToken } from '@licet/cli/root-token';
import { beforeAll, expect, it } from 'vitest';
import { sharedService } from './shared-service.ts';

/** The header TOKEN as it is on the wire: the clients of other tests take blanks away before they send. */

let address: string;
beforeAll(async () => {
  address = await sharedService();
});

const ping = (token: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(`${address}/api/v2/ping`, { headers: { TOKEN: token } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject);
    sent.end();
  });

it.each([
  [' ', ''],
  ['', ' '],
  ['\t', '\t'],
  ['  \t ', ' \t  '],
])('a token with %j before it and %j behind it is live [3.2.1]', async (before, behind) => {
  expect(await ping(`${before}${readRootToken()}${behind}`)).toBe(200);
});

it('a token with a blank in it is none', async () => {
  const token = readRootToken() ?? '';
  expect(await ping(`${token.slice(0, 20)} ${token.slice(20)}`)).toBe(401);
});
