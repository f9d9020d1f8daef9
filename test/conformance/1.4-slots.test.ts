import { env } from 'cloudflare:workers';
import { afterEach, expect, it, vi } from 'vitest';
import { newIsolate, settled } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type License,
  updateLicense,
} from '../support/client.ts';
import { importOne } from '../support/import.ts';
import { askFor, openShop } from '../support/shop.ts';

/** Addresses that take slots, and those that share one [decisions 1.2, 1.4]. */

const { newLicense } = openShop();
afterEach(settled);

/** An isolate that knows nothing: only D1 has the bindings. */
const newReader = (setting = {}) => newIsolate({ SNAPSHOTS: undefined, ...setting });

/** Bindings as an earlier version stored them. */
async function store({ id }: License, ips: readonly string[]): Promise<void> {
  await env.DB.prepare(
    `insert into bindings (license_id, type, value, position, used_at)
     select ?1, 'IP', value, key + 1, 0 from json_each(?2)`,
  )
    .bind(id, JSON.stringify(ips))
    .run();
}

const storedOf = async ({ id }: License): Promise<unknown[]> => {
  const { results } = await env.DB.prepare(
    `select value from bindings where license_id = ? and type = 'IP' order by position`,
  )
    .bind(id)
    .all();
  return results.map(({ value }) => value);
};

const PUBLIC = '203.0.113.9';

/** The message of a validation from an address; the connecting one is another. */
async function ask(
  license: License,
  ip: string,
  isolate = newReader(),
  connecting = PUBLIC,
): Promise<string> {
  const headers = { 'CF-Connecting-IP': connecting };
  const { json, recorded } = await isolate.validate(askFor(license, { ip }), { headers });
  await recorded;
  return Object(json).message;
}
const VALID = 'License is valid';
const FULL = 'Max IPs reached';

it.each(['172.18.0.5', '0.0.0.0', 'fe80::1', '100.64.3.4', 'fd00::7'])(
  'a license that was bound to %s elsewhere has its slot for the address of a machine [1.2.31]',
  async (local) => {
    const license = await newLicense({ maxIPs: 1 });
    await store(license, [local]);
    // The program sends what it always sent.
    expect(await ask(license, local)).toBe(VALID);
    expect((await get.license(license.id)).ips).toEqual([local, PUBLIC]);
    expect(await ask(license, local)).toBe(VALID);
    expect(await ask(license, '198.51.100.7')).toBe(FULL);
  },
);

it('programs that connect from a private network have slots of their own, as many as the license [1.2.31]', async () => {
  const license = await newLicense({ maxIPs: 2 });
  const asking = ['10.0.0.1', '10.0.0.2', 'fd00::3', '10.0.0.1'];
  const messages = [];
  for (const from of asking) messages.push(await ask(license, '', newReader(), from));
  expect(messages).toEqual([VALID, VALID, FULL, VALID]);
  expect(await ask(license, PUBLIC)).toBe(VALID);
});

const isListedFull = async ({ id, productId }: License): Promise<boolean> => {
  const { json } = await call(
    'GET',
    `/api/v2/licenses?productId=${productId}&full=true&limit=1000`,
  );
  return Array.isArray(json) && json.some((one) => one.id === id);
};

it('a license in a private network is listed as full once its programs find no slot, and not for addresses that others replaced [1.2.31, 3.34]', async () => {
  const license = await newLicense({ maxIPs: 2 });
  for (const [from, message, isFull] of [
    ['10.0.0.1', VALID, false],
    ['fd00::2', VALID, true],
    ['10.0.0.3', FULL, true],
    [PUBLIC, VALID, false],
    ['192.0.2.30', VALID, true],
    ['192.0.2.31', FULL, true],
  ] as const) {
    expect(await ask(license, '', newReader(), from), from).toBe(message);
    expect(await isListedFull(license), from).toBe(isFull);
  }
});

it('a license that was found full of one kind of address has its idle slots of the other kind [1.7.29, 7.2.2]', async () => {
  const { id: productId } = await create.product({ ipIdleDays: 7 });
  const license = await create.license({ productId, maxIPs: 1, maxHWIDs: -1 });
  const isolate = newReader();
  expect(await ask(license, PUBLIC, isolate)).toBe(VALID);
  // Unused for longer than that.
  await store(license, ['10.0.0.1']);
  const other = newReader();
  expect(await ask(license, '192.0.2.40', other)).toBe(FULL);
  expect(await ask(license, '', other, '10.0.0.2')).toBe(VALID);
  expect(await ask(license, '192.0.2.40', other)).toBe(FULL);
  expect(await storedOf(license)).toEqual([PUBLIC, '10.0.0.2']);
});

it('POST, PUT and a batch refuse new addresses that identify no machine, and take stored ones [1.2.29]', async () => {
  const license = await newLicense({ maxIPs: 2 });
  await store(license, ['172.18.0.5']);
  const message = /^ips must not have 10\.0\.0\.7, which is .* leave it out$/;
  const path = `/api/v2/licenses/${license.id}`;
  for (const ips of [['10.0.0.7'], ['172.18.0.5', '::ffff:10.0.0.7'], ['2002:a00:7::1', '::1']]) {
    const refused = await call('PUT', path, { body: { ips } });
    expect(refused.status).toBe(400);
    if (ips.join().includes('10.0.0.7')) expectError(refused, 400, message);
    expect(refused.headers.get('Error-Field')).toBe('ips');
  }
  const body = { productId: license.productId, licenseType: 'PERMANENT', ips: ['10.0.0.7'] };
  expectError(await call('POST', '/api/v2/licenses', { body }), 400, message);
  expectError(
    await call('POST', '/api/v2/licenses/batch', { body: { ...body, count: 1 } }),
    400,
    message,
  );
  const all = await get.license(license.id);
  const same = await call('PUT', path, { body: all });
  expect(same.status, same.text).toBe(200);
  const { ips } = await updateLicense(license.id, {
    ips: ['172.18.0.5', '64:ff9b::198.51.100.7', '198.51.100.8'],
  });
  expect(ips).toEqual(['172.18.0.5', '198.51.100.7', '198.51.100.8']);
});

it('an import leaves out addresses that identify no machine, and reports them [1.2.30]', async () => {
  const { productId } = await newLicense();
  const item = { licenseKey: crypto.randomUUID(), productId, licenseType: 'PERMANENT', maxIPs: 1 };
  const ips = ['172.18.0.5', '2a01:1:2:3::1', '2a01:1:2:3::2', '64:ff9b::10.0.0.1'];
  const imported = await importOne('licenses', { ...item, ips });
  const what = 'is a private or reserved address and identifies no machine';
  expect(imported).toMatchObject({
    outcome: 'created',
    differences: ['ips'],
    reason: `ips[0] "172.18.0.5" ${what}; ips[2] "2a01:1:2:3::2" shares the slot of ips[1]; ips[3] "64:ff9b::10.0.0.1" ${what}`,
  });
  const license = await get.license(imported.id ?? 0);
  expect(license.ips).toEqual(['2a01:1:2:3::1']);
  expect(await importOne('licenses', { ...item, ips })).toMatchObject({ outcome: 'unchanged' });
  expect(await ask(license, '2a01:1:2:3::9')).toBe(VALID);
});

it('an import of a license with its stored addresses finds it unchanged', async () => {
  const license = await newLicense({ maxIPs: 1 });
  await store(license, ['172.18.0.5', PUBLIC]);
  expect(await importOne('licenses', await get.license(license.id))).toMatchObject({
    outcome: 'unchanged',
  });
});

it('IPv6 addresses of one /64 share a slot, which shows the first; the history keeps them whole [1.4.15, 1.4.16]', async () => {
  const license = await newLicense({ maxIPs: 2 });
  const isolate = newReader();
  const addresses = [
    '198.51.100.7',
    '2001:db8:1:2::10',
    '2001:db8:1:2::11',
    '2001:db8:1:2:a:b:c:d',
  ];
  for (const ip of addresses) expect(await ask(license, ip, isolate), ip).toBe(VALID);
  expect(await ask(license, '2001:db8:1:3::10', isolate)).toBe(FULL);
  expect((await get.license(license.id)).ips).toEqual(addresses.slice(0, 2));
  const records = await historyOf({ licenseKey: license.licenseKey }, 5);
  expect(records.map(({ ip }) => ip)).toEqual([...addresses, '2001:db8:1:3::10'].toReversed());
  await create.blacklist({ data: '2001:db8:1:2::11' });
  const blocked = newReader();
  expect(await ask(license, '2001:db8:1:2::11', blocked)).toBe('IP address is blacklisted');
  expect(await ask(license, '2001:db8:1:2::12', blocked)).toBe(VALID);
});

it('50 parallel first requests from ten IPv6 networks bind five networks, each once [1.4.9, 1.4.15]', async () => {
  const license = await newLicense({ maxIPs: 5 });
  const asking = Array.from(
    { length: 50 },
    (_, index) => `2a01:4:4:${1 + (index % 10)}::${index + 1}`,
  );
  const isolates = [newReader(), newReader(), newReader()];
  const messages = await Promise.all(
    asking.map((ip, index) => ask(license, ip, isolates[index % 3])),
  );
  const networkOf = (ip: string) => ip.split('::')[0];
  const valid = asking.filter((_, index) => messages[index] === VALID);
  expect(new Set(valid.map(networkOf)).size).toBe(5);
  expect(valid).toHaveLength(25);
  const stored = await storedOf(license);
  expect(stored).toHaveLength(5);
  expect(new Set(stored.map((ip) => networkOf(String(ip))))).toEqual(new Set(valid.map(networkOf)));
});

it.each([
  { setting: '48', other: '2001:db8:1:ffff::1', beyond: '2001:db8:2::1' },
  { setting: '56', other: '2001:db8:1:f2::1', beyond: '2001:db8:1:100::1' },
  { setting: '63', other: '2001:db8:1:1::1', beyond: '2001:db8:1:2::1' },
  { setting: '128', other: '2001:db8:1::1', beyond: '2001:db8:1::2' },
])('IPV6_SLOT_PREFIX=$setting counts so many bits [1.4.15]', async ({ setting, other, beyond }) => {
  const license = await newLicense({ maxIPs: 1 });
  const isolate = newReader({ IPV6_SLOT_PREFIX: setting });
  expect(await ask(license, '2001:db8:1::1', isolate)).toBe(VALID);
  expect(await ask(license, other, isolate)).toBe(VALID);
  expect(await ask(license, beyond, isolate)).toBe(FULL);
  expect(await storedOf(license)).toEqual(['2001:db8:1::1']);
});

it.each(['47', '129', 'none', ''])(
  'IPV6_SLOT_PREFIX=%j is logged, and 64 is used',
  async (setting) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const license = await newLicense({ maxIPs: 1 });
    const isolate = newReader({ IPV6_SLOT_PREFIX: setting });
    for (const ip of ['2001:db8:1::1', '2001:db8:1::2']) {
      expect(await ask(license, ip, isolate)).toBe(VALID);
    }
    expect(await ask(license, '2001:db8:1:1::1', isolate)).toBe(FULL);
    expect(String(log.mock.calls)).toContain(
      `IPV6_SLOT_PREFIX must be 48 to 128, not \\"${setting}\\": 64 is used`,
    );
    log.mockRestore();
  },
);

it('a PUT of addresses that share a slot stores the first, and a bound one counts as bound [1.4.17]', async () => {
  const license = await newLicense({ maxIPs: 1, ips: ['2a01:9::1', '2a01:9::2'] });
  expect(license.ips).toEqual(['2a01:9::1']);
  // The slot is taken, but by an address of the same network.
  expect((await updateLicense(license.id, { ips: ['2a01:9::3', '2a01:9::1'] })).ips).toEqual([
    '2a01:9::3',
  ]);
  const more = await call('PUT', `/api/v2/licenses/${license.id}`, {
    body: { ips: ['2a01:9::3', '2a01:9:0:1::3'] },
  });
  expectError(more, 400, 'ips must be at most 1 in number, the limit in maxIPs');
});

it('addresses of one slot that an earlier version stored count once, stay at a PUT, and go together [1.4.18]', async () => {
  const license = await newLicense({ maxIPs: 2 });
  const old = ['2a01:7::1', '2a01:7::2', '2a01:7::3'];
  await store(license, old);
  const shown = await get.license(license.id);
  expect(shown.ips).toEqual(['2a01:7::1']);
  expect((await updateLicense(license.id, { ...shown, notes: 'Moved' })).ips).toEqual(shown.ips);
  expect(await storedOf(license)).toEqual(old);
  const listOf = async (full: boolean): Promise<unknown> => {
    const query = `productId=${license.productId}&full=${full}&limit=1000`;
    const { json } = await call('GET', `/api/v2/licenses?${query}`);
    return Array.isArray(json) && json.some(({ id }) => id === license.id);
  };
  expect(await listOf(false)).toBe(true);
  const slots = await call('GET', `/api/v2/licenses/${license.id}/slots`);
  expect(slots.json).toMatchObject([{ type: 'IP', value: '2a01:7::1' }]);
  for (const ip of [...old, '2a01:7::4', '192.0.2.77']) expect(await ask(license, ip)).toBe(VALID);
  expect(await ask(license, '192.0.2.78')).toBe(FULL);
  expect(await listOf(true)).toBe(true);
  await updateLicense(license.id, { ips: ['192.0.2.77'] });
  expect(await storedOf(license)).toEqual(['192.0.2.77']);
});

it('an address that a PUT has bound stays, whatever an isolate still knows of its slot [1.4.18]', async () => {
  const license = await newLicense({ maxIPs: 2 });
  await store(license, ['2a01:8::1', '2a01:8::2']);
  const isolate = newReader();
  expect(await ask(license, '2a01:8::1', isolate)).toBe(VALID);
  await updateLicense(license.id, { ips: ['2a01:8::2'] });
  expect(await ask(license, '192.0.2.80', isolate)).toBe(VALID);
  expect(await storedOf(license)).toEqual(['2a01:8::2', '192.0.2.80']);
});
