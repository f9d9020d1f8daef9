/** @module-tag long */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { isLong } from '../support/long.ts';
import {
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
  type Keys,
  LEASE_TYPE,
  newKeys,
  signedBy,
} from './forged-responses.ts';
import { ownFolder } from './own.ts';
import {
  type Asked,
  type Check,
  type Checked,
  claimsFor,
  DAY_SECONDS,
  HOUR_SECONDS,
  type HonestOptions,
  honestBy,
  PRODUCT_ID,
  REFUSED,
  type Responder,
  type SignedService,
  startSignedService,
  VALID,
  validatorIn,
} from './signed-service.ts';

/** The examples: what the license allows, when they ask, and how they take over (1.8, 11). */

const HWID = 'my-machine-7';
const folder = ownFolder();
const allKeys: Record<Algorithm, Keys> = { ES256: newKeys('ES256'), RS256: newKeys('RS256') };
let service: SignedService;

beforeAll(async () => {
  service = await startSignedService();
});

/** Seconds until a program without a time to check asks again: a day, less up to a tenth. */
const DAY_OF_ASKING = { min: 0.9 * DAY_SECONDS - 60, max: DAY_SECONDS };
const never: Responder = () => new Promise(() => {});
/** Longer than a test may take: none ends that waits for a response. */
const TIMEOUT_SECONDS = 600;
/** Until a program asks again: more than a response takes on a busy machine. */
const SOON_SECONDS = 4;
const until = (isMet: () => boolean) => vi.waitUntil(isMet, { timeout: 60_000, interval: 50 });
const leaseIn = (kept: string | undefined) => kept?.split(' ')[0];

// licet.mjs is licet.ts without its types, as a test of the examples shows.
for (const program of programs.filter(({ file }) => file !== 'licet.mjs')) {
  const { file, driver } = program;
  const { asksAgain } = driver;
  // The checks of a slow program would time out behind each other.
  const suite = describe.skipIf(!runnable.includes(program));
  (driver.isSlow ? suite : suite.concurrent)(`${file} that asks again`, () => {
    const keys = allKeys[driver.alg];
    const isDeep = isLong || !driver.isSlow;
    let place: string;
    let drive: Drive;

    beforeAll(async () => {
      place = await built(program);
      drive = startDriver(place, program);
    });

    const validateBy = (drive: Drive, check: Check) =>
      validatorIn(folder, () => service, drive, keys)({ hwid: HWID, ...check });
    const validate = (check: Check) => validateBy(drive, check);
    const honest = (options?: HonestOptions) => honestBy(keys.pinned, options);

    /** The content of a file with a lease of two hours ago, from which a program may start for an hour more. */
    async function keptWith(changes: Claims = {}, hwid = HWID): Promise<string> {
      const claims = {
        ...claimsFor({ hwid, licenseKey: 'KEY', productId: PRODUCT_ID }),
        iat: nowSeconds() - 2 * HOUR_SECONDS,
        exp: nowSeconds() + 2 * DAY_SECONDS,
        checkAfter: nowSeconds() + HOUR_SECONDS,
        ...changes,
      };
      return `${await signedBy(keys.pinned, LEASE_TYPE, claims)} ${claims.iat}`;
    }

    /** Validates in a process that ends soon, if it is only then that the program asks beside. */
    async function start(check: Check): Promise<Checked & { ended: Promise<unknown> }> {
      const isShared = asksAgain === 'running' || asksAgain === 'once';
      const own = isShared ? drive : startDriver(place, program);
      const started = await validateBy(own, check);
      return { ...started, ended: isShared ? Promise.resolve() : own.end() };
    }

    const laterOf = ({ path }: Checked) => readIfThere(`${path}.later`) ?? '';

    it('an example reads what the license allows in the response and, later, in the lease [11.3]', async () => {
      const entitlements = 'edition=gold max_players=100 module.economy none=-1 pro';
      const checkAfter = nowSeconds() + 5000;
      const respond = honest({ leaseDays: 3, claims: { entitlements, checkAfter } });
      const { kept, asked, ...online } = await validate({ respond, name: 'pro' });
      expect(online).toMatchObject({ state: 'valid', value: 'true', checkAfter });
      expect(asked[0]).not.toHaveProperty('takeOver');
      const values = {
        max_players: '100',
        max_player: undefined,
        ...(isDeep && {
          edition: 'gold',
          pro: 'true',
          'module.economy': 'true',
          none: '-1',
          economy: undefined,
          'edition=gold': undefined,
          'm.x_players': undefined,
          '': undefined,
        }),
      };
      for (const [name, value] of Object.entries(values)) {
        const offline = await validate({ kept, name });
        expect(offline, name).toMatchObject({ state: 'valid', message: VALID.message, checkAfter });
        expect(offline.value, name).toBe(value);
      }
      const past = await keptWith({ entitlements, checkAfter: nowSeconds() - 1 });
      const offline = await validate({ kept: past, name: 'max_players' });
      expect(offline).toMatchObject({ state: 'grace', value: '100' });
    });

    const wrong: Claims[] = [
      { entitlements: 5, checkAfter: 'soon', entitlementsUntil: true },
      {},
      { entitlements: null, checkAfter: null, entitlementsUntil: null },
      { entitlements: true, checkAfter: true, entitlementsUntil: '1' },
      { entitlements: '', checkAfter: String(nowSeconds() + 9), entitlementsUntil: '' },
      { entitlements: ' =  =pro pro= ', checkAfter: false },
      { entitlements: 'Pro pro.pro', checkAfter: '' },
      { entitlements: '"pro"' },
    ];
    it.each(
      (isDeep ? wrong : wrong.slice(0, 1)).map((claims): [string, Claims] => [
        JSON.stringify(claims),
        claims,
      ]),
    )(
      'an example runs by the claims %s, finds no entitlement and asks again a day later',
      async (_, claims) => {
        const respond = honest({ leaseDays: 3, claims });
        const { state, value, checkAfter, kept } = await validate({ respond, name: 'pro' });
        expect({ state, value }).toEqual({ state: 'valid', value: undefined });
        expect(checkAfter).toBeGreaterThan(nowSeconds() + DAY_OF_ASKING.min);
        expect(checkAfter).toBeLessThanOrEqual(nowSeconds() + DAY_OF_ASKING.max);
        const offline = await validate({ kept, name: 'pro' });
        expect(offline).toMatchObject({ state: 'grace', value: undefined });
      },
    );

    const near = nowSeconds() + 5000;
    const far = nowSeconds() + 9000;
    const times = [
      { checkAfter: far, entitlementsUntil: near },
      { checkAfter: near, entitlementsUntil: far },
      { entitlementsUntil: near },
    ];
    it.each(
      (isDeep ? times : times.slice(0, 1)).map((claims): [string, Claims] => [
        JSON.stringify(claims),
        claims,
      ]),
    )('an example asks again at the earlier time of %s', async (_, claims) => {
      const { checkAfter } = await validate({ respond: honest({ claims }) });
      expect(checkAfter).toBe(near);
    });

    it('an example takes no entitlement and no time from what is not signed [11.3]', async () => {
      const body = { ...VALID, entitlements: 'pro', checkAfter: near };
      const respond: Responder = async (asked, nth) => {
        const [status, signed] = await honest()(asked, nth);
        return [status, { ...body, ...Object(signed), ...body }];
      };
      for (const publicKeys of isDeep ? ['', undefined] : ['']) {
        const answer = await validate({
          respond,
          name: 'pro',
          ...(publicKeys === '' && { publicKeys }),
        });
        expect(answer).toMatchObject({ state: 'valid', value: undefined });
        expect(answer.checkAfter).toBeGreaterThan(nowSeconds() + DAY_OF_ASKING.min);
      }
    });

    it.runIf(isDeep)(
      'an example has no entitlement, and no time to ask again, after a refusal',
      async () => {
        const respond = honest({ valid: false, claims: { entitlements: 'pro', checkAfter: near } });
        const answer = await validate({ respond, name: 'pro' });
        expect(answer).toMatchObject({ state: 'refused', value: undefined, checkAfter: 0 });
      },
    );

    it('an example starts at once from its lease, and asks a service beside that never responds [1.8.37]', async () => {
      const { state, message, asked } = await start({
        respond: never,
        kept: await keptWith(),
        timeoutSeconds: TIMEOUT_SECONDS,
      });
      expect({ state, message }).toEqual({ state: 'valid', message: VALID.message });
      await until(() => asked.length > 0);
      expect(asked[0]).toMatchObject({ kid: 'key-1', lease: true, hwid: HWID });
      expect(asked[0]).not.toHaveProperty('takeOver');
    });

    it('an example stores the lease that it gets beside its start', async () => {
      const kept = await keptWith();
      const claims = { checkAfter: near };
      const started = await start({ respond: honest({ leaseDays: 3, claims }), kept });
      await until(() => leaseIn(readIfThere(started.path)) !== leaseIn(kept));
      if (isDeep) {
        const again = await validate({ kept: readIfThere(started.path) });
        expect(again).toMatchObject({ state: 'valid', checkAfter: near });
      }
      if (asksAgain === 'running') await until(() => laterOf(started) === 'valid\n');
      expect(started.asked).toHaveLength(1);
    });

    it('an example that is refused beside its start deletes the lease [1.8.36]', async () => {
      const started = await start({ respond: honest({ valid: false }), kept: await keptWith() });
      expect(started.state).toBe('valid');
      await until(() => readIfThere(started.path) === undefined);
      if (asksAgain === 'running') await until(() => laterOf(started) === 'refused\n');
    });

    it.runIf(asksAgain !== 'once')(
      'an example keeps its lease if something else responds beside its start',
      async () => {
        const kept = await keptWith();
        const started = await start({ respond: async () => [400, REFUSED], kept });
        await until(() => started.asked.length === 2);
        if (asksAgain === 'running') await until(() => laterOf(started) === 'grace\n');
        await started.ended;
        expect(leaseIn(readIfThere(started.path))).toBe(leaseIn(kept));
      },
    );

    it.runIf(asksAgain === 'running')(
      'an example asks again at checkAfter while it runs, though its callback fails, until it is refused [1.8.35, 1.8.36]',
      async () => {
        const respond: Responder = (asked, nth) => {
          const claims = { checkAfter: nowSeconds() + SOON_SECONDS };
          return honest({ valid: nth === 1, claims, leaseDays: 3 })(asked, nth);
        };
        const started = await validate({ respond, kept: await keptWith() });
        expect(started.state).toBe('valid');
        await until(() => laterOf(started) === 'valid\nrefused\n');
        expect(readIfThere(started.path)).toBeUndefined();
        expect(started.asked).toHaveLength(2);
      },
    );

    it.runIf(asksAgain === 'running')(
      'an example that moves the license twice asks again once, and then takes nothing over [1.8.43]',
      async () => {
        const name = `twice-${file}`;
        const asked: Asked[] = [];
        const times = { checkAfter: 0 };
        const respond: Responder = (request, nth) => {
          if (nth === 1) times.checkAfter = nowSeconds() + SOON_SECONDS;
          return honest({ valid: nth < 3, claims: times })(request, nth);
        };
        service.responders.set(name, { respond, asked });
        const markFile = join(folder, name);
        const url = `${service.address}/${name}`;
        const publicKeys = keys.pinned.constant;
        const own = { url, markFile, publicKeys, licenseKey: 'KEY', productId: PRODUCT_ID };
        const move = () => drive({ ...own, hwid: HWID, call: 'move' });
        await Promise.all([move(), move()]);
        await until(() => readIfThere(`${markFile}.later`) !== undefined);
        await validate({});
        expect(asked.map(({ takeOver }) => takeOver)).toEqual([true, true, undefined]);
        expect(readIfThere(`${markFile}.later`)).toBe('refused\n');
      },
    );

    it.runIf(driver.canClose)(
      'an example asks no more after its end, and asks again once if it checked twice',
      async () => {
        const respond: Responder = (asked, nth) => {
          const claims = { checkAfter: nowSeconds() + SOON_SECONDS };
          return honest({ valid: nth < 3, claims })(asked, nth);
        };
        const closed = await validate({ respond, call: 'check and close' });
        expect(closed.state).toBe('valid');
        const twice = await validate({ respond, call: 'check twice' });
        expect(twice.state).toBe('valid');
        await until(() => laterOf(twice) !== '');
        // A second one that asked at the same time has responded by now.
        await validate({});
        expect(laterOf(twice)).toBe('refused\n');
        expect(twice.asked).toHaveLength(3);
        expect(closed.asked).toHaveLength(1);
      },
    );

    const past = nowSeconds() - 1;
    const late: [string, Claims][] = [
      ['is past its checkAfter', { checkAfter: past }],
      ['has an entitlement that has ended', { entitlementsUntil: past }],
      ['has no checkAfter', { checkAfter: undefined }],
      ['has a text as its checkAfter', { checkAfter: String(near) }],
    ];
    it.each(isDeep ? late : late.slice(1, 2))(
      'an example with a lease that %s asks first',
      async (_, claims) => {
        const kept = await keptWith(claims);
        const ending = await validate({ respond: honest({ valid: false }), kept });
        expect(ending).toMatchObject({ state: 'refused', kept: undefined });
        expect(ending.asked).toHaveLength(1);
      },
    );

    it.runIf(file === 'licet.php')(
      'an example in which each page is a start asks a service that is away once an hour',
      async () => {
        const kept = await keptWith({ checkAfter: nowSeconds() - 1 });
        const first = await validate({ respond: async () => [400, REFUSED], kept });
        expect([first.state, first.asked.length]).toEqual(['grace', 2]);
        const next = await validate({ respond: async () => [400, REFUSED], kept: first.kept });
        expect([next.state, next.asked.length]).toEqual(['grace', 0]);
      },
    );

    it('an example that moves the license asks first, and says so [1.8.40]', async () => {
      const kept = await keptWith();
      const refused = await validate({ respond: honest({ valid: false }), kept, call: 'move' });
      const message = messageFor('License is deactivated');
      expect(refused).toMatchObject({ state: 'refused', message, kept: undefined });
      expect(refused.asked).toMatchObject([{ takeOver: true }]);
      const respond: Responder = async (_, nth) => (nth === 1 ? [503, {}] : [200, VALID]);
      const moved = await validate({ respond, publicKeys: '', call: 'move' });
      expect(moved).toMatchObject({ state: 'valid', message: VALID.message });
      expect(moved.asked).toMatchObject([{ takeOver: true }, { takeOver: true }]);
    });

    it('an example that is tried out ends while it asks a service that never responds', async () => {
      const home = join(folder, `home-${file}`);
      const hwid = 'ab'.repeat(16);
      mkdirSync(home);
      writeFileSync(join(home, 'licet-id'), hwid);
      // PHP asks beside only if the lease is older than an hour.
      const claims = { iat: nowSeconds(), entitlements: 'max_players=100' };
      writeFileSync(join(home, 'mark'), await keptWith(claims, hwid));
      service.responders.set(home, { respond: never, asked: [] });
      const ending = await runIn(place, program.start, {
        LICET_URL: `${service.address}/${home}`,
        LICET_PRODUCT_ID: String(PRODUCT_ID),
        LICET_KEY: 'KEY',
        LICET_MARK: join(home, 'mark'),
        LICET_PUBLIC_KEYS: keys.pinned.constant,
        LICET_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS),
        LICET_ENTITLEMENT: 'max_players',
      });
      expect(ending).toEqual({ code: 0, output: `${VALID.message}\nmax_players=100` });
    });

    it.runIf(file === 'licet.ts')('an example keeps no process alive to ask', async () => {
      const kept = join(folder, 'alive');
      writeFileSync(kept, await keptWith());
      service.responders.set('alive', { respond: never, asked: [] });
      const url = `${service.address}/alive`;
      const own = {
        url,
        productId: PRODUCT_ID,
        productVersion: '1',
        licenseKey: 'KEY',
        hwid: HWID,
      };
      const times = { timeoutSeconds: TIMEOUT_SECONDS };
      const options = JSON.stringify({
        ...own,
        ...times,
        markFile: kept,
        publicKeys: keys.pinned.constant,
      });
      writeFileSync(
        join(place, 'alive.ts'),
        `import { checkLicense } from './licet.ts';\nconsole.log((await checkLicense(${options})).state);`,
      );
      expect(await runIn(place, 'node alive.ts')).toEqual({ code: 0, output: 'valid' });
    });

    it.runIf(asksAgain === 'at its end')(
      'an example that starts often asks beside once an hour',
      async () => {
        const young = await start({
          respond: never,
          kept: await keptWith({ iat: nowSeconds() - 60 }),
        });
        await young.ended;
        expect(young).toMatchObject({ state: 'valid', asked: [] });
        const first = await start({ respond: async () => [503, {}], kept: await keptWith() });
        await first.ended;
        expect(first.asked).toHaveLength(2);
        const second = await start({ respond: never, kept: readIfThere(first.path) });
        await second.ended;
        expect(second).toMatchObject({ state: 'valid', asked: [] });
      },
    );
  });
}

/** The examples of an older version, without a driver, in the place of those of today. */
const OLD = '19e23b59';
describe.skipIf(runnable.length === 0).concurrent(`the examples of ${OLD}`, () => {
  const tried = isLong ? runnable : runnable.filter(({ file }) => /\.(py|lua)$/.test(file));
  it.each(tried.map((program): [string, Program] => [program.file, program]))(
    '%s of an older version takes the new claims, and runs on its lease',
    async (file, { build, start, driver }) => {
      const keys = allKeys[driver.alg];
      const old = join(folder, OLD, file);
      mkdirSync(old, { recursive: true });
      const source = readFileSync(new URL(`upgrade/${OLD}.${file}.gz`, import.meta.url));
      writeFileSync(join(old, file), gunzipSync(source));
      writeFileSync(join(old, 'hosts'), '127.0.0.1 localhost\n');
      for (const command of build)
        expect(await runIn(old, command)).toEqual({ code: 0, output: '' });
      const claims = {
        entitlements: 'edition=gold max_players=100 module.economy pro',
        entitlementsUntil: nowSeconds() + DAY_SECONDS,
        checkAfter: nowSeconds() + DAY_SECONDS,
      };
      service.responders.set(`old-${file}`, {
        respond: honestBy(keys.pinned, { leaseDays: 2, claims }),
        asked: [],
      });
      const run = (url: string) =>
        runIn(old, start, {
          LICET_URL: url,
          LICET_PRODUCT_ID: String(PRODUCT_ID),
          LICET_KEY: 'KEY',
          LICET_RETRY_SECONDS: '0',
          LICET_PUBLIC_KEYS: keys.pinned.constant,
        });
      const online = await run(`${service.address}/old-${file}`);
      expect(online).toEqual({ code: 0, output: VALID.message });
      const offline = await run(service.closedAddress);
      expect(offline.output).toMatch(/The last good answer counts for 48 h more\.$/);
      expect(offline.code).toBe(0);
    },
  );
});
