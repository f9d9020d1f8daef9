import { expect, it } from 'vitest';
import { licenseSnapshot } from '../../src/cache/snapshots.ts';
import { EXPIRES_LATER } from '../../src/resources/licenses/rules.ts';
import type { LicenseSnapshot } from '../../src/resources/licenses/snapshot.ts';

const WAITING: LicenseSnapshot = {
  id: 7,
  revision: 1,
  productId: 602,
  state: 'ACTIVE',
  expiresAt: EXPIRES_LATER,
  expiresAfterDays: 30,
  maxIPs: 1,
  maxHWIDs: 1,
  ips: [],
  hwids: [],
  totalRequests: 0,
  entitlements: null,
  entitlementsExpire: null,
};

it('a published snapshot of a waiting license that lacks its days is none', () => {
  const text = licenseSnapshot.encode(WAITING);
  expect(licenseSnapshot.decode(text)).toMatchObject(WAITING);
  // The version before has published it so.
  const { expiresAfterDays, ...before } = JSON.parse(text);
  expect(expiresAfterDays).toBe(30);
  for (const old of [before, { ...before, expiresAfterDays: null }]) {
    expect(licenseSnapshot.decode(JSON.stringify(old))).toBeNull();
  }
  const started = { ...WAITING, expiresAt: 1, expiresAfterDays: null };
  expect(licenseSnapshot.decode(licenseSnapshot.encode(started))).toMatchObject(started);
});
