import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isLong } from '../support/long.ts';
import {
  build,
  built,
  type Drive,
  messageFor,
  nowSeconds,
  type Program,
  programs,
  readIfThere,
  runIn,
  runnable,
  startDriver,
} from './example-programs.ts';
import {
  type Algorithm,
  type Claims,
  type Forgery,
  type Keys,
  LEASE_TYPE,
  leaseForgeries,
  newKeys,
  newSigningKey,
  type SigningKey,
  signedBy,
  signedByHand,
  VALIDATION_TYPE,
  validationForgeriesOf,
} from './forged-responses.ts';
import { leftOutChecks } from './left-out-checks.ts';
import { ownFolder } from './own.ts';
import {
  claimsFor,
  DAY_SECONDS,
  HOUR_SECONDS,
  type HonestOptions,
  hash,
  honestBy,
  PRODUCT_ID,
  REFUSED,
  type Responder,
  type SignedService,
  startSignedService,
  VALID,
  type Validate,
  validatorIn,
} from './signed-service.ts';

/** The examples with pinned public keys, between an honest service and hostile ones. */

let service: SignedService;
const folder = ownFolder();
const allKeys: Record<Algorithm, Keys> = { ES256: newKeys('ES256'), RS256: newKeys('RS256') };
const keysByBits = new Map<number, SigningKey>();
/** An RSA key, the same for all programs, because generating one takes a while. */
function keyOfBits(bits: number): SigningKey {
  const key = keysByBits.get(bits) ?? newSigningKey('RS256', 'key-1', bits);
  keysByBits.set(bits, key);
  return key;
}

const validator = (drive: Drive, keys: Keys): Validate =>
  validatorIn(folder, () => service, drive, keys);

beforeAll(async () => {
  service = await startSignedService();
});

/** Tried with each program, also where a library makes the check. */
const COMMON = [
  'nothing',
  'no signature',
  'a changed payload',
  'alg none, without a signature',
  'HS256 with the public key (pem) as its secret',
  'a key of the attacker under the pinned kid',
  'a lease',
  'a key of 1024 bits',
  'a lease of a changed payload',
  'a lease of the other typ',
  'a lease of another machine',
];

/** The items that a program is tried with: all in the long form, else the one of each check that the program has. */
const triedWith = <Item>(items: readonly [string, Item][], { file }: Program): [string, Item][] => {
  const names = [...COMMON, ...Object.keys(leftOutChecks[file] ?? {})];
  return items.filter(([name]) => isLong || names.includes(name));
};

const forgedLeases = leaseForgeries.map(([name, forgery]): [string, Forgery] => [
  `a lease of ${name}`,
  forgery,
]);

const pairsOf = <Item>(items: readonly Item[]): Item[][] =>
  items.flatMap((_, at) => (at % 2 === 0 ? [items.slice(at, at + 2)] : []));

// licet.mjs is licet.ts without its types, as a test of the examples shows.
for (const program of programs.filter(({ file }) => file !== 'licet.mjs')) {
  const { file, driver } = program;
  describe.skipIf(!runnable.includes(program))(`${file} with public keys`, () => {
    const keys = allKeys[driver.alg];
    const isDeep = isLong || !driver.isSlow;
    const forgeries = validationForgeriesOf(driver.alg);
    let place: string;
    let validate: Validate;
    let hwid: unknown;

    const honest = ({
      key = keys.pinned,
      ...response
    }: HonestOptions & { key?: SigningKey } = {}): Responder => honestBy(key, response);

    /** A response with a forgery in it. */
    const forged =
      (forgery: Forgery): Responder =>
      async (asked) => [
        200,
        { ...VALID, signed: await forgery(keys, VALIDATION_TYPE, claimsFor(asked)) },
      ];

    /** A response that says "valid", with other claims. */
    const signedWith = (changes: Claims): Responder =>
      forged((_, typ, claims) => signedBy(keys.pinned, typ, { ...claims, ...changes }));

    const seconds = (fromNow: number) => nowSeconds() + fromNow;

    /** The claims of a lease for this machine. */
    const leaseClaims = (changes: Claims = {}): Claims => ({
      ...claimsFor({ hwid, licenseKey: 'KEY', productId: PRODUCT_ID }),
      exp: nowSeconds() + 2 * DAY_SECONDS,
      ...changes,
    });
    const leaseWith = (changes: Claims = {}) =>
      signedBy(keys.pinned, LEASE_TYPE, leaseClaims(changes));
    /** A lease from which a program starts without a request. */
    const freshLease = (changes: Claims = {}) => leaseWith({ checkAfter: seconds(60), ...changes });

    /** The content of a mark file that a program without public keys accepts. */
    const forgedMark = () => {
      const now = nowSeconds();
      return `${now} ${hash(`${now}\nKEY\n${PRODUCT_ID}\n${hwid}`, 'hex')}`;
    };

    beforeAll(async () => {
      place = await built(program);
      validate = validator(startDriver(place, program), keys);
      const { asked } = await validate({ respond: honest() });
      hwid = asked[0]?.hwid;
    });

    it('an example runs with a signed response, and keeps the lease for itself', async () => {
      const { state, message, kept, asked, path } = await validate({
        respond: honest({ leaseDays: 3 }),
      });
      expect({ state, message }).toEqual({ state: 'valid', message: 'License is valid' });
      const [lease, latest, ...more] = kept?.split(' ') ?? [];
      expect(lease).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
      expect(Math.abs(Number(latest) - nowSeconds())).toBeLessThan(60);
      expect(more).toEqual([]);
      // Lua has no function for it.
      if (file !== 'licet.lua') expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
      expect(asked).toHaveLength(1);
      expect(asked[0]).toMatchObject({ kid: 'key-1', lease: true, hwid });
      // At least 128 bits.
      expect(asked[0]?.nonce).toMatch(/^([\w-]{22,128}|[0-9a-f]{32,128})$/);
    });

    it('an example stops at a signed rejection, whatever the body says, and deletes the lease [1.8.21]', async () => {
      const ending = await validate({
        respond: async (asked) => {
          const signed = await signedBy(keys.pinned, VALIDATION_TYPE, claimsFor(asked, false));
          return [400, { ...REFUSED, message: 'Nonsense', signed }];
        },
        kept: `${await leaseWith()} ${nowSeconds()}`,
      });
      expect(ending).toMatchObject({
        state: 'refused',
        message: messageFor('License is deactivated'),
        kept: undefined,
      });
    });

    it.runIf(isDeep)(
      'an example takes a response whatever its clock says: the nonce makes it fresh',
      async () => {
        const times = {
          iat: nowSeconds() - 400 * DAY_SECONDS,
          exp: nowSeconds() - 399 * DAY_SECONDS,
        };
        expect((await validate({ respond: signedWith(times) })).state).toBe('valid');
      },
    );

    it('an example sends its second key if the service rejects the first [1.8.27]', async () => {
      const { state, asked } = await validate({
        respond: async (request, nth) =>
          nth === 1
            ? [400, { valid: false, message: 'kid is unknown' }]
            : honest({ key: keys.second })(request, nth),
      });
      expect(state).toBe('valid');
      expect(asked.map(({ kid }) => kid)).toEqual(['key-1', 'key.2']);
    });

    it.runIf(isDeep)('an example sends its first key again after an outage', async () => {
      const { state, asked } = await validate({
        respond: async (request, nth) => (nth === 1 ? [503, {}] : honest()(request, nth)),
      });
      expect(state).toBe('valid');
      expect(asked.map(({ kid }) => kid)).toEqual(['key-1', 'key-1']);
    });

    const { constant } = keys.pinned;
    const otherKind = allKeys[driver.alg === 'ES256' ? 'RS256' : 'ES256'].pinned.constant;
    it.each<[string, string, string?]>([
      ['nonsense', 'nonsense'],
      ['a blank', ' ', ''],
      ['a kid without a key', 'key-1:'],
      ['a key without a kid', constant.replace('key-1', '')],
      ['a key with a long kid', constant.replace('key-1', 'k'.repeat(65))],
      ['a kid with a short key', constant.slice(0, -1)],
      ['a kid with a long key', `${constant}A`],
      ['a key that is not base64url', constant.replace(/.$/, '+')],
      ['a key of the other algorithm', otherKind],
      ['the form in place of the second key', `${constant} KID:KEY`, 'KID:KEY'],
    ])(
      'an example names a public key at once that is %s, and asks nothing',
      async (_, publicKeys, named = publicKeys) => {
        const kept = forgedMark();
        const ending = await validate({ respond: honest(), publicKeys, kept });
        expect(ending).toMatchObject({ state: 'misuse', kept, asked: [] });
        const [problem, form] = ending.message.split('; ');
        expect(problem).toBe(`'${named}' is no public key`);
        expect(form).toMatch(
          driver.alg === 'ES256'
            ? /^it has the form KID:KEY, where KEY is 43 characters, a dot and 43 .* \(ES256, the es- key\)$/
            : /^it has the form KID:KEY, where KEY is 342 characters \(RS256, the rs- key\)$/,
        );
      },
    );

    const unsigned: [string, string, Responder][] = [
      ['200', 'without a signature', async () => [200, VALID]],
      ['400', 'without a signature', async () => [400, REFUSED]],
      [
        '200',
        'with a forged signature',
        forged((_, typ, claims) => signedBy(keys.attacker, typ, claims)),
      ],
    ];
    const noFault = (status: string) =>
      `The response has no valid signature of this service (HTTP ${status}).`;
    it.each(isDeep ? unsigned : unsigned.slice(1, 2))(
      'an example calls HTTP %s %s no fault of the network, and runs on its lease [1.8.22]',
      async (status, _, respond) => {
        const lease = await leaseWith();
        const ending = await validate({ respond, kept: `${lease} ${nowSeconds()}` });
        expect(ending).toMatchObject({
          state: 'grace',
          message: `${noFault(status)} The last good answer counts for 48 h more.`,
        });
        expect(ending.kept).toContain(lease);
      },
    );

    it.runIf(isDeep).each(isLong ? unsigned : unsigned.slice(1, 2))(
      'an example names the seller for HTTP %s %s if it has no lease',
      async (status, _, respond) => {
        expect(await validate({ respond })).toMatchObject({
          state: 'unreachable',
          message: messageFor('with public keys: a fake server').replace('…', `HTTP ${status}`),
        });
      },
    );

    it('an example calls an unsigned failure of the service a service that cannot be reached', async () => {
      const { message } = await validate({ respond: async () => [503, {}] });
      expect(message).toBe(
        messageFor('nothing responds, or something else than the service').replace('…', 'HTTP 503'),
      );
    });

    it.each(
      pairsOf(triedWith(forgeries, program)).map((pair): [string, typeof pair] => [
        pair.map(([name]) => name).join('; nor by: '),
        pair,
      ]),
    )('an example is not fooled by: %s [1.8.20]', async (_, pair) => {
      const [first, second = first] = pair;
      const ending = await validate({
        respond: (asked, nth) => {
          const [, forgery] = (nth === 1 ? first : second) ?? [];
          return forged(forgery ?? (() => undefined))(asked, nth);
        },
        kept: forgedMark(),
      });
      expect(ending).toMatchObject({ state: 'unreachable' });
      expect(ending.asked).toHaveLength(2);
    });

    const runsOn =
      (lease: () => Promise<unknown>, latest = () => nowSeconds()) =>
      async (program: Validate) =>
        (await program({ kept: `${await lease()} ${latest()}` })).state !== 'unreachable';
    const runsWith =
      (forgery: Forgery): ((program: Validate) => Promise<boolean>) =>
      async (program) =>
        (await program({ respond: forged(forgery), kept: forgedMark() })).state !== 'unreachable';
    const runsWithBits = (bits: number) => async (program: Validate) => {
      const key = keyOfBits(bits);
      const respond = honest({ key, sign: signedByHand });
      return (await program({ respond, publicKeys: key.constant })).state === 'valid';
    };

    /** Each function returns whether a program makes the mistake. */
    const otherFaults: Record<string, (program: Validate) => Promise<boolean>> = {
      ...(driver.alg === 'RS256' && {
        'a key of 1024 bits': runsWithBits(1024),
        'a key of 2047 bits': runsWithBits(2047),
        'a key of 2056 bits': runsWithBits(2056),
      }),
      'a body that says valid': async (program) =>
        (await program({ respond: signedWith(REFUSED) })).state !== 'refused',
      'the same nonce': async (program) => {
        const nonces = new Set();
        for (let nth = 0; nth < 2; nth++) {
          const { asked } = await program({ respond: honest() });
          nonces.add(asked[0]?.nonce);
        }
        return nonces.size === 1;
      },
      'a mark file': async (program) =>
        (await program({ kept: forgedMark() })).state !== 'unreachable',
      ...(driver.alg === 'ES256' && {
        'a key that is no point of the curve': async (program) => {
          const [x = '', y = ''] = keys.pinned.constant.slice('key-1:'.length).split('.');
          const publicKeys = `key-1:${y}.${x}`;
          const ending = program({ respond: honest(), publicKeys });
          // A crash is a mistake too.
          return (await ending.catch(() => undefined))?.state !== 'unreachable';
        },
      }),
      'a lease without its issue': runsOn(() => freshLease({ iat: undefined })),
      'a lease without the latest time': runsOn(freshLease, () => Number.NaN),
      'an expired lease': runsOn(() => freshLease({ exp: seconds(-1) })),
      'a lease of the future': runsOn(() => freshLease({ iat: seconds(26 * HOUR_SECONDS) })),
      'a lease used in the future': runsOn(freshLease, () => seconds(26 * HOUR_SECONDS)),
      'a lease that is kept unseen': async (program) => {
        const kept = `${await leaseWith()} ${nowSeconds()}`;
        const lease = await leaseWith({ hwid: 'f'.repeat(64) });
        const respond: Responder = async (asked, nth) => {
          const [status, body] = await honest()(asked, nth);
          return [status, { ...Object(body), lease }];
        };
        return (await program({ respond, kept })).kept !== kept;
      },
      'a lease after a refusal': async (program) => {
        const kept = `${await leaseWith()} ${nowSeconds()}`;
        return (await program({ respond: honest({ valid: false }), kept })).kept !== undefined;
      },
      'a clock that is set back': async (program) => {
        const kept = `${await leaseWith({ iat: seconds(-9) })} ${seconds(-9)}`;
        return (await program({ kept })).kept === kept;
      },
    };

    it.each(triedWith(Object.entries(otherFaults), program))(
      'an example does not fall for: %s',
      async (_, isFault) => {
        expect(await isFault(validate)).toBe(false);
      },
    );

    const leftOut = Object.entries(leftOutChecks[file] ?? {}).map(([fault, texts]) => ({
      fault,
      replacements: pairsOf(texts),
    }));
    it.skipIf(leftOut.length === 0)('an example has each check that the tests leave out', () => {
      const source = readFileSync(`examples/${file}`, 'utf8');
      for (const [text = ''] of leftOut.flatMap(({ replacements }) => replacements)) {
        expect(source.split(text).length - 1, text).toBe(1);
      }
    });

    it.runIf(isLong).each(leftOut)(
      'an example falls without a check for: $fault',
      async ({ fault, replacements }) => {
        const [, forgery] = forgeries.find(([name]) => name === fault) ?? [];
        const [, ofLease] = forgedLeases.find(([name]) => name === fault) ?? [];
        const isFault = forgery
          ? runsWith(forgery)
          : ofLease
            ? runsOn(async () => ofLease(keys, LEASE_TYPE, leaseClaims()))
            : otherFaults[fault];
        if (!isFault) throw new Error(`There is no "${fault}"`);
        const changed = join(folder, `${file} without a check for ${fault}`);
        await build(changed, program, (source) =>
          replacements.reduce((text, [from = '', to = '']) => text.replace(from, () => to), source),
        );
        expect(await isFault(validator(startDriver(changed, program), keys))).toBe(true);
      },
    );

    it.runIf(isDeep)('an example is not fooled by a recorded response', async () => {
      let recorded: [number, unknown] | undefined;
      const respond = honest({ leaseDays: 3 });
      const first = await validate({
        respond: async (asked, nth) => (recorded = await respond(asked, nth)),
      });
      expect(first.state).toBe('valid');
      const again = await validate({ respond: async () => recorded ?? [404, {}] });
      expect(again).toMatchObject({ state: 'unreachable', kept: undefined });
    });

    it('an example starts without the network while its lease lasts, and keeps the time [1.8.23]', async () => {
      const lease = await leaseWith({ iat: nowSeconds() - HOUR_SECONDS });
      const ending = await validate({ kept: `${lease} ${nowSeconds() - HOUR_SECONDS}` });
      expect(ending.state).toBe('grace');
      expect(ending.message).toMatch(/The last good answer counts for 48 h more\.$/);
      const [kept, latest] = ending.kept?.split(' ') ?? [];
      expect(kept).toBe(lease);
      expect(Math.abs(Number(latest) - nowSeconds())).toBeLessThan(60);
    });

    it.runIf(isDeep)('an example keeps its lease when a valid response has none', async () => {
      const kept = `${await leaseWith()} ${nowSeconds()}`;
      expect(await validate({ respond: honest(), kept })).toMatchObject({ state: 'valid', kept });
    });

    const latestTimes: [string, Claims, number, string][] = [
      ['was issued 23 hours from now', { iat: 23 * HOUR_SECONDS }, 0, 'grace'],
      ['was used 23 hours from now', {}, 23 * HOUR_SECONDS, 'grace'],
      ['has no end', { exp: undefined }, 0, 'unreachable'],
    ];
    it.each(isDeep ? latestTimes : latestTimes.slice(1, 2))(
      'an example takes the latest time of a lease that %s [1.8.23]',
      async (_, times, usedIn, state) => {
        const shifted = Object.entries(times).map(([name, seconds]) => [
          name,
          typeof seconds === 'number' ? nowSeconds() + seconds : undefined,
        ]);
        const lease = await leaseWith(Object.fromEntries(shifted));
        const latest = nowSeconds() + usedIn;
        const ending = await validate({ kept: `${lease} ${latest}` });
        expect(ending.state).toBe(state);
        expect(Number(ending.kept?.split(' ')[1])).toBeGreaterThanOrEqual(latest);
      },
    );

    it('an example stores no time at which its lease does not count: a clock years ahead ends no lease [1.8.23]', async () => {
      const latest = nowSeconds() - 9;
      const lease = await leaseWith({ iat: latest, exp: nowSeconds() - 1 });
      const { state, kept } = await validate({ kept: `${lease} ${latest}` });
      expect(state).toBe('unreachable');
      expect(kept?.split(' ')[1] ?? String(latest)).toBe(String(latest));
    });

    it.each(isLong ? ['', ' ', ' x'] : [' x'])(
      'an example takes no lease with "%s" behind it',
      async (text) => {
        const { state } = await validate({ kept: `${await leaseWith()}${text}` });
        expect(state).toBe('unreachable');
      },
    );

    it.each(triedWith(forgedLeases, program))(
      'an example is not fooled by: %s',
      async (_, forgery) => {
        // It would also let a program start without a request.
        const claims = leaseClaims({ checkAfter: seconds(60) });
        const forgedLease = await forgery(keys, LEASE_TYPE, claims);
        const { state } = await validate({ kept: `${forgedLease} ${nowSeconds()}` });
        expect(state).toBe('unreachable');
      },
    );

    it('an example takes its public keys, a name and a move from its environment when it is tried out, and keeps its id in its working directory if the mark file has no folder', async () => {
      const name = `demo-${file}`;
      service.responders.set(name, { respond: honest(), asked: [] });
      const ending = await runIn(place, program.start, {
        LICET_URL: `${service.address}/${name}`,
        LICET_PRODUCT_ID: String(PRODUCT_ID),
        LICET_KEY: 'KEY',
        LICET_MARK: 'demo.mark',
        LICET_PUBLIC_KEYS: keys.pinned.constant,
        LICET_ENTITLEMENT: 'pro',
        LICET_MOVE: '1',
      });
      expect(ending).toEqual({ code: 0, output: 'License is valid\npro' });
      const [asked] = service.responders.get(name)?.asked ?? [];
      expect(asked).toHaveProperty('nonce');
      expect(asked).toHaveProperty('takeOver', true);
      const id = readIfThere(join(place, 'licet-id'))?.trim();
      expect(id).toMatch(/^[0-9a-f]{32}$/);
      expect(asked?.hwid).toBe(id);
    });

    const { lines } = driver;
    it.runIf(lines)('the lines that the console shows for an example validate', async () => {
      if (!lines) return;
      const name = `lines-${file}`;
      service.responders.set(name, { respond: honest({ valid: false }), asked: [] });
      const url = `${service.address}/${name}`;
      const publicKeys = `${keys.pinned.constant} ${keys.second.constant}`;
      const text = lines.text({ url, productId: PRODUCT_ID, publicKeys });
      writeFileSync(join(place, lines.file), `${lines.config.withKey}\n${text}`);
      const ending = await runIn(place, lines.start);
      expect(ending).toEqual({ code: 1, output: messageFor('License is deactivated') });
      const asked = { kid: 'key-1', productVersion: '1.4.0', licenseKey: 'KEY' };
      expect(service.responders.get(name)?.asked).toMatchObject([asked]);
      writeFileSync(join(place, lines.file), `${lines.config.withoutKey}\n${text}`);
      expect(await runIn(place, lines.start)).toEqual({
        code: 1,
        output: messageFor('no license key'),
      });
      expect(service.responders.get(name)?.asked).toHaveLength(1);
    });
  });
}
