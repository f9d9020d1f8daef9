import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { settled } from '../support/app';
import { createToken, getLicense, type License, updateLicense } from '../support/client';
import { takeClock } from '../support/clock';
import { isAllPublished } from '../support/published';
import { askFor, askForUnknown, openShop, tidyUpAfterEach } from '../support/shop';
import type { Step } from '../support/steps';
import {
  newIsolateInTouch,
  newWatchedIsolate,
  type WatchedIsolate,
} from '../support/watched-isolate';

/** What a validation asks of the database and of KV, and what of it before its answer (1.5). */

const shop = openShop();
tidyUpAfterEach();

const { newLicense } = shop;

/** An isolate in touch that has answered for a license already. */
async function newHotIsolate(license: License, more: object = {}): Promise<WatchedIsolate> {
  const isolate = await newIsolateInTouch();
  const { status, recorded } = await isolate.validate(askFor(license, more));
  expect(status).toBe(200);
  await recorded;
  isolate.reset();
  return isolate;
}

/** Keeps back every round trip to the database but those of some steps, until it is released. */
function hold(isolate: WatchedIsolate, ...exceptions: Step[]): { held: Step[]; release(): void } {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held: Step[] = [];
  isolate.conditions.database = async (step) => {
    if (exceptions.includes(step)) return null;
    held.push(step);
    await released;
    return null;
  };
  return { held, release };
}

const rowsWritten = ({ roundTrips }: WatchedIsolate): number =>
  roundTrips.flat().reduce((sum, { meta }) => sum + (meta?.rows_written ?? 0), 0);

describe('a hot validation', () => {
  it('asks neither the database nor KV before its answer, and after it in one round trip that writes two rows', async () => {
    const license = await newLicense();
    const isolate = await newHotIsolate(license);
    const { release } = hold(isolate);
    const { status, json, recorded } = await isolate.validate(askFor(license));
    expect(status).toBe(200);
    expect(json).toMatchObject({ valid: true, totalRequests: 2 });
    expect(isolate.steps()).toEqual([]);
    release();
    await recorded;
    expect(isolate.steps()).toEqual(['record']);
    expect(rowsWritten(isolate)).toBe(2);
    expect(isolate.operations).toEqual([]);
  });

  it.each<{ why: string; fields: object; more: object }>([
    { why: 'deactivated', fields: { licenseStatus: 'DEACTIVATED' }, more: {} },
    { why: 'deleted', fields: { licenseStatus: 'DELETED' }, more: {} },
    {
      why: 'expired',
      fields: { licenseType: 'TEMPORARY', expiryDate: '2020-01-01' },
      more: {},
    },
    { why: 'of another product', fields: {}, more: { productId: 999_999 } },
  ])('that is refused, $why, asks as little', async ({ fields, more }) => {
    const license = await newLicense(fields);
    const isolate = await newIsolateInTouch();
    for (const time of ['cold', 'hot']) {
      isolate.reset();
      const { release } = time === 'hot' ? hold(isolate) : { release: () => undefined };
      const { status, recorded } = await isolate.validate(askFor(license, more));
      expect(status).toBe(400);
      release();
      await recorded;
    }
    expect(isolate.steps()).toEqual(['record']);
    expect(rowsWritten(isolate)).toBe(2);
    expect(isolate.operations).toEqual([]);
  });

  it('under v2 with a token asks as little, but for the use of the token', async () => {
    const license = await newLicense();
    const { token } = await createToken(['LICENSE_VALIDATE']);
    const options = { version: 'v2', headers: { TOKEN: token } } as const;
    const isolate = await newIsolateInTouch();
    const first = await isolate.validate(askFor(license), options);
    await first.recorded;
    expect(isolate.steps()).toContain('token used');
    isolate.reset();
    const { release } = hold(isolate);
    const { status, recorded } = await isolate.validate(askFor(license), options);
    expect(status).toBe(200);
    release();
    await recorded;
    expect(isolate.steps()).toEqual(['record']);
    expect(isolate.operations).toEqual([]);
  });

  it('of a hundred at once: those that come while a write is under way go into one next group', async () => {
    const license = await newLicense();
    const isolate = await newHotIsolate(license);
    const { held, release } = hold(isolate);
    const first = await isolate.validate(askFor(license));
    await vi.waitFor(() => expect(held).toEqual(['record']));
    const others = await Promise.all(
      Array.from({ length: 100 }, () => isolate.validate(askFor(license))),
    );
    expect(others.map(({ status }) => status)).toEqual(Array(100).fill(200));
    release();
    await Promise.all([first, ...others].map(({ recorded }) => recorded));
    expect(isolate.steps()).toEqual(['record', 'record']);
    // A record each, and the total once a group.
    expect(rowsWritten(isolate)).toBe(101 + 2);
    expect((await getLicense(license.id)).totalRequests).toBe(102);
  });
});

describe('a cold validation', () => {
  it('reads KV once and not the database, while the isolate is in touch with it', async () => {
    const license = await newLicense({ ips: ['192.0.2.1'], maxIPs: 1 });
    await isAllPublished();
    const isolate = await newIsolateInTouch();
    const { release } = hold(isolate);
    const { status, recorded } = await isolate.validate(askFor(license, { ip: '192.0.2.1' }));
    expect(status).toBe(200);
    expect(isolate.steps()).toEqual([]);
    release();
    await recorded;
    expect(isolate.steps()).toEqual(['record']);
    expect(isolate.kvNames()).toEqual(['get']);
    expect(rowsWritten(isolate)).toBe(2);
  });

  it('of twenty at once reads KV once for all', async () => {
    const license = await newLicense();
    await isAllPublished();
    const isolate = await newIsolateInTouch();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => isolate.validate(askFor(license))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    await Promise.all(answers.map(({ recorded }) => recorded));
    expect(isolate.kvNames()).toEqual(['get']);
    expect(isolate.steps()).not.toContain('license');
  });

  it('in an isolate that has slept, or is new, asks the database once, and of KV the blacklist only', async () => {
    const license = await newLicense();
    await isAllPublished();
    const isolate = newWatchedIsolate();
    const { release } = hold(isolate, 'license');
    const { status, recorded } = await isolate.validate(askFor(license));
    expect(status).toBe(200);
    expect(isolate.steps()).toEqual(['license']);
    release();
    await recorded;
    expect(isolate.steps()).toEqual(['license', 'record']);
    expect(isolate.operations).toEqual([{ name: 'get', key: 'blacklist' }]);
  });
});

describe('a first binding', () => {
  it('asks the database once before its answer, and is published once', async () => {
    const license = await newLicense({ maxIPs: 2, maxHWIDs: 2, ips: ['192.0.2.1'] });
    const isolate = await newHotIsolate(license, { ip: '192.0.2.1' });
    const { release } = hold(isolate, 'claim');
    const visitor = { ip: '192.0.2.2', hwid: 'one' };
    const { status, recorded } = await isolate.validate(askFor(license, visitor));
    expect(status).toBe(200);
    expect(isolate.steps()).toEqual(['claim']);
    release();
    await recorded;
    expect(isolate.steps().toSorted()).toEqual(['claim', 'license', 'mark as published', 'record']);
    expect(isolate.kvNames()).toEqual(['put']);
  });

  it('is hot from then on', async () => {
    const license = await newLicense({ maxIPs: 1 });
    const isolate = await newIsolateInTouch();
    await (await isolate.validate(askFor(license, { ip: '192.0.2.1' }))).recorded;
    isolate.reset();
    const { release } = hold(isolate);
    const { status, recorded } = await isolate.validate(askFor(license, { ip: '192.0.2.1' }));
    expect(status).toBe(200);
    release();
    await recorded;
    expect(isolate.steps()).toEqual(['record']);
    expect(isolate.operations).toEqual([]);
  });
});

describe('a limit that looks full', () => {
  it('asks the primary, and takes a slot that was freed elsewhere', async () => {
    const license = await newLicense({ maxIPs: 1, ips: ['192.0.2.1'] });
    const isolate = await newHotIsolate(license, { ip: '192.0.2.1' });
    await updateLicense(license.id, { ips: [] });
    const { release } = hold(isolate, 'claim');
    const { status, recorded } = await isolate.validate(askFor(license, { ip: '192.0.2.2' }));
    expect(status).toBe(200);
    expect(isolate.steps()).toEqual(['claim']);
    release();
    await recorded;
    expect((await getLicense(license.id)).ips).toEqual(['192.0.2.2']);
  });

  it('asks the primary, and is refused where it is full', async () => {
    const license = await newLicense({ maxIPs: 1, ips: ['192.0.2.1'] });
    const isolate = await newHotIsolate(license, { ip: '192.0.2.1' });
    const { status, json, recorded } = await isolate.validate(askFor(license, { ip: '192.0.2.2' }));
    expect(status).toBe(400);
    expect(json).toMatchObject({ message: 'Max IPs reached' });
    await recorded;
    expect(isolate.steps()).toEqual(['claim', 'record']);
    // Nothing has changed, so nothing is published; the claim wrote nothing.
    expect(isolate.operations).toEqual([]);
    expect(rowsWritten(isolate)).toBe(2);
  });
});

describe('an unknown key', () => {
  it('is refused after the database was asked, never gets into KV, and costs one row', async () => {
    const isolate = await newIsolateInTouch();
    const { release } = hold(isolate, 'license');
    const { status, recorded } = await isolate.validate(askForUnknown());
    expect(status).toBe(400);
    expect(isolate.steps()).toEqual(['license']);
    release();
    await recorded;
    expect(isolate.steps()).toEqual(['license', 'record']);
    expect(isolate.kvNames()).toEqual(['get']);
    expect(rowsWritten(isolate)).toBe(1);
  });

  it('is remembered for a moment', async () => {
    const clock = takeClock();
    const isolate = await newIsolateInTouch();
    const body = askForUnknown();
    await (await isolate.validate(body)).recorded;

    isolate.reset();
    await (await isolate.validate(body)).recorded;
    expect(isolate.steps()).toEqual(['record']);
    expect(isolate.operations).toEqual([]);

    clock.elapse(40_000);
    // What else it is asked keeps the isolate in touch.
    await (await isolate.validate(askForUnknown())).recorded;
    clock.elapse(25_000);
    isolate.reset();
    await (await isolate.validate(body)).recorded;
    expect(isolate.steps()).toEqual(['license', 'record']);
  });

  it('is forgotten a minute after the database was asked, however long that took', async () => {
    const clock = takeClock();
    const isolate = await newIsolateInTouch();
    const body = askForUnknown();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    isolate.conditions.answer = (step) => (step === 'license' ? answered : undefined);
    const asked = isolate.validate(body);
    await expect.poll(() => isolate.steps()).toEqual(['license']);
    clock.elapse(4_000);
    answer();
    await (await asked).recorded;

    clock.elapse(40_000);
    await (await isolate.validate(askForUnknown())).recorded;
    isolate.reset();
    await (await isolate.validate(body)).recorded;
    expect(isolate.steps()).toEqual(['record']);

    clock.elapse(17_000);
    isolate.reset();
    await (await isolate.validate(body)).recorded;
    expect(isolate.steps()).toEqual(['license', 'record']);
  });

  it('that follows twenty others is looked for in the database alone, until one is known', async () => {
    const [license, cold] = [await newLicense(), await newLicense()];
    const isolate = await newIsolateInTouch();
    for (let key = 1; key < 20; key++) await (await isolate.validate(askForUnknown())).recorded;
    expect(isolate.kvNames()).toHaveLength(19);
    isolate.reset();

    await (await isolate.validate(askForUnknown())).recorded;
    expect(isolate.steps()).toEqual(['license', 'record']);
    expect(isolate.kvNames()).toEqual([]);

    const { status, recorded } = await isolate.validate(askFor(license));
    expect(status).toBe(200);
    await recorded;
    isolate.reset();
    expect((await isolate.validate(askFor(cold))).status).toBe(200);
    expect(isolate.kvNames()).toEqual(['get']);
  });

  it('costs no round trip of its own where others come at the same moment', async () => {
    const isolate = await newIsolateInTouch();
    const license = await newLicense();
    for (let key = 0; key < 20; key++) await (await isolate.validate(askForUnknown())).recorded;
    isolate.reset();

    const bodies = Array.from({ length: 40 }, askForUnknown);
    const asked = [...bodies, askFor(license)].map((body) => isolate.validate(body));
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual([...bodies.map(() => 400), 200]);
    await Promise.all(answers.map(({ recorded }) => recorded));
    const reads = isolate.steps().filter((step) => step === 'license');
    expect(reads.length).toBeLessThanOrEqual(4);
  });

  it('that is longer than any license has is refused by itself, and keeps up nobody', async () => {
    const isolate = await newIsolateInTouch();
    const other = await newLicense();
    await isAllPublished();
    // In upper case three times as long: five megabytes, where a parameter of D1 takes two.
    const body = { licenseKey: '\u0390'.repeat(5_000), productId: shop.productId };
    const bodies = [...Array.from({ length: 90 }, () => body), askForUnknown(), askFor(other)];
    const answers = await Promise.all(bodies.map((asked) => isolate.validate(asked)));
    expect(answers.map(({ status }) => status)).toEqual([...Array(91).fill(400), 200]);
    await Promise.all(answers.map(({ recorded }) => recorded));
    isolate.reset();
    await (await isolate.validate(body)).recorded;
    expect(isolate.steps()).toEqual(['record']);
    expect(isolate.operations).toEqual([]);
  });

  it('is known as soon as a license has it and the isolate has heard of that', async () => {
    const isolate = await newIsolateInTouch();
    const body = askForUnknown();
    expect((await isolate.validate(body)).status).toBe(400);
    await settled();
    // As an import would, past the interface, which makes its keys itself.
    await env.DB.prepare(
      `insert into licenses (license_key, license_key_normalized, product_id, license_type, max_ips,
         max_hwids, created_at, updated_at, revision)
       values (?1, ?2, ?3, 'PERMANENT', -1, -1, 0, 0, 1)`,
    )
      .bind(body.licenseKey, body.licenseKey.toUpperCase(), shop.productId)
      .run();
    await (await isolate.validate(askForUnknown())).recorded;
    expect((await isolate.validate(body)).status).toBe(200);
  });
});

describe('an isolate that has not heard from the database for so long', () => {
  it('answers from memory after 49 seconds, and asks first after 51', async () => {
    const clock = takeClock();
    const license = await newLicense();
    const isolate = await newHotIsolate(license);
    clock.elapse(49_000);
    await (await isolate.validate(askFor(license))).recorded;
    expect(isolate.steps()).toEqual(['record']);

    // The record has brought the news: the time begins anew.
    clock.elapse(49_000);
    isolate.reset();
    await (await isolate.validate(askFor(license))).recorded;
    expect(isolate.steps()).toEqual(['record']);

    clock.elapse(51_000);
    isolate.reset();
    const { release } = hold(isolate, 'license');
    const { status, recorded } = await isolate.validate(askFor(license));
    expect(status).toBe(200);
    expect(isolate.steps()).toEqual(['license']);
    release();
    await recorded;
    expect(isolate.steps()).toEqual(['license', 'record']);
  });

  it('does not answer from KV either', async () => {
    const clock = takeClock();
    const license = await newLicense();
    await isAllPublished();
    const isolate = await newIsolateInTouch();
    clock.elapse(51_000);
    await (await isolate.validate(askFor(license))).recorded;
    expect(isolate.steps()[0]).toBe('license');
    expect(isolate.operations).toEqual([]);
  });
});

describe('after an import of thousands past the interface', () => {
  /** Licenses of which the log of changes tells, and nothing else does. */
  const importLicenses = (count: number) =>
    env.DB.prepare(
      `insert into licenses (license_key, license_key_normalized, product_id, license_type, max_ips,
         max_hwids, created_at, updated_at, revision)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
       select 'imported-' || i, 'IMPORTED-' || i, ?1, 'PERMANENT', -1, -1, 0, 0, 1 from n`,
    )
      .bind(shop.productId, count)
      .run();

  it('a new isolate is soon in touch', async () => {
    await importLicenses(2_500);
    const isolate = newWatchedIsolate();
    const body = { licenseKey: 'imported-7', productId: shop.productId };
    for (let time = 0; time < 5; time++) await (await isolate.validate(body)).recorded;
    isolate.reset();
    await (await isolate.validate(body)).recorded;
    expect(isolate.steps()).toEqual(['record']);
  });

  it('a change is published by the request that makes it, before what is left to be published', async () => {
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    const { status } = await isolate.call('PUT', `/api/v2/licenses/${license.id}`, {
      body: { licenseStatus: 'DEACTIVATED' },
    });
    expect(status).toBe(200);
    const { results } = await env.DB.prepare(
      'select 1 from changes where subject = ? and published_revision = revision',
    )
      .bind(`license:${license.licenseKey}`)
      .all();
    expect(results).toHaveLength(1);
  });
});
