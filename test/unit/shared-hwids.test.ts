import { createHash } from 'node:crypto';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { describe, expect, it } from 'vitest';

const NOTHING = 'it is the hash of an empty text';
const FIRMWARE = 'it is a placeholder of the firmware';
const FAILED = 'programs send it when their look-up fails';

describe('hardware IDs that many machines share [3.80]', () => {
  it.each(['md5', 'sha1', 'sha256', 'sha384', 'sha512'])(
    'the %s of an empty text is a hardware ID that many machines share',
    (name) => {
      const hash = createHash(name).digest('hex');
      for (const form of [hash, hash.toUpperCase(), ` ${hash.match(/.{4}/g)?.join('-')}\n`]) {
        expect(sharedHwid(form), form).toBe(NOTHING);
      }
    },
  );

  it.each(['md5', 'sha1', 'sha256'])(
    'the %s of an empty text in base64 is a hardware ID that many machines share',
    (name) => {
      expect(sharedHwid(createHash(name).digest('base64'))).toBe(NOTHING);
    },
  );

  it.each([
    'To be filled by O.E.M.',
    'TO BE FILLED BY O.E.M',
    'Default string',
    'System Serial Number',
    'Not Applicable',
    '00000000-0000-0000-0000-000000000000',
    'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
    '{00000000-0000-0000-0000-000000000000}',
    '03000200-0400-0500-0006-000700080009',
    '00:00:00:00:00:00',
    'ff:ff:ff:ff:ff:ff',
    '02:00:00:00:00:00',
    '0',
    'xxxxxxxx',
  ])('the placeholder %s is a hardware ID that many machines share', (hwid) => {
    expect(sharedHwid(hwid)).toBe(FIRMWARE);
  });

  it.each([
    'Unknown',
    'null',
    'HWID-unknown',
    'None-None',
    'none',
    'undefined',
    'NaN',
    'N/A',
    'Error',
    'default-hwid',
    '[object Object]',
    'System.Byte[]',
    '[B@1b6d3586',
    'java.lang.Object@6d06d69c',
  ])('%s, of a look-up that failed, is a hardware ID that many machines share', (hwid) => {
    expect(sharedHwid(hwid)).toBe(FAILED);
  });

  it.each([
    ['22A5A71EBB6BFC6CB2DF491F975BE0F0 ', 'root'],
    ['574986f390d9c0d036ef1ae6ae9b7531', 'minecraft'],
  ])(
    '%s, which an old wrapper sends for the user %s, is a hardware ID that many machines share',
    (hwid, user) => {
      expect(sharedHwid(hwid)).toBe(
        `an old Java wrapper sends it from each Linux server of the user ${user}`,
      );
    },
  );
});

it.each([
  '4c4c4544-0051-3510-8052-b4c04f4a3132',
  '00:1a:2b:3c:4d:5e',
  'board-9',
  'root',
  'unknown-machine-7',
  '0000-0000-0001',
  createHash('sha256').update('x').digest('hex'),
])('the hardware ID %s is that of one machine [3.80]', (hwid) => {
  expect(sharedHwid(hwid)).toBeUndefined();
});
