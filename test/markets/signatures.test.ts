import { dynamicSettings } from '@licet/contract/dynamic-market';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import { MARKET_KINDS, type MarketKind } from '@licet/contract/enums';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/channels/markets/adapters.ts';
import { isSigned } from '../../src/channels/markets/signature.ts';
import { sha256Hex } from '../../src/lib/sha256.ts';
import { hmac, incoming, NOW, OTHER_SECRET, readBy, SECRET, settingsOf } from './samples.ts';

/** The signatures of the markets: the vectors of their documents, and each wrong in every way. */

const T = String(NOW / 1000);
const VECTOR = String.raw`{"id":"evt_1","url":"https:\/\/example.com\/p","n":1}`;

interface Signed {
  name: string;
  kind: MarketKind;
  preset?: keyof typeof DYNAMIC_PRESETS;
  /** The header with the signature. */
  header: string;
  /** The signature of {@link VECTOR}. */
  expected: string;
  /** The signature of a body. */
  sign: (body: string, secret: string, time: string) => Promise<string>;
  /** The value of the header with a signature, and other headers. */
  headers: (signature: string, time: string) => Record<string, string>;
  /** Whether a time is signed. */
  isTimed: boolean;
}

const plain = (header: string) => (signature: string) => ({ [header]: signature });

const SIGNED: Signed[] = [
  ...(['voxel', 'sellauth', 'sellapp'] as const).map((name): Signed => {
    const header = { voxel: 'X-Polymart-Signature', sellauth: 'X-Signature', sellapp: 'Signature' };
    return {
      name,
      kind: name === 'voxel' ? 'voxel' : 'dynamic',
      ...(name !== 'voxel' && { preset: name }),
      header: header[name],
      expected: 'ffa817f5e9b081e19faf0afec75a37ba7a1ab8d4ba95f8acd6749494482967ee',
      sign: (body, secret) => hmac(body, secret),
      headers: plain(header[name]),
      isTimed: false,
    };
  }),
  {
    name: 'tebex',
    kind: 'tebex',
    header: 'X-Signature',
    expected: 'f6f6f0bb897ceed3c3b4133e7a7df23f3e262da0ef9f9e27bd67dea416922c1e',
    sign: async (body, secret) => hmac(await sha256Hex(body), secret),
    headers: plain('X-Signature'),
    isTimed: false,
  },
  {
    name: 'stripe',
    kind: 'stripe',
    header: 'Stripe-Signature',
    expected: '825c00d26b8306d4d1862aa4cd30e44e2d1aacc4720474156d20bca3dd7b6c00',
    sign: (body, secret, time) => hmac(`${time}.${body}`, secret),
    headers: (signature, time) => ({ 'Stripe-Signature': `t=${time},v1=${signature},v0=00` }),
    isTimed: true,
  },
  {
    name: 'paynow',
    kind: 'paynow',
    header: 'PayNow-Signature',
    expected: 'KQb9SG4TbB7/MMsMntTRgzmNlg77ehS70jvEPC73TW0=',
    sign: (body, secret, time) => hmac(`${time}000.${body}`, secret, 'base64'),
    headers: (signature, time) => ({
      'PayNow-Signature': signature,
      'PayNow-Timestamp': `${time}000`,
    }),
    isTimed: true,
  },
  {
    name: 'shoppex',
    kind: 'dynamic',
    preset: 'shoppex',
    header: 'X-Shoppex-Signature-V2',
    expected: 'c62a45468bc889fc5ec96284e1eb1fb6030273fcd9b61aa03cf16047bbb0555b',
    sign: (body, secret, time) => hmac(`del_1.${time}.${body}`, secret),
    headers: (signature, time) => ({
      'X-Shoppex-Signature-V2': `v1,t=${time},h=${signature}`,
      'X-Shoppex-Timestamp': time,
      'X-Shoppex-Delivery-Id': 'del_1',
    }),
    isTimed: true,
  },
];

const settings = ({ kind, preset }: Signed, secrets = [SECRET]) => ({
  ...settingsOf(kind, secrets),
  settings: preset ? dynamicSettings.parse(DYNAMIC_PRESETS[preset].settings) : null,
});

/** Whether a request counts as one of the market: an unknown event does. */
async function isKnown(
  one: Signed,
  body: string,
  headers: Record<string, string>,
  secrets = [SECRET],
): Promise<boolean> {
  const read = await readBy(ADAPTERS[one.kind], incoming(body, headers), settings(one, secrets));
  return !('why' in read) || read.status !== 401;
}

describe.each(SIGNED)('$name', (one) => {
  const body = one.kind === 'voxel' ? `{"event":"ping","time":${T}}` : VECTOR;

  it('the vector is right', async () => {
    expect(await one.sign(VECTOR, SECRET, T)).toBe(one.expected);
  });

  it('a right signature is taken, also by the second secret, and of several [9.2.7]', async () => {
    const headers = one.headers(await one.sign(body, SECRET, T), T);
    expect(await isKnown(one, body, headers)).toBe(true);
    expect(await isKnown(one, body, headers, [OTHER_SECRET, SECRET])).toBe(true);
  });

  it('a wrong one is rejected, whatever is wrong [9.2.2, 9.2.7]', async () => {
    const right = await one.sign(body, SECRET, T);
    const wrong: Record<string, [string, Record<string, string>]> = {
      missing: [body, {}],
      empty: [body, one.headers('', T)],
      'another body': [`${body} `, one.headers(right, T)],
      'another secret': [body, one.headers(await one.sign(body, OTHER_SECRET, T), T)],
      truncated: [body, one.headers(right.slice(0, -2), T)],
      longer: [body, one.headers(`${right}00`, T)],
      'no encoding': [body, one.headers('!', T)],
      'of a parsed body': [
        body,
        one.headers(await one.sign(`${JSON.stringify(JSON.parse(body))} `, SECRET, T), T),
      ],
      ...(one.isTimed && {
        'another time': [body, one.headers(right, String(Number(T) + 1))],
        stale: [
          body,
          one.headers(
            await one.sign(body, SECRET, String(Number(T) - 301)),
            String(Number(T) - 301),
          ),
        ],
        'no time': [body, one.headers(right, '')],
      }),
    };
    for (const [name, [sent, headers]] of Object.entries(wrong)) {
      expect(await isKnown(one, sent, headers), name).toBe(false);
    }
    expect(await isKnown(one, body, one.headers(right, T), []), 'no secret').toBe(false);
  });

  it('whatever is sent, nothing is thrown, and nothing counts without a signature', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (sent, value) => {
        const header = value.replaceAll(/[^ -~]/g, '');
        expect(await isKnown(one, sent, { [one.header]: header })).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it('whatever JSON is signed, nothing is thrown', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 4 }), async (sent) => {
        const headers = one.headers(await one.sign(sent, SECRET, T), T);
        await expect(
          readBy(ADAPTERS[one.kind], incoming(sent, headers), settings(one)),
        ).resolves.toBeTypeOf('object');
      }),
      { numRuns: 50 },
    );
  });
});

it('each market has a vector, but for BuiltByBit, which sends its secret', () => {
  const signed = SIGNED.map(({ kind }) => kind);
  expect(MARKET_KINDS.filter((kind) => !signed.includes(kind))).toEqual(['builtbybit']);
});

it('one of several signatures is enough', async () => {
  const signatures = ['00', await hmac('a'), 'ff'.repeat(32)];
  expect(await isSigned([SECRET], signatures, 'hex', ['a'])).toBe(true);
  expect(await isSigned([SECRET], signatures, 'hex', ['b'])).toBe(false);
});
