import { env } from 'cloudflare:workers';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { settled } from '../support/app';
import {
  call,
  createBlacklist,
  createLicense,
  createProduct,
  createToken,
  type License,
  updateLicense,
  validate,
} from '../support/client';
import { type TestClock, takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { contentsOfKv, isAllPublished } from '../support/published';
import { askFor, openShop, tidyUpAfterEach } from '../support/shop';
import {
  newSyncedIsolate,
  newWatchedIsolate,
  type WatchedIsolate,
} from '../support/watched-isolate';

/** How soon a change is seen, and how often a stale snapshot is used (1.5). */

const MINUTE_MS = 60_000;
const DEACTIVATED = { licenseStatus: 'DEACTIVATED' };

const { newLicense } = openShop();
tidyUpAfterEach();

let clock: TestClock;

beforeAll(async () => {
  // KV has the blacklist, too.
  await newWatchedIsolate().runScheduled();
});

beforeEach(() => {
  clock = takeClock();
});

async function remove(path: string): Promise<void> {
  const answer = await call('DELETE', `/api/v2/${path}`);
  expect(answer.status, answer.text).toBe(204);
}

type Ask = (body: object, token?: string) => Promise<{ status: number; json: unknown }>;

/** The isolate that makes the changes. */
const askWorker: Ask = (body, token) =>
  token === undefined
    ? validate(body)
    : call('POST', '/api/v2/validate', { body, token, headers: {} });

const askIsolate =
  (isolate: WatchedIsolate): Ask =>
  (body, token) =>
    token === undefined
      ? isolate.validate(body)
      : isolate.validate(body, { version: 'v2', headers: { TOKEN: token } });

/** Two changes to and fro, and a validation that is accepted before both and after both. */
interface Change {
  withdraw(): Promise<void>;
  restore(): Promise<void>;
  ask(by: Ask): ReturnType<Ask>;
  /** The response between both. */
  refusal: { status: number; message: string };
}

const CHANGES = {
  'a deactivated license': async () => {
    const license = await newLicense();
    return {
      withdraw: async () => {
        await updateLicense(license.id, { licenseStatus: 'DEACTIVATED' });
      },
      restore: async () => {
        await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
      },
      ask: (by) => by(askFor(license)),
      refusal: { status: 400, message: 'License is deactivated' },
    };
  },
  'a blacklist entry': async () => {
    const license = await newLicense();
    const network = `10.${(license.id >> 8) & 255}.${license.id & 255}`;
    let entry = 0;
    let asked = 0;
    return {
      withdraw: async () => {
        entry = (await createBlacklist({ data: `${network}.0/24` })).id;
      },
      restore: () => remove(`blacklists/${entry}`),
      // From many addresses: one may validate 60 times a minute.
      ask: (by) => by(askFor(license, { ip: `${network}.${asked++ % 256}` })),
      refusal: { status: 400, message: 'IP address is blacklisted' },
    };
  },
  'a token': async () => {
    const license = await newLicense();
    let { id, token } = await createToken(['LICENSE_VALIDATE']);
    return {
      withdraw: () => remove(`tokens/${id}`),
      restore: async () => {
        ({ id, token } = await createToken(['LICENSE_VALIDATE']));
      },
      ask: (by) => by(askFor(license), token),
      refusal: { status: 401, message: 'Token is missing, unknown, expired or revoked' },
    };
  },
  'a changed token': async () => {
    const license = await newLicense();
    const { id, token } = await createToken(['LICENSE_VALIDATE']);
    const put = async (intents: string[]) => {
      const answer = await call('PUT', `/api/v2/tokens/${id}`, { body: { intents } });
      expect(answer.status, answer.text).toBe(200);
    };
    return {
      withdraw: () => put(['ALL_READ']),
      restore: () => put(['LICENSE_VALIDATE']),
      ask: (by) => by(askFor(license), token),
      refusal: { status: 403, message: 'Token lacks a required intent' },
    };
  },
  'a lowered limit': async () => {
    const license = await newLicense();
    return {
      // Nothing is bound where the limit is -1.
      withdraw: async () => {
        await updateLicense(license.id, { maxHWIDs: 0 });
      },
      restore: async () => {
        await updateLicense(license.id, { maxHWIDs: -1 });
      },
      ask: (by) => by(askFor(license, { hwid: 'one' })),
      refusal: { status: 400, message: 'Max HWIDs reached' },
    };
  },
  'freed slots': async () => {
    const license = await newLicense({ maxHWIDs: 1, hwids: ['one'] });
    return {
      // The slot is taken by another hardware ID.
      withdraw: async () => {
        await updateLicense(license.id, { hwids: ['another'] });
      },
      restore: async () => {
        await updateLicense(license.id, { hwids: [] });
      },
      ask: (by) => by(askFor(license, { hwid: 'one' })),
      refusal: { status: 400, message: 'Max HWIDs reached' },
    };
  },
  'a deleted license': async () => {
    const license = await newLicense();
    return {
      withdraw: () => remove(`licenses/${license.id}`),
      restore: async () => {
        await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
      },
      ask: (by) => by(askFor(license)),
      refusal: { status: 400, message: 'License not found or invalid' },
    };
  },
  'an expiry': async () => {
    const license = await newLicense();
    return {
      withdraw: async () => {
        await updateLicense(license.id, { licenseType: 'TEMPORARY', expiryDate: '2020-01-01' });
      },
      restore: async () => {
        await updateLicense(license.id, { licenseType: 'PERMANENT', expiryDate: null });
      },
      ask: (by) => by(askFor(license)),
      refusal: { status: 400, message: 'License has expired' },
    };
  },
} satisfies Record<string, () => Promise<Change>>;

/** Made more often than the others. */
const FREQUENT = [
  'a deactivated license',
  'a blacklist entry',
  'a token',
  'a lowered limit',
  'freed slots',
];
const NAMES = Object.entries(CHANGES).map(([name, prepare]) => ({
  name,
  prepare,
  times: FREQUENT.includes(name) ? 50 : 6,
}));

async function expectAccepted({ ask }: Change, by: Ask, what = 'it is accepted'): Promise<void> {
  const { status, json } = await ask(by);
  expect(status, `${what}: ${JSON.stringify(json)}`).toBe(200);
}

async function expectRefused(
  { ask, refusal: { status, message } }: Change,
  by: Ask,
  what = 'it is refused',
): Promise<void> {
  const response = await ask(by);
  expect(response.status, what).toBe(status);
  expect(response.json, what).toMatchObject({ message });
}

/** From here on the location of these isolates shows what KV has now, whatever is put. */
async function freezeKv(...isolates: WatchedIsolate[]): Promise<void> {
  await isAllPublished();
  const location = await contentsOfKv();
  for (const { conditions } of isolates) conditions.location = location;
}

/** Stores a record that has nothing to do with the change. */
async function sync(isolate: WatchedIsolate): Promise<void> {
  const { status, recorded } = await isolate.validate(askFor(await newLicense()));
  expect(status).toBe(200);
  await recorded;
}

async function expectStatus(
  isolate: WatchedIsolate,
  license: License,
  status: number,
): Promise<void> {
  const response = await isolate.validate(askFor(license));
  expect(response.status).toBe(status);
  await response.recorded;
}

describe('isolates that did not make the change', () => {
  it.each(NAMES)(
    'busy isolates see changes within 50 seconds, whatever KV shows: $name',
    async ({ prepare }) => {
      const change = await prepare();
      const isolate = newWatchedIsolate();
      const by = askIsolate(isolate);
      await expectAccepted(change, by);
      await settled();
      await freezeKv(isolate);
      await change.withdraw();
      clock.elapse(49_900);
      await sync(isolate);
      await expectRefused(change, by);
      await settled();
      await change.restore();
      clock.elapse(49_900);
      await sync(isolate);
      await expectAccepted(change, by);
    },
  );

  it.each(NAMES)(
    'all isolates see changes after 90 seconds while KV keeps its delay: $name',
    async ({ prepare }) => {
      const change = await prepare();
      const [quiet, used, cold] = [newWatchedIsolate(), newWatchedIsolate(), newWatchedIsolate()];
      for (const isolate of [quiet, used]) await expectAccepted(change, askIsolate(isolate));
      await settled();
      await freezeKv(used);
      await change.withdraw();
      await isAllPublished();
      // KV does not show it yet, and memory is stale.
      clock.elapse(89_000);
      await expectAccepted(change, askIsolate(used));
      await settled();
      clock.elapse(1_000);
      used.conditions.location = undefined;
      for (const isolate of [quiet, used, cold]) await expectRefused(change, askIsolate(isolate));
    },
  );

  it.each(NAMES)(
    'a stale snapshot is used for one response of an isolate, if KV never changes: $name',
    async ({ prepare }) => {
      const change = await prepare();
      const isolate = newWatchedIsolate();
      const by = askIsolate(isolate);
      await freezeKv(isolate);
      await change.withdraw();
      clock.elapse(60 * MINUTE_MS);
      await expectAccepted(change, by, 'KV shows the state before the change');
      await settled();
      for (const minutes of [0, 1, 30, 60]) {
        clock.elapse(minutes * MINUTE_MS);
        await expectRefused(change, by, `it is refused ${minutes} minutes later`);
        await settled();
      }
    },
  );

  it('isolates that are asked during a change never accept again once they refused', async () => {
    const license = await newLicense();
    const isolates = [newWatchedIsolate(), newWatchedIsolate()];
    for (const isolate of isolates) await expectStatus(isolate, license, 200);
    const [{ status }, ...statuses] = await Promise.all([
      call('PUT', `/api/v2/licenses/${license.id}`, { body: DEACTIVATED }),
      ...isolates.map(async (isolate) => {
        const seen: number[] = [];
        for (let time = 0; time < 10; time++) {
          const response = await isolate.validate(askFor(license));
          seen.push(response.status);
          await response.recorded;
        }
        return seen;
      }),
    ]);
    expect(status).toBe(200);
    for (const seen of statuses) {
      expect(seen).toEqual(seen.toSorted((one, other) => one - other));
      expect(seen.at(-1)).toBe(400);
    }
  });
});

describe('the floor', () => {
  const WAYS = {
    'a change of its own': async (isolate: WatchedIsolate, license: License) => {
      await isolate.call('PUT', `/api/v2/licenses/${license.id}`, { body: DEACTIVATED });
    },
    'the change log': async (isolate: WatchedIsolate, license: License) => {
      await updateLicense(license.id, DEACTIVATED);
      await sync(isolate);
    },
    'a comparison': async (isolate: WatchedIsolate, license: License) => {
      await updateLicense(license.id, DEACTIVATED);
      // Memory is stale, and the log has nothing new after the response.
      clock.elapse(51_000);
      await expectStatus(isolate, license, 200);
    },
  };

  it.each(Object.entries(WAYS))(
    'older snapshots in KV are passed over after %s',
    async (_, raise) => {
      const license = await newLicense();
      const isolate = newWatchedIsolate();
      await expectStatus(isolate, license, 200);
      await freezeKv(isolate);
      await raise(isolate, license);
      for (let minutes = 1; minutes <= 60; minutes += 20) {
        clock.elapse(20 * MINUTE_MS);
        isolate.reset();
        const response = await isolate.validate(askFor(license));
        expect(response.status).toBe(400);
        expect(isolate.kvNames()).toContain('get');
        expect(isolate.steps()).toContain('license');
        await response.recorded;
      }
    },
  );

  it('snapshots in KV that are older than the one in memory are passed over', async () => {
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    await isAllPublished();
    const older = await contentsOfKv();
    await updateLicense(license.id, DEACTIVATED);
    await isAllPublished();
    await expectStatus(isolate, license, 400);
    // Another server of this location shows what KV had before.
    clock.elapse(51_000);
    isolate.conditions.location = older;
    await expectStatus(isolate, license, 400);
  });

  it('the floor does not sink when the change log tells of an older change later', async () => {
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    await expectStatus(isolate, license, 200);

    // The response that tells of the first change is under way for long.
    await updateLicense(license.id, { notes: 'Changed' });
    await freezeKv(isolate);
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const { promise: sent, resolve: send } = Promise.withResolvers<void>();
    isolate.conditions.answer = (step) => {
      if (step !== 'record') return undefined;
      send();
      return arrived;
    };
    const { recorded } = await isolate.validate(askFor(license));
    await sent;
    const path = `/api/v2/licenses/${license.id}`;
    const { finished } = await isolate.send('PUT', path, { body: DEACTIVATED });
    arrive();
    await Promise.all([recorded, finished]);

    // KV shows the first change only.
    clock.elapse(51_000);
    await expectStatus(isolate, license, 400);
  });
});

describe('the isolate that makes a change', () => {
  it('a license that is imported again under its old key is accepted by the next request', async () => {
    const product = await createProduct();
    const license = await createLicense({ productId: product.id });
    const isolate = newWatchedIsolate();
    await expectStatus(isolate, license, 200);
    await freezeKv(isolate);
    // Removed elsewhere: this isolate does not know, and KV shows it for long.
    await remove(`licenses/${license.id}`);
    await remove(`products/${product.id}`);
    const item = {
      ...license,
      id: license.id + 100_000,
      productId: (await newLicense()).productId,
    };
    const { status, text } = await isolate.call('POST', '/api/v2/import', {
      body: { kind: 'licenses', items: [item] },
    });
    expect(status, text).toBe(200);
    await expectStatus(isolate, item, 200);
  });

  it('a license that is gone when a value is to be bound is refused from then on', async () => {
    const product = await createProduct();
    const license = await createLicense({ productId: product.id, maxIPs: 2, ips: ['192.0.2.1'] });
    const isolate = await newSyncedIsolate();
    const ask = (ip: string) => isolate.validate(askFor(license, { ip }));
    const first = await ask('192.0.2.1');
    expect(first.status).toBe(200);
    await first.recorded;
    await freezeKv(isolate);
    await remove(`licenses/${license.id}`);
    await remove(`products/${product.id}`);
    // No record is written, so neither the change log nor a comparison tells of it.
    const { promise: released, resolve: release } = Promise.withResolvers<null>();
    isolate.conditions.database = (step) => (step === 'record' ? released : null);
    expect((await ask('192.0.2.2')).status).toBe(400);
    expect((await ask('192.0.2.1')).status).toBe(400);
    release(null);
  });

  it('a change whose response from D1 was lost is seen after the next record', async () => {
    captureConsole();
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    await expectStatus(isolate, license, 200);
    isolate.conditions.database = (_, trip) =>
      trip.some(({ sql }) => sql.startsWith('update "licenses"')) ? 'answer is lost' : null;
    const { status } = await isolate.call('DELETE', `/api/v2/licenses/${license.id}`);
    expect(status).toBe(500);
    isolate.conditions.database = () => null;
    await sync(isolate);
    await expectStatus(isolate, license, 400);
    // Nobody has published it.
    await isolate.runScheduled();
    await isAllPublished();
  });
});

describe('syncs', () => {
  it('snapshots in memory stay fresh while the isolate syncs, for ten minutes at most', async () => {
    const license = await newLicense();
    const isolate = await newSyncedIsolate();
    await expectStatus(isolate, license, 200);
    for (let time = 0; time < 4; time++) {
      clock.elapse(48_000);
      await sync(isolate);
    }
    clock.elapse(49_000);
    isolate.reset();
    await expectStatus(isolate, license, 200);
    expect(isolate.operations).toEqual([]);

    for (let time = 0; time < 8; time++) {
      clock.elapse(48_000);
      await sync(isolate);
    }
    isolate.reset();
    await expectStatus(isolate, license, 200);
    expect(isolate.kvNames()).toContain('get');
  });

  it('a change log that no longer reaches back to the cursor clears memory', async () => {
    const [license, other] = [await newLicense(), await newLicense()];
    const isolate = newWatchedIsolate();
    await expectStatus(isolate, license, 200);
    await expectStatus(isolate, other, 200);

    await updateLicense(license.id, DEACTIVATED);
    await updateLicense(other.id, { notes: 'The last change in the log' });
    await isAllPublished();
    await env.DB.exec('delete from changes where seq < (select max(seq) from changes)');
    // A sync that saw no gap would make the whole memory fresh again.
    await expectStatus(isolate, other, 200);
    await expectStatus(isolate, license, 400);
  });

  describe('a change log that is more than 100 changes ahead', () => {
    /** Adds 150 changes of other licenses to the log. */
    async function changeOthers(): Promise<void> {
      await env.DB.prepare(
        `insert into changes (subject, revision, changed_at, is_published)
         with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)
         select 'license:OTHER-' || i, 1, ?, true from n`,
      )
        .bind(Date.now())
        .run();
    }

    it('the first 100 of more changes are seen after one sync, whatever KV shows', async () => {
      const license = await newLicense();
      const isolate = newWatchedIsolate();
      await expectStatus(isolate, license, 200);
      await freezeKv(isolate);
      await updateLicense(license.id, DEACTIVATED);
      await changeOthers();
      await sync(isolate);
      await expectStatus(isolate, license, 400);
    });

    it('the remaining changes are seen after the next sync, whatever KV shows', async () => {
      const license = await newLicense();
      const isolate = newWatchedIsolate();
      await expectStatus(isolate, license, 200);
      await freezeKv(isolate);
      await changeOthers();
      await updateLicense(license.id, DEACTIVATED);
      await sync(isolate);
      await sync(isolate);
      await expectStatus(isolate, license, 400);
    });

    it('a sync that leaves changes unread does not keep memory fresh', async () => {
      const license = await newLicense();
      const isolate = newWatchedIsolate();
      await expectStatus(isolate, license, 200);
      await changeOthers();
      await updateLicense(license.id, DEACTIVATED);
      await isAllPublished();
      clock.elapse(40_000);
      await sync(isolate);
      clock.elapse(10_001);
      await expectStatus(isolate, license, 400);
    });
  });

  it('a change log with another change at the cursor clears memory', async () => {
    const [license, other] = [await newLicense(), await newLicense()];
    const isolate = newWatchedIsolate();
    await isAllPublished();
    await expectStatus(isolate, license, 200);
    await sync(isolate);

    // The database is set back to before a change, and changed again until the log is as long.
    await env.DB.batch([
      env.DB.prepare(`update licenses set state = 'DEACTIVATED', revision = revision - 1
        where id = ?`).bind(license.id),
      env.DB.prepare(`update changes set revision = revision - 1
        where seq = (select max(seq) from changes)`),
    ]);
    await updateLicense(other.id, { notes: 'A change behind the cursor' });
    await isAllPublished();
    await sync(isolate);
    // KV is found to be wrong with the next use.
    await (await isolate.validate(askFor(license))).recorded;
    await expectStatus(isolate, license, 400);
  });

  it('a clock that steps back clears memory', async () => {
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    await expectStatus(isolate, license, 200);
    await updateLicense(license.id, DEACTIVATED);
    await isAllPublished();
    clock.elapse(49_000);
    clock.stepBack(10 * MINUTE_MS);
    await expectStatus(isolate, license, 400);
  });
});

describe('loads that a change overtakes', () => {
  /** Asks an isolate whose read of D1 is under way for long, and makes a change meanwhile. */
  async function overtake(isolate: WatchedIsolate, change: Change, step: 'license' | 'token') {
    captureConsole();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const { promise: sent, resolve: send } = Promise.withResolvers<void>();
    isolate.conditions.kv = () => true;
    isolate.conditions.answer = (other) => {
      if (other !== step) return undefined;
      send();
      return arrived;
    };
    const slow = change.ask(askIsolate(isolate));
    await sent;
    isolate.conditions.answer = undefined;
    isolate.conditions.kv = () => false;
    await change.withdraw();
    await isAllPublished();
    return { slow, arrive };
  }

  const READERS = [
    { name: 'a deactivated license', prepare: CHANGES['a deactivated license'], step: 'license' },
    { name: 'a token', prepare: CHANGES['a token'], step: 'token' },
  ] as const;

  it.each(READERS)(
    'requests after a sync do not use a load from before: $name',
    async ({ prepare, step }) => {
      const change = await prepare();
      const isolate = await newSyncedIsolate();
      const { slow, arrive } = await overtake(isolate, change, step);
      await sync(isolate);
      const after = expectRefused(change, askIsolate(isolate));
      arrive();
      await slow;
      await after;
      await expectRefused(change, askIsolate(isolate));
    },
  );
});

// Last, for it is the longest.
describe('the Worker', () => {
  it.each(NAMES)(
    'the very next validation in the isolate that made a change sees it, $times times: $name',
    async ({ prepare, times }) => {
      const change = await prepare();
      await expectAccepted(change, askWorker);
      for (let time = 0; time < times; ) {
        await change.withdraw();
        await expectRefused(change, askWorker, `time ${++time}`);
        await change.restore();
        await expectAccepted(change, askWorker, `time ${++time}`);
      }
    },
    30_000,
  );
});
