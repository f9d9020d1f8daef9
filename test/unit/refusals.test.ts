import { RESPONSE_TYPES, type ResponseType } from '@licet/contract/outcomes';
import {
  countUnknownKeys,
  explainRefusal,
  type Refusal,
  type RefusedLicense,
} from '@licet/contract/refusals';
import { expect, it } from 'vitest';

/** The reasons of refusals and their fixes, which the console and assistants share [decision 12]. */

const refusal = (responseType: ResponseType, values: Partial<Refusal> = {}): Refusal => ({
  responseType,
  productId: 1,
  ip: '198.51.100.7',
  hwid: 'machine-9',
  ...values,
});

const license: RefusedLicense = {
  licenseStatus: 'ACTIVE',
  productId: 1,
  ips: ['192.0.2.1'],
  hwids: ['machine-1'],
  maxIPs: 1,
  maxHWIDs: 1,
};

it('each outcome has its fixes, the best first', () => {
  const fixes = RESPONSE_TYPES.map((type) => [type, explainRefusal(refusal(type)).fixes]);
  expect(Object.fromEntries(fixes)).toEqual({
    INVALID_REQUEST: [],
    RATE_LIMITED: [],
    IP_BLACKLISTED: ['unblock'],
    HWID_BLACKLISTED: ['unblock'],
    LICENSE_NOT_FOUND: [],
    PRODUCT_MISMATCH: ['moveProduct'],
    LICENSE_DELETED: ['restore'],
    LICENSE_DEACTIVATED: ['reactivate'],
    LICENSE_EXPIRED: ['extend'],
    MAX_IPS_REACHED: ['freeSlot', 'raiseLimit'],
    MAX_HWIDS_REACHED: ['freeSlot', 'raiseLimit'],
    VALID: [],
    ERROR: [],
  });
});

it.each<[ResponseType, Partial<RefusedLicense>]>([
  ['LICENSE_EXPIRED', {}],
  ['LICENSE_DEACTIVATED', { licenseStatus: 'EXPIRED' }],
  ['LICENSE_DELETED', { licenseStatus: 'DEACTIVATED' }],
  ['PRODUCT_MISMATCH', { productId: 1 }],
  ['MAX_IPS_REACHED', { ips: [] }],
  ['MAX_IPS_REACHED', { maxIPs: -1 }],
  ['MAX_HWIDS_REACHED', { hwids: ['machine-9'] }],
])('a refusal for %s has no fix once the license is %o', (type, values) => {
  const explained = explainRefusal(refusal(type), { license: { ...license, ...values } });
  expect(explained).toMatchObject({ isStillRefused: false, fixes: [] });
});

it('a refusal for want of a slot holds while other values have all slots', () => {
  expect(explainRefusal(refusal('MAX_IPS_REACHED'), { license })).toMatchObject({
    name: 'No free address slot',
    isStillRefused: true,
    fixes: ['freeSlot', 'raiseLimit'],
  });
});

it('an address that has sent three different unknown keys may be blocked', () => {
  const sent = ['A', 'B', 'B', 'C'].map((licenseKey) => ({
    ...refusal('LICENSE_NOT_FOUND'),
    licenseKey,
  }));
  const unknownKeys = countUnknownKeys(sent).get('198.51.100.7');
  expect(unknownKeys).toBe(3);
  const fixesWith = (values: Partial<Refusal>, count: number) =>
    explainRefusal(refusal('LICENSE_NOT_FOUND', values), { unknownKeys: count }).fixes;
  expect(fixesWith({}, 3)).toEqual(['block']);
  expect(fixesWith({}, 2)).toEqual([]);
  expect(fixesWith({ ip: null }, 3)).toEqual([]);
});
