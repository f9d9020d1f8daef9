import { describe, expect, it } from 'vitest';
import {
  type Answer,
  call,
  getLicense,
  type License,
  updateLicense,
  validate,
} from '../support/client';
import { openShop } from '../support/shop';

/** Strict limits under parallel first requests, in the real runtime on the real D1 (decisions 1.4). */

const { newLicense } = openShop();

interface Visitor {
  ip?: string;
  hwid?: string;
}

const ADDRESSES = Array.from({ length: 50 }, (_, index) => `10.50.0.${index}`);
const HWIDS = Array.from({ length: 50 }, (_, index) => `hwid-${index}`);

/** All at once, to a new license with these limits. */
async function rush(limits: { maxIPs: number; maxHWIDs: number }, visitors: Visitor[]) {
  const license = await newLicense(limits);
  const answers = await Promise.all(visitors.map((visitor) => ask(license, visitor)));
  const validOnes = visitors.filter((_, index) => answers[index]?.status === 200);
  const refusals = answers.filter(({ status }) => status !== 200);
  return { license: await getLicense(license.id), answers, validOnes, refusals };
}

const ask = ({ licenseKey, productId }: License, visitor: Visitor): Promise<Answer> =>
  validate({ licenseKey, productId, ...visitor });

/** The addresses whose requests, one for each of ADDRESSES, were valid. */
const acceptedOf = (answers: Answer[]): string[] =>
  ADDRESSES.filter((_, index) => answers[index]?.status === 200);

const bodies = (answers: Answer[]) => new Set(answers.map(({ text }) => text));
const refusedWith = (...messages: string[]) =>
  new Set(messages.map((message) => JSON.stringify({ valid: false, message })));

describe('of 50 parallel first requests against a limit of 5', () => {
  it.each([
    {
      kind: 'addresses',
      visitors: ADDRESSES.map((ip): Visitor => ({ ip })),
      limits: { maxIPs: 5, maxHWIDs: -1 },
      message: 'Max IPs reached',
    },
    {
      kind: 'hardware IDs',
      visitors: HWIDS.map((hwid): Visitor => ({ hwid })),
      limits: { maxIPs: -1, maxHWIDs: 5 },
      message: 'Max HWIDs reached',
    },
    {
      kind: 'addresses with one hardware ID',
      visitors: ADDRESSES.map((ip): Visitor => ({ ip, hwid: 'shared' })),
      limits: { maxIPs: 5, maxHWIDs: 1 },
      message: 'Max IPs reached',
    },
  ])('exactly 5 are valid and exactly 5 are stored: $kind', async (of) => {
    const { license, validOnes, refusals } = await rush(of.limits, of.visitors);
    expect(validOnes).toHaveLength(5);
    expect(bodies(refusals)).toEqual(refusedWith(of.message));

    const expected = (name: 'ip' | 'hwid') =>
      new Set(validOnes.map((visitor) => visitor[name]).filter((value) => value !== undefined));
    if (of.limits.maxIPs !== -1) expect(new Set(license.ips)).toEqual(expected('ip'));
    if (of.limits.maxHWIDs !== -1) expect(new Set(license.hwids)).toEqual(expected('hwid'));
    expect(license.ips.length + license.hwids.length).toBe(
      expected('ip').size + expected('hwid').size,
    );
  });

  it.each([
    { maxIPs: 5, maxHWIDs: 5, accepted: 5 },
    { maxIPs: 5, maxHWIDs: 3, accepted: 3 },
    { maxIPs: 2, maxHWIDs: 5, accepted: 2 },
    { maxIPs: 5, maxHWIDs: 0, accepted: 0 },
  ])(
    'an address and its hardware ID are bound together or not at all: $maxIPs and $maxHWIDs',
    async ({ accepted, ...limits }) => {
      const pairs = ADDRESSES.map((ip, index) => ({ ip, hwid: HWIDS[index] ?? '' }));
      const { license, validOnes } = await rush(limits, pairs);
      expect(validOnes).toHaveLength(accepted);
      const partners = license.ips.map((ip) => pairs.find((pair) => pair.ip === ip)?.hwid);
      expect(license.hwids).toEqual(partners);
      expect(new Set(license.ips)).toEqual(new Set(validOnes.map(({ ip }) => ip)));
    },
  );
});

describe('concurrent repetitions', () => {
  it('of ten visitors agree: all five of a visitor are valid, or none', async () => {
    const tenOften = Array.from({ length: 50 }, (_, index) => ({
      ip: ADDRESSES[index % 10] ?? '',
      hwid: HWIDS[index % 10] ?? '',
    }));
    const { license, validOnes } = await rush({ maxIPs: 5, maxHWIDs: 5 }, tenOften);
    expect(license.ips).toHaveLength(5);
    expect(license.hwids).toHaveLength(5);
    expect(validOnes).toHaveLength(25);
    expect(new Set(validOnes.map(({ ip }) => ip))).toEqual(new Set(license.ips));
  });
});

describe('changes by an administrator while programs claim', () => {
  const put = ({ id }: License, body: object) => call('PUT', `/api/v2/licenses/${id}`, { body });

  it('lose no binding, and no claim loses a change', async () => {
    const license = await newLicense({ maxIPs: 20, maxHWIDs: -1 });
    const visitors = ADDRESSES.slice(0, 20);
    const changes = [
      { notes: 'changed' },
      { ownerChatUsername: 'changed' },
      { licensePlatformOther: 'changed' },
    ];
    const [answers, puts] = await Promise.all([
      Promise.all(visitors.map((ip) => ask(license, { ip }))),
      Promise.all(changes.map((change) => put(license, change))),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(visitors.map(() => 200));
    expect(puts.map(({ status }) => status)).toEqual([200, 200, 200]);
    const after = await getLicense(license.id);
    expect(new Set(after.ips)).toEqual(new Set(visitors));
    for (const change of changes) expect(after).toMatchObject(change);
  });

  it('never let more be bound than the limit that was lowered meanwhile', async () => {
    const license = await newLicense({ maxIPs: 50, maxHWIDs: -1 });
    const [answers, lowered] = await Promise.all([
      Promise.all(ADDRESSES.map((ip) => ask(license, { ip }))),
      updateLicense(license.id, { maxIPs: 0 }),
    ]);
    const late = await ask(license, { ip: '10.52.0.1' });
    expect(bodies([...answers, late].filter(({ status }) => status !== 200))).toEqual(
      refusedWith('Max IPs reached'),
    );
    // What the PUT found bound is all that ever is, and who was told so is in it.
    const { ips } = await getLicense(license.id);
    expect(ips).toEqual(lowered.ips);
    expect(new Set(ips)).toEqual(new Set(acceptedOf(answers)));
  });

  it('accept again exactly 5 after all slots are freed in the middle', async () => {
    const license = await newLicense({ maxIPs: 5, maxHWIDs: -1 });
    const ask50 = () => Promise.all(ADDRESSES.map((ip) => ask(license, { ip })));
    expect(acceptedOf(await ask50())).toHaveLength(5);

    const [before] = await Promise.all([ask50(), updateLicense(license.id, { ips: [] }), ask50()]);
    // Each was judged before the slots were freed or after: at most 5 and 5.
    expect(acceptedOf(before).length).toBeLessThanOrEqual(10);

    const accepted = acceptedOf(await ask50());
    expect(accepted).toHaveLength(5);
    expect(new Set((await getLicense(license.id)).ips)).toEqual(new Set(accepted));
    expect((await ask(license, { ip: '10.53.0.1' })).status).toBe(400);
  });
});
