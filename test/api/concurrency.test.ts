import { expect, it } from 'vitest';
import { get, validate } from '../support/client.ts';
import { openShop } from '../support/shop.ts';

/**
 * Strict limits under parallel first requests, in the real runtime on the real D1 (decisions 1.4). The simulation
 * proves them between isolates, and while administrators change the license.
 */

const { newLicense } = openShop();

interface Visitor {
  ip?: string;
  hwid?: string;
}

const visitors = (visitorOf: (number: number) => Visitor): Visitor[] =>
  Array.from({ length: 50 }, (_, number) => visitorOf(number));

it.each([
  {
    kind: 'addresses',
    asking: visitors((number) => ({ ip: `11.50.0.${number}` })),
    limits: { maxIPs: 5, maxHWIDs: -1 },
    message: 'Max IPs reached',
  },
  {
    kind: 'hardware IDs',
    asking: visitors((number) => ({ hwid: `hwid-${number}` })),
    limits: { maxIPs: -1, maxHWIDs: 5 },
    message: 'Max HWIDs reached',
  },
  {
    kind: 'addresses with one hardware ID',
    asking: visitors((number) => ({ ip: `11.50.0.${number}`, hwid: 'shared' })),
    limits: { maxIPs: 5, maxHWIDs: 1 },
    message: 'Max IPs reached',
  },
  {
    kind: 'addresses, each with a hardware ID, of which more are free',
    asking: visitors((number) => ({ ip: `11.50.0.${number}`, hwid: `hwid-${number}` })),
    limits: { maxIPs: 5, maxHWIDs: 9 },
    message: 'Max IPs reached',
  },
])(
  'exactly 5 are valid and exactly 5 are stored: $kind [1.4.6, 1.4.9]',
  async ({ asking, limits, message }) => {
    const { id, licenseKey, productId } = await newLicense(limits);
    const responses = await Promise.all(
      asking.map((visitor) => validate({ licenseKey, productId, ...visitor })),
    );
    const valid = asking.filter((_, index) => responses[index]?.status === 200);
    expect(valid).toHaveLength(5);
    for (const { status, json } of responses) {
      if (status !== 200) expect(json).toEqual({ valid: false, message });
    }

    const bound = (name: 'ip' | 'hwid') => new Set(valid.flatMap((visitor) => visitor[name] ?? []));
    const { ips, hwids } = await get.license(id);
    expect(new Set(ips)).toEqual(limits.maxIPs === -1 ? new Set() : bound('ip'));
    expect(new Set(hwids)).toEqual(limits.maxHWIDs === -1 ? new Set() : bound('hwid'));
    expect(ips.length + hwids.length).toBe(bound('ip').size + bound('hwid').size);
  },
);
