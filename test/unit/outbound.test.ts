import { expect, it } from 'vitest';
import { Outbound } from '../../src/lib/outbound.ts';

/** The addresses to which a person may let the service send (8.4). */

const network = { fetch: () => Promise.reject(new Error('Nothing is sent')) };
const deployed = new Outbound({ OUTBOUND_PRIVATE: 'true' });
const closed = new Outbound({ OUTBOUND: network, OUTBOUND_PRIVATE: 'false' });
const open = new Outbound({ OUTBOUND: network, OUTBOUND_PRIVATE: 'true' });

it.each([
  'https://shop.example/hook',
  'https://shop.example:8443/hook?key=1',
  'HTTPS://SHOP.EXAMPLE',
  'https://user.content.shop.example/a@b',
  'https://discord.com/api/webhooks/1/abc',
  'https://bücher.example/',
])('%s takes messages', (url) => {
  for (const outbound of [deployed, closed, open]) expect(outbound.faultOf(url)).toBeUndefined();
});

const PRIVATE: [url: string, fault: string][] = [
  ['http://shop.example/', 'must begin with https://'],
  ...[
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://127.0.0.1./',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fd00:ec2::254]/',
    'https://203.0.113.9/',
  ].map((url): [string, string] => [url, 'must have a name, not an IP address']),
  ...[
    'https://localhost/',
    'https://LOCALHOST:8787/',
    'https://licet.localhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://nas.lan/',
    'https://nas.home.arpa/',
    'https://router/',
  ].map((url): [string, string] => [url, 'must be a public name, such as shop.example']),
  ['https://shop.example./', 'must not end in a dot: remove it'],
];

it.each(PRIVATE)(
  '%s %s, unless private addresses are allowed on one machine [8.4.1, 8.4.2]',
  (url, fault) => {
    expect(closed.faultOf(url)).toBe(fault);
    expect(deployed.faultOf(url)).toBe(fault);
    expect(open.faultOf(url)).toBeUndefined();
  },
);

it.each([
  ['ftp://shop.example/', 'must begin with https://'],
  ['javascript:alert(1)', 'must begin with https://'],
  ['shop.example/hook', 'must begin with https://'],
  ['https://', 'must begin with https://'],
  [
    'https://user:password@shop.example/',
    'must have no user name: remove what stands before the @',
  ],
  ['https://user@shop.example/', 'must have no user name: remove what stands before the @'],
  ['https://shop.example/#hook', 'must have no fragment: remove the # and what follows'],
  ['https://shop.example/#', 'must have no fragment: remove the # and what follows'],
  [`https://shop.example/${'x'.repeat(2_048)}`, 'is too long'],
])('%s %s', (url, fault) => {
  for (const outbound of [deployed, closed, open]) expect(outbound.faultOf(url)).toBe(fault);
});

it.each([
  ['https://licet.example/hook', 'licet.example'],
  ['https://LICET.example./hook', 'licet.example'],
  ['https://licet.example:443/hook', 'licet.example'],
  ['http://localhost:8787/', 'localhost:8787'],
])('%s must not be the service itself, at %s', (url, ownHost) => {
  expect(open.faultOf(url, [ownHost])).toBe(
    'must be an address of another service, not of this one',
  );
});

it('an address that takes no messages gets none, even if it is stored', async () => {
  const { durationMs, ...outcome } = await closed.send('https://127.0.0.1/', {
    headers: {},
    body: '',
  });
  expect(outcome).toEqual({ error: 'The address must have a name, not an IP address' });
});

/** The requests that reach each network. */
function networks() {
  const sent: string[] = [];
  const named = (name: string) => ({
    fetch: async (url: unknown) => {
      sent.push(`${name} ${url}`);
      return new Response(null, { status: 204 });
    },
  });
  return { sent, OUTBOUND: named('public'), DISCORD_NETWORK: named('own') };
}

it('DISCORD_URL gets each request to Discord, and no other one [8.4.5]', async () => {
  const { sent, ...bindings } = networks();
  const outbound = new Outbound({ ...bindings, DISCORD_URL: ' http://127.0.0.1:9000/ ' });
  const urls = [
    'https://discord.com/api/v10/guilds/1/members/2/roles/3',
    'https://ptb.discord.com//api/webhooks/1/abc?wait=true',
    'https://discordapp.com/api/webhooks/1/abc',
    'https://discord.com.shop.example/hook',
    'https://shop.example/discord.com',
  ];
  for (const url of urls) await outbound.send(url, { headers: {}, body: '' });
  expect(sent).toEqual([
    'own http://127.0.0.1:9000/api/v10/guilds/1/members/2/roles/3',
    'own http://127.0.0.1:9000//api/webhooks/1/abc?wait=true',
    'own http://127.0.0.1:9000/api/webhooks/1/abc',
    'public https://discord.com.shop.example/hook',
    'public https://shop.example/discord.com',
  ]);
  expect(outbound.faultOf('http://127.0.0.1:9000/')).toBe('must begin with https://');
});

it.each([
  ['http://127.0.0.1:9000', 'must begin with https://'],
  ['https://localhost', 'must be a public name, such as shop.example'],
  ['discord', 'must be an address such as https://discord.com, not "discord".'],
])(
  'a deployment sends nothing to Discord while DISCORD_URL is %s, and says why [8.4.5]',
  async (DISCORD_URL, fault) => {
    const { sent, OUTBOUND } = networks();
    const outbound = new Outbound({ OUTBOUND, DISCORD_URL });
    expect(outbound.discordFault).toBe(fault);
    const { durationMs, ...outcome } = await outbound.send('https://discord.com/api', {
      headers: {},
    });
    expect(outcome).toEqual({ error: `DISCORD_URL ${fault}` });
    await outbound.send('https://shop.example/', { headers: {} });
    expect(sent).toEqual(['public https://shop.example/']);
  },
);
