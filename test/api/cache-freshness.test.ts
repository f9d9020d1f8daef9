import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  call,
  createLicense,
  createProduct,
  type License,
  settled,
  updateLicense,
} from '../support/client';
import { type TestClock, takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { MINUTE_MS } from '../support/history';
import { contentsOfKv, isAllPublished } from '../support/published';
import { askFor, openShop } from '../support/shop';
import {
  newSyncedIsolate,
  newWatchedIsolate,
  type WatchedIsolate,
} from '../support/watched-isolate';

/** How soon a change is seen, and how often a stale snapshot is used (1.5). */

const DEACTIVATED = { licenseStatus: 'DEACTIVATED' };

const { newLicense } = openShop();
afterEach(settled);

let clock: TestClock;

beforeAll(async () => {
  // KV has the blacklist, too.
  await newWatchedIsolate().runScheduled();
});

beforeEach(() => {
  clock = takeClock({ skipsPauses: true });
});

async function remove(path: string): Promise<void> {
  const answer = await call('DELETE', `/api/v2/${path}`);
  expect(answer.status, answer.text).toBe(204);
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

describe('the floor', () => {
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
