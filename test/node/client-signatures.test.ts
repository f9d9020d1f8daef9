import { createHash } from 'node:crypto';
import {
  Licet,
  LicetError,
  type SigningKey as PinnedKey,
  type ValidationRequest,
} from '@licet/client';
import { describe, expect, it } from 'vitest';
import {
  type Algorithm,
  type Claims,
  LEASE_TYPE,
  leaseForgeries,
  newKeys,
  newSigningKey,
  type SigningKey,
  signedBy,
  VALIDATION_TYPE,
  validationForgeriesOf,
} from './forged-responses.ts';
import { sharedService } from './shared-service.ts';

/** The client with pinned keys, between signatures of other implementations and hostile servers. */

const REQUEST = { licenseKey: ' häuschen-1\n', productId: 602, hwid: ' machine ' };
const VALID = { valid: true, message: 'License is valid' };

/** A request of the client. */
interface Asked extends ValidationRequest {
  nonce: string;
  kid: string;
}

const claimsFor = ({ nonce }: Pick<Asked, 'nonce'>): Claims => ({
  ...{ iss: 'licet', aud: '602', hwid: ' machine ', ip: '192.0.2.1', licenseExpires: null },
  sub: createHash('sha256').update(' häuschen-1\n').digest('base64url'),
  ...{ nonce, iat: 1_795_350_000, exp: 1_795_350_300, ...VALID },
});

type Respond = (asked: Asked) => Promise<{ status?: number; body?: object; signed?: unknown }>;

/** Validates at a server that returns `License is valid`, or the given response, with a signature. */
function validate(signingKeys: readonly PinnedKey[], respond: Respond) {
  const licet = new Licet({
    url: 'https://licet.test',
    fetch: async (request) => {
      const asked: Asked = JSON.parse(await request.text());
      const { status = 200, body = VALID, signed } = await respond(asked);
      return Response.json({ ...body, ...(signed !== undefined && { signed }) }, { status });
    },
  });
  return licet.validate(REQUEST, { signingKeys });
}

const isUnsigned = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    (error) => error instanceof LicetError && /without a signature of key/.test(error.message),
  );

const jwkOf = ({ kid, alg, publicKey }: SigningKey): PinnedKey => {
  const { n = '', x = '', y = '' } = publicKey.export({ format: 'jwk' });
  return alg === 'ES256'
    ? { kty: 'EC', crv: 'P-256', kid, x, y }
    : { kty: 'RSA', kid, n, e: 'AQAB' };
};

describe.each(['ES256', 'RS256'] as const)('a response signed with %s', (alg: Algorithm) => {
  const keys = newKeys(alg);
  const honest: Respond = async (asked) => ({
    signed: await signedBy(keys.pinned, VALIDATION_TYPE, claimsFor(asked)),
  });

  it.each([
    ['constant', (key: SigningKey) => key.constant],
    ['JWK', jwkOf],
  ])('a response that is signed by jose verifies with the key as a %s', async (_, pinned) => {
    const result = await validate([pinned(keys.pinned)], honest);
    expect(result).toMatchObject(VALID);
  });

  it('a response that is signed by the service verifies', async () => {
    const licet = new Licet({ url: await sharedService() });
    const { keys: published } = await licet.signingKeys();
    const signingKeys = published.filter((key) => key.alg === alg);
    const { valid, signed } = await licet.validate(REQUEST, { signingKeys });
    expect(valid).toBe(false);
    expect(signed).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it.each(validationForgeriesOf(alg))('a signed response is not %s [1.8.20]', async (_, forge) => {
    const call = validate([keys.pinned.constant], async (asked) => ({
      signed: await forge(keys, VALIDATION_TYPE, claimsFor(asked)),
    }));
    expect(await isUnsigned(call)).toBe(true);
  });

  it.each(leaseForgeries)('a signed response has no lease that is %s', async (_, forge) => {
    const call = validate([keys.pinned.constant], async (asked) => {
      const { nonce, ...claims } = claimsFor(asked);
      const lease = await forge(keys, LEASE_TYPE, claims);
      return { ...(await honest(asked)), body: { ...VALID, lease } };
    });
    expect(await isUnsigned(call)).toBe(true);
  });

  it('a signed response has a lease of the same key', async () => {
    const result = await validate([keys.pinned.constant], async (asked) => {
      const { nonce, ...claims } = claimsFor(asked);
      const lease = await signedBy(keys.pinned, LEASE_TYPE, claims);
      return { ...(await honest(asked)), body: { ...VALID, lease } };
    });
    expect(result).toMatchObject(VALID);
  });

  it('a signed response has the same `valid` and `message` in its body', async () => {
    const refusal = { valid: false, message: 'License is valid' };
    const isRefused = (body: object, status: number) =>
      isUnsigned(
        validate([keys.pinned.constant], async (asked) => ({
          ...(await honest(asked)),
          body,
          status,
        })),
      );
    expect(await isRefused(refusal, 400)).toBe(true);
    expect(await isRefused({ valid: true, message: 'License is vaild' }, 200)).toBe(true);
  });

  it('the client sends the next key if the service no longer has the first [1.8.27]', async () => {
    const kids: string[] = [];
    const nonces = new Set<string>();
    const result = await validate([keys.pinned.constant, keys.second.constant], async (asked) => {
      kids.push(asked.kid);
      nonces.add(asked.nonce);
      return asked.kid === 'key-1'
        ? { status: 400, body: { valid: false, message: 'kid is unknown' } }
        : { signed: await signedBy(keys.second, VALIDATION_TYPE, claimsFor(asked)) };
    });
    expect(result).toMatchObject(VALID);
    expect(kids).toEqual(['key-1', 'key.2']);
    expect(nonces.size).toBe(2);
    for (const nonce of nonces) expect(nonce).toMatch(/^[\w-]{22}$/);
  });

  it.each([
    [200, VALID],
    [400, { valid: false, message: 'License is deactivated' }],
  ])('the client sends no next key after %i with a wrong signature', async (status, body) => {
    const kids: string[] = [];
    const call = validate([keys.pinned.constant, keys.second.constant], async (asked) => {
      kids.push(asked.kid);
      const signed = await signedBy(keys.attacker, VALIDATION_TYPE, claimsFor(asked));
      return { status, body, signed };
    });
    expect(await isUnsigned(call)).toBe(true);
    expect(kids).toEqual(['key-1']);
  });
});

describe('the claims of a signed response', () => {
  const key = newSigningKey('ES256', 'key-1');
  const validateWith = (claims: Claims, body = {}) =>
    validate([key.constant], async (asked) => ({
      body: { ...VALID, ...body },
      signed: await signedBy(key, VALIDATION_TYPE, { ...claimsFor(asked), ...claims }),
    }));

  it('entitlements and checkAfter of the client come from the signed claims alone', async () => {
    const body = { entitlements: { pro: true }, checkAfter: 1 };
    const claims = {
      entitlements: 'build=007 edition=gold max_players=-1 pro zone=a=b',
      checkAfter: 1_795_430_112,
    };
    const result = await validateWith(claims, body);
    expect(result).toMatchObject({ ...VALID, checkAfter: 1_795_430_112 });
    expect(Object.fromEntries(result.entitlements ?? [])).toEqual({
      ...{ build: '007', edition: 'gold', max_players: -1, pro: true, zone: 'a=b' },
    });
    const until = await validateWith({ ...claims, entitlementsUntil: 1_795_430_000 });
    expect(until.checkAfter).toBe(1_795_430_000);
    const none = await validateWith({}, body);
    expect(none.entitlements?.size).toBe(0);
    expect(none.checkAfter).toBeUndefined();
  });

  it.each([[{ entitlements: ['pro'] }], [{ entitlements: 7 }], [{ checkAfter: '1795430112' }]])(
    'the client takes a claim of another type for none: %j',
    async (claims) => {
      const result = await validateWith(claims);
      expect(result).toMatchObject({ valid: true, entitlements: new Map(), checkAfter: undefined });
    },
  );

  it('the client sends takeOver, and believes no entitlements without signing keys', async () => {
    const asked: unknown[] = [];
    const licet = new Licet({
      url: 'https://licet.test',
      fetch: async (request) => {
        asked.push(await request.json());
        return Response.json({ ...VALID, entitlements: { pro: true }, checkAfter: 1 });
      },
    });
    expect(await licet.validate({ ...REQUEST, takeOver: true })).toEqual(VALID);
    expect(asked).toEqual([{ ...REQUEST, takeOver: true }]);
  });
});

describe('signing keys of the client', () => {
  const { constant, ...key } = newSigningKey('ES256', 'key-1');

  it('signing keys are sent as the nonce and kid of the client, not of the request', async () => {
    const asked: unknown[] = [];
    const licet = new Licet({
      url: 'https://licet.test',
      fetch: async (request) => {
        asked.push(await request.json());
        return Response.json(VALID);
      },
    });
    const request = { ...REQUEST, nonce: 'n'.repeat(22), kid: 'key-9' };
    expect(await isUnsigned(licet.validate(request, { signingKeys: [constant] }))).toBe(true);
    expect(await licet.validate(REQUEST)).toEqual(VALID);
    expect(asked).toEqual([
      { ...REQUEST, nonce: expect.not.stringContaining('n'.repeat(22)), kid: 'key-1' },
      REQUEST,
    ]);
  });

  it('an error of a signature names the key and the response', async () => {
    const call = validate([constant], async () => ({}));
    await expect(call).rejects.toMatchObject({
      status: 200,
      message:
        'https://licet.test returned 200 "License is valid" without a signature of key key-1: there is none',
    });
  });

  it.each<[string, PinnedKey[]]>([
    ['no key', []],
    ['an RSA key of 1024 bits', [newSigningKey('RS256', 'weak', 1024).constant]],
    ['an RSA key of 2047 bits', [newSigningKey('RS256', 'weak', 2047).constant]],
    ['an RSA key of 3072 bits', [newSigningKey('RS256', 'weak', 3072).constant]],
    ['a constant without a kid', [constant.replace('key-1', '')]],
    ['a cut constant', [constant.slice(0, -1)]],
    ['a private key', [Object.assign(Object(jwkOf({ ...key, constant })), { d: 'secret' })]],
    ['a good key and a text', [constant, 'key-2']],
  ])('signing keys are rejected before anything is sent: %s', async (_, signingKeys) => {
    let isAsked = false;
    const call = validate(signingKeys, async () => {
      isAsked = true;
      return {};
    });
    await expect(call).rejects.toThrow(TypeError);
    expect(isAsked).toBe(false);
  });
});
