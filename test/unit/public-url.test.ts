import { expect, it } from 'vitest';
import { consoleHostsIn, publicUrlFault, publicUrlOf } from '../../src/lib/public-url.ts';

const PUBLIC_URL = 'https://license.example.com';
const NAMED = { origin: PUBLIC_URL, isPublic: true };

it.each([
  ['PUBLIC_URL', { PUBLIC_URL, CONSOLE_HOSTS: 'console.example' }],
  ['PUBLIC_URL with a final slash and blanks', { PUBLIC_URL: ` ${PUBLIC_URL}/ ` }],
  ['the first of CONSOLE_HOSTS', { CONSOLE_HOSTS: ' License.example.com, console.example' }],
  [
    'the first of CONSOLE_HOSTS, beside an empty PUBLIC_URL',
    { PUBLIC_URL: '', CONSOLE_HOSTS: 'license.example.com' },
  ],
  [
    'the first of CONSOLE_HOSTS, beside a wrong PUBLIC_URL',
    { PUBLIC_URL: 'http://license.example.com', CONSOLE_HOSTS: 'license.example.com' },
  ],
])(
  'the address of the service is %s, whatever the host of the request is [3.3.2]',
  (_, settings) => {
    for (const host of ['localhost:8787', '[::1]:8787', 'other.example', '203.0.113.9']) {
      expect(publicUrlOf(settings, `http://${host}/api/v2/markets?limit=1`), host).toEqual(NAMED);
    }
  },
);

it('a host of CONSOLE_HOSTS keeps its port', () => {
  expect(publicUrlOf({ CONSOLE_HOSTS: 'license.example.com:8443' }, 'http://localhost/')).toEqual({
    origin: `${PUBLIC_URL}:8443`,
    isPublic: true,
  });
});

it.each([
  ['http://license.example.com/my', PUBLIC_URL],
  ['https://license.example.com/my', PUBLIC_URL],
  ['http://LICENSE.example.com:8787/my', `${PUBLIC_URL}:8787`],
  ['http://192.0.2.7/', 'https://192.0.2.7'],
  ['http://[2001:db8::7]:8787/', 'https://[2001:db8::7]:8787'],
  ['http://localhost.example.com/', 'https://localhost.example.com'],
  ['http://local.example/', 'https://local.example'],
])('without a setting, %s has the address %s [3.3.2]', (requestUrl, origin) => {
  for (const settings of [{}, { PUBLIC_URL: '', CONSOLE_HOSTS: '' }]) {
    expect(publicUrlOf(settings, requestUrl)).toEqual({ origin, isPublic: true });
  }
});

it.each([
  'http://localhost:8787',
  'http://localhost.',
  'http://127.0.0.1:8787',
  'http://127.9.9.9',
  'http://0.0.0.0:8787',
  'http://10.1.2.3',
  'http://172.16.0.1',
  'http://192.168.1.5:8787',
  'http://169.254.1.1',
  'http://100.64.0.1',
  'http://100.127.255.255',
  'http://[::1]:8787',
  'http://[::]',
  'http://[fd00::1]:8787',
  'http://[fe80::1]',
  'http://[::ffff:10.0.0.1]',
  'http://licet:8787',
  'http://licet.local',
  'http://licet.internal:8787',
  'http://licet.lan',
  'http://licet.home.arpa',
  'https://licet.local',
])(
  'only the machine or its network can open %s, as the request or as a setting [3.3.3]',
  (origin) => {
    const known = { origin: new URL(origin).origin, isPublic: false };
    expect(publicUrlOf({}, `${origin}/my`)).toEqual(known);
    expect(publicUrlOf({ PUBLIC_URL: origin }, 'http://license.example.com/')).toEqual(known);
    const host = new URL(origin).host;
    expect(publicUrlOf({ CONSOLE_HOSTS: host }, 'http://license.example.com/')).toMatchObject({
      isPublic: false,
    });
  },
);

it('the own name of the console on this machine is in no address [3.3.4]', () => {
  const requestUrl = 'http://licet-8787-6e60282719e0.localhost:8787/api/v2/markets';
  expect(publicUrlOf({}, requestUrl)).toEqual({
    origin: 'http://localhost:8787',
    isPublic: false,
  });
});

it.each([
  ['license.example.com', 'an address such as https://license.example.com'],
  ['license.example.com:8443', 'an address such as https://license.example.com'],
  ['https://', 'an address such as'],
  ['ftp://license.example.com', 'an address such as'],
  [true, 'an address such as'],
  [8787, 'an address such as'],
  [[PUBLIC_URL], 'an address such as'],
  ['https://license.example.com/licet', 'no path: https://license.example.com'],
  ['https://license.example.com/?a=1', 'no path'],
  ['https://license.example.com?', 'no path'],
  ['https://license.example.com/#', 'no path'],
  ['http://license.example.com', 'https://license.example.com'],
  ['http://192.0.2.7:8787', 'https://192.0.2.7:8787'],
])('%j is no PUBLIC_URL: it must be or have %s [3.3.5]', (value, remedy) => {
  expect(publicUrlFault(value)).toContain(remedy);
  expect(publicUrlOf(Object({ PUBLIC_URL: value }), 'http://shop.example/')).toEqual({
    origin: 'https://shop.example',
    isPublic: true,
  });
});

it('a PUBLIC_URL with a password is rejected, and the message does not repeat it', () => {
  const fault = publicUrlFault('https://ada:secret@license.example.com');
  expect(fault).toBe('must have no user name: write the scheme and the host alone.');
});

it.each([
  ['', 'license.example.com', ['license.example.com']],
  ['Console.example, console.example:8443', '', ['console.example', 'console.example:8443']],
  ['console.example', 'license.example.com', ['console.example', 'license.example.com']],
])('people log in under CONSOLE_HOSTS %j and the host %j of PUBLIC_URL', (hosts, host, all) => {
  const settings = { CONSOLE_HOSTS: hosts, PUBLIC_URL: host && `https://${host}` };
  expect(consoleHostsIn(settings)).toEqual(all);
});

it('people log in under no host of a PUBLIC_URL with http, whose cookies other servers get [4.12]', () => {
  expect(consoleHostsIn({ CONSOLE_HOSTS: '', PUBLIC_URL: 'http://localhost:8787' })).toEqual([]);
});

it('without CONSOLE_HOSTS, as at Cloudflare, people log in under each host [4.14]', () => {
  expect(consoleHostsIn({ PUBLIC_URL })).toBeUndefined();
});
