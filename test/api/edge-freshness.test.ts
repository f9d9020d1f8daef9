import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { settled } from '../support/app';
import { call, createBlacklist, createToken, updateLicense, validate } from '../support/client';
import { takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { isAllPublished, kvKeyOf } from '../support/published';
import { askFor, askForUnknown, openShop, tidyUpAfterEach } from '../support/shop';
import type { Step } from '../support/steps';
import { newWatchedIsolate, type WatchedIsolate } from '../support/watched-isolate';

/** How soon a change is seen: at once where it was made, within 60 seconds everywhere (1.5). */

const { newLicense } = openShop();
tidyUpAfterEach();

async function remove(path: string): Promise<void> {
  const answer = await call('DELETE', `/api/v2/${path}`);
  expect(answer.status, answer.text).toBe(204);
}

interface Asked {
  status: number;
  json: unknown;
}

/** How a program asks: over HTTP the one process, or an isolate. */
type Ask = (body: object, token?: string) => Promise<Asked>;

const askProcess: Ask = (body, token) =>
  token === undefined
    ? validate(body)
    : call('POST', '/api/v2/validate', { body, token, headers: {} });

const askIsolate =
  (isolate: WatchedIsolate): Ask =>
  (body, token) =>
    token === undefined
      ? isolate.validate(body)
      : isolate.validate(body, { version: 'v2', headers: { TOKEN: token } });

/**
 * Something that is changed to and fro. `withdraw` makes a program refused that was accepted,
 * `restore` makes it accepted again.
 */
interface Change {
  withdraw(): Promise<void>;
  restore(): Promise<void>;
  ask(by: Ask): Promise<Asked>;
  /** What a refused program reads. */
  refusal: { status: number; message: string };
}

const CHANGES: Record<string, () => Promise<Change>> = {
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
    const network = `10.${license.id >> 8}.${license.id & 255}`;
    let entry = 0;
    let asked = 0;
    return {
      withdraw: async () => {
        entry = (await createBlacklist({ data: `${network}.0/24` })).id;
      },
      restore: () => remove(`blacklists/${entry}`),
      // From many addresses, for one could ask no more than 60 times a minute.
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
      // Nobody is bound, for nothing is where the limit is -1.
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
      // Another one takes the slot.
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
};

function prepare(name: string): Promise<Change> {
  const found = CHANGES[name];
  if (!found) throw new Error(`No change is called ${name}`);
  return found();
}

/** Those that are promised by name are made more often. */
const PROMISED = [
  'a deactivated license',
  'a blacklist entry',
  'a token',
  'a lowered limit',
  'freed slots',
];
const NAMES = Object.entries(CHANGES).map(([name, prepare]) => ({
  name,
  prepare,
  times: PROMISED.includes(name) ? 50 : 6,
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
  const answer = await ask(by);
  expect(answer.status, what).toBe(status);
  expect(answer.json, what).toMatchObject({ message });
}

describe('in another isolate', () => {
  it.each(NAMES)(
    '60 seconds after a change nobody goes by what was: $name',
    async ({ prepare }) => {
      const clock = takeClock();
      const change = await prepare();
      const isolate = newWatchedIsolate();
      const by = askIsolate(isolate);
      // Twice: so that the second answer comes from memory.
      await expectAccepted(change, by);
      await expectAccepted(change, by);
      await settled();
      await change.withdraw();
      clock.elapse(59_900);
      await expectRefused(change, by);
      await settled();
      await change.restore();
      clock.elapse(59_900);
      await expectAccepted(change, by);
    },
  );

  it.each(NAMES)('nor in one that begins then, cold: $name', async ({ prepare }) => {
    const change = await prepare();
    await expectAccepted(change, askIsolate(newWatchedIsolate()));
    await settled();
    const isolate = newWatchedIsolate();
    await change.withdraw();
    await expectRefused(change, askIsolate(isolate));
    await settled();
    await change.restore();
    await expectAccepted(change, askIsolate(newWatchedIsolate()));
  });

  it.each(NAMES)(
    'each request brings the news, whatever it was for: $name',
    async ({ prepare }) => {
      const change = await prepare();
      const isolate = newWatchedIsolate();
      const by = askIsolate(isolate);
      await expectAccepted(change, by);
      await settled();
      const other = askFor(await newLicense());
      await change.withdraw();
      await (await isolate.validate(other)).recorded;
      await expectRefused(change, by);
      await settled();
      await change.restore();
      await (await isolate.validate(other)).recorded;
      await expectAccepted(change, by);
    },
  );

  it('a stale copy heals at its first use', async () => {
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    for (let time = 0; time < 3; time++) {
      await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
      await (await isolate.validate(askFor(license))).recorded;
      expect((await isolate.validate(askFor(license))).status).toBe(200);
      await settled();
      await updateLicense(license.id, { licenseStatus: 'DEACTIVATED' });
      // It may not know yet; what it writes then tells it.
      await (await isolate.validate(askFor(license))).recorded;
      expect((await isolate.validate(askFor(license))).status).toBe(400);
      await settled();
    }
  });

  it('that hears of a change after a later one does not go back to it', async () => {
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    await (await isolate.validate(askFor(license))).recorded;

    // What its record would tell it of the first change is long on its way.
    await updateLicense(license.id, { notes: 'Changed' });
    await isAllPublished();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    isolate.conditions.answer = (step) => (step === 'record' ? arrived : undefined);
    const { recorded } = await isolate.validate(askFor(license));
    await vi.waitFor(() => expect(isolate.steps().at(-1)).toBe('record'));

    // Of the second change a look-up tells it, while KV has the first one, as in a location that is
    // slow to hear.
    const kvKey = await kvKeyOf(license);
    const first = (await env.SNAPSHOTS.get(kvKey)) ?? '';
    await updateLicense(license.id, { licenseStatus: 'DEACTIVATED' });
    await isAllPublished();
    await env.SNAPSHOTS.put(kvKey, first);
    await isolate.validate(askForUnknown());
    expect((await isolate.validate(askFor(license))).status).toBe(400);

    arrive();
    await recorded;
    expect((await isolate.validate(askFor(license))).status).toBe(400);
  });

  it('asked again and again at the same moments as the change, it is never accepted once it was refused', async () => {
    const license = await newLicense();
    const isolates = [newWatchedIsolate(), newWatchedIsolate()];
    for (const isolate of isolates) await (await isolate.validate(askFor(license))).recorded;
    const [{ status }, ...statuses] = await Promise.all([
      call('PUT', `/api/v2/licenses/${license.id}`, { body: { licenseStatus: 'DEACTIVATED' } }),
      ...isolates.map(async (isolate) => {
        const seen: number[] = [];
        for (let time = 0; time < 10; time++) {
          const answer = await isolate.validate(askFor(license));
          seen.push(answer.status);
          await answer.recorded;
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

describe('an isolate that has slept for so long that the log has forgotten', () => {
  it('throws away what it has', async () => {
    const clock = takeClock();
    const [license, other] = [await newLicense(), await newLicense()];
    const isolate = newWatchedIsolate();
    await (await isolate.validate(askFor(license))).recorded;
    await (await isolate.validate(askFor(other))).recorded;

    await updateLicense(license.id, { licenseStatus: 'DEACTIVATED' });
    // Before its copy grows old by itself.
    clock.elapse(4.5 * 60_000);
    await env.DB.prepare(
      `delete from changes where subject <> 'blacklist' and seq < (select max(seq) from changes)`,
    ).run();
    // What it asks for first brings it in touch again; of the other license no news can come.
    await updateLicense(other.id, { notes: 'The last change in the log' });
    await env.DB.prepare('delete from changes where subject = ?')
      .bind(`license:${license.licenseKey}`)
      .run();
    await (await isolate.validate(askFor(other))).recorded;
    expect((await isolate.validate(askFor(license))).status).toBe(400);
  });
});

describe('the isolate that makes a change', () => {
  it('does not answer before it has heard of it', async () => {
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    await (await isolate.validate(askFor(license))).recorded;
    isolate.conditions.database = async (step) => {
      if (step === 'news') await new Promise((resolve) => setTimeout(resolve, 50));
      return null;
    };
    const { status } = await isolate.send('PUT', `/api/v2/licenses/${license.id}`, {
      body: { licenseStatus: 'DEACTIVATED' },
    });
    expect(status).toBe(200);
    expect((await isolate.validate(askFor(license))).status).toBe(400);
  });

  it.each(['fails', 'answer is lost'] as const)(
    'goes by no copy when what it would hear of it %s, until it has asked again',
    async (fault) => {
      const license = await newLicense();
      const isolate = newWatchedIsolate();
      await (await isolate.validate(askFor(license))).recorded;
      isolate.conditions.database = (step) => (step === 'news' ? fault : null);
      const { status } = await isolate.send('PUT', `/api/v2/licenses/${license.id}`, {
        body: { licenseStatus: 'DEACTIVATED' },
      });
      expect(status).toBe(200);
      expect((await isolate.validate(askFor(license))).status).toBe(400);
    },
  );

  it('hears of a change whose own answer was lost', async () => {
    captureConsole();
    const license = await newLicense();
    const isolate = newWatchedIsolate();
    await (await isolate.validate(askFor(license))).recorded;
    isolate.conditions.database = (_, [statement]) =>
      statement?.sql.startsWith('update "licenses"') ? 'answer is lost' : null;
    const { status } = await isolate.send('DELETE', `/api/v2/licenses/${license.id}`);
    expect(status).toBe(500);
    isolate.conditions.database = () => null;
    expect((await isolate.validate(askFor(license))).status).toBe(400);
  });
});

describe('a reader that is slower than the change', () => {
  /** Asks with an isolate whose first look is long on its way back, and makes the change meanwhile. */
  async function overtake(change: Change, step: Step) {
    const isolate = newWatchedIsolate();
    const by = askIsolate(isolate);
    // In touch, so that only what is looked up is slow.
    await (await isolate.validate(askFor(await newLicense()))).recorded;
    isolate.reset();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    isolate.conditions.kv = () => true;
    isolate.conditions.answer = (sent) => (sent === step ? arrived : undefined);
    const slow = change.ask(by);
    await vi.waitFor(() => expect(isolate.steps()).toContain(step));
    isolate.conditions.answer = undefined;
    isolate.conditions.kv = () => false;
    await change.withdraw();
    // Another request brings the news of it.
    await (await isolate.validate(askFor(await newLicense()))).recorded;
    return { by, slow, arrive };
  }

  const READERS = [
    { name: 'a deactivated license', step: 'license' },
    { name: 'a token', step: 'token' },
  ] as const;

  it.each(READERS)('gives what it has read to nobody who came after: $name', async (reader) => {
    captureConsole();
    const change = await prepare(reader.name);
    const { by, slow, arrive } = await overtake(change, reader.step);
    const after = expectRefused(change, by);
    arrive();
    await slow;
    await after;
    await expectRefused(change, by);
  });

  it.each(READERS)('leaves the newer one in memory: $name', async (reader) => {
    captureConsole();
    takeClock({ skipsPauses: true });
    const change = await prepare(reader.name);
    const { by, slow, arrive } = await overtake(change, reader.step);
    await expectRefused(change, by);
    arrive();
    await slow;
    await expectRefused(change, by);
  });
});

// Last: what it records would be given up by a clock that jumps.
describe('in the process that makes a change, the very next validation sees it', () => {
  it.each(NAMES)(
    '$times times: $name',
    async ({ prepare, times }) => {
      const change = await prepare();
      await expectAccepted(change, askProcess);
      for (let time = 0; time < times; ) {
        await change.withdraw();
        await expectRefused(change, askProcess, `time ${++time}`);
        await change.restore();
        await expectAccepted(change, askProcess, `time ${++time}`);
      }
    },
    30_000,
  );
});
