import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it, vi } from 'vitest';
import { app } from '../../src/routes/app.ts';
import { create, get, requestTo } from '../support/client.ts';

/** The address that counts as the client's where proxies may stand in front of the service (1.2). */

const PROXIES = '192.0.2.1, 10.0.0.0/8 2001:db8::/32';
const HEADER = '203.0.113.9';

interface Sent {
  peer: string | null;
  /** Undefined at the platform. */
  proxies?: string | undefined;
  /** The value of the header; null for none. */
  named?: string | null;
}

/** The addresses that a validation binds. */
async function boundBy({ peer, proxies, named = HEADER }: Sent): Promise<string[]> {
  const { id, licenseKey, productId } = await create.license({ maxIPs: 5 });
  const headers = named === null ? {} : { 'CF-Connecting-IP': named };
  const body = { licenseKey, productId };
  const request = requestTo('POST', '/api/v1/validate', { body, token: null, headers });
  const cf = peer === null ? {} : { clientIp: peer };
  const bindings = { ...env, ...(proxies !== undefined && { TRUSTED_PROXIES: proxies }) };
  const sent = new Request(request, { cf });
  expect((await app.fetch(sent, bindings, createExecutionContext())).status).toBe(200);
  return (await get.license(id)).ips;
}

it.each<[what: string, proxies: string | undefined, peer: string | null, bound: string[]]>([
  ['a trusted proxy is believed', PROXIES, '192.0.2.1:50000', [HEADER]],
  ['a proxy in a trusted range is believed', PROXIES, '10.200.0.7:50000', [HEADER]],
  ['a trusted proxy of IPv6 is believed', PROXIES, '[2001:db8::5]:50000', [HEADER]],
  ['anybody else is ignored', PROXIES, '192.0.2.2:50000', ['192.0.2.2']],
  ['anybody else of IPv6 is ignored', PROXIES, '[2001:db9::5]:50000', ['2001:db9::5']],
  ['an IPv4 address written as IPv6 is the same', PROXIES, '[::ffff:192.0.2.1]:50000', [HEADER]],
  ['everybody is ignored where no proxy is trusted', '', '192.0.2.1:50000', ['192.0.2.1']],
  ['everybody is ignored where no address is known', PROXIES, null, []],
  [
    'a link-local client is ignored, and its address counts without the zone',
    '',
    '[fe80::1%eth0]:50000',
    ['fe80::1'],
  ],
  ['a link-local proxy is believed', 'fe80::/10', '[fe80::1%eth0]:50000', [HEADER]],
  ['the platform is believed', undefined, '192.0.2.2:50000', [HEADER]],
])('the header CF-Connecting-IP: %s', async (_what, proxies, peer, bound) => {
  expect(await boundBy({ peer, proxies })).toEqual(bound);
});

it('a trusted proxy that names no client counts itself', async () => {
  expect(await boundBy({ peer: '10.0.0.1:50000', proxies: PROXIES, named: null })).toEqual([
    '10.0.0.1',
  ]);
});

const NO_ADDRESSES = ['9.9.9.9:555', '9.9.9.9, 8.8.8.8', '[2001:db8::1]', 'fe80::1%eth0', '', 'x'];

it('a trusted proxy whose header is no address counts as the client, which is logged once', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  for (const named of NO_ADDRESSES) {
    const bound = await boundBy({ peer: '10.0.0.1:50000', proxies: PROXIES, named });
    expect(bound, named).toEqual(['10.0.0.1']);
  }
  expect(warn.mock.calls).toEqual([[expect.stringContaining('sends no IP address')]]);
});

it('a header of the platform that is no address counts as none', async () => {
  for (const named of NO_ADDRESSES) {
    expect(await boundBy({ peer: '10.0.0.1:50000', named }), named).toEqual([]);
  }
});
