import { eq, sql } from 'drizzle-orm';
import { change, type Sender, stillHolds } from '../../db/change.ts';
import type { Database, Statement } from '../../db/client.ts';
import { differ } from '../../db/events.ts';
import { nextRevision } from '../../db/outbox.ts';
import { settings } from './schema.ts';

/** Settings of the service that administrators change while it runs (10). */

type Name = (typeof settings.$inferSelect)['name'];

export interface StoredSettings<Value> {
  value: Value;
  /** 0 for settings that were never changed. */
  revision: number;
}

/** The settings as they are stored, with those of `defaults` that are not. */
export async function readSettings<Value extends object>(
  db: Database,
  name: Name,
  defaults: Value,
): Promise<StoredSettings<Value>> {
  const row = await db.select().from(settings).where(eq(settings.name, name)).get();
  if (!row) return { value: defaults, revision: 0 };
  const stored: Partial<Value> = JSON.parse(row.value);
  return { value: { ...defaults, ...stored }, revision: row.revision };
}

/**
 * Stores settings that were read before.
 *
 * @param shown the fields of the event
 * @param hidden fields that the event shows as changed, without their values
 * @param also statements of the same transaction
 * @returns the settings as they are stored
 * @throws DomainError if another request has changed them since
 */
export async function writeSettings<Value extends object>(
  sender: Sender,
  name: Name,
  before: StoredSettings<Value>,
  value: Value,
  shown: readonly (keyof Value & string)[],
  hidden: readonly (keyof Value & string)[],
  also: readonly Statement[] = [],
): Promise<StoredSettings<Value>> {
  const { db, now } = sender;
  const changes = differ([...shown, ...hidden])(before.value, value);
  for (const field of hidden) {
    if (changes[field]) changes[field] = { before: null, after: null };
  }
  const row = sql`select 1 from ${settings} where name = ${name}`;
  const isSame =
    before.revision === 0
      ? sql`not exists (${row})`
      : sql`exists (${row} and revision = ${before.revision})`;
  const revision = nextRevision(before.revision, now);
  const values = { value: JSON.stringify(value), updatedAt: now, revision };
  await change(sender, {
    event: { type: 'settings.updated', id: null, changes },
    when: [stillHolds(isSame)],
    statements: {
      settings: db
        .insert(settings)
        .values({ name, ...values })
        .onConflictDoUpdate({ target: settings.name, set: values }),
      also: [...also],
    },
  });
  return { value, revision };
}

/** After a failure the database is not asked again for this time: a flood must not make an outage worse. */
const MIN_RETRY_MS = 1_000;

/**
 * Settings that an isolate holds in memory: pages that anybody can open must not read them each time. No request waits for
 * the read of another one, which could be cancelled.
 */
export class HeldSettings<Value extends object> {
  readonly #read: () => Promise<Value>;
  #held: { value: Value } | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  /** Grows with each change in this isolate: what was read before it is not held. */
  #version = 0;

  constructor(db: Database, name: Name, defaults: Value) {
    this.#read = async () => (await readSettings(db, name, defaults)).value;
  }

  /** The settings, at most so old; during a read of another request those of before. */
  async get(maxAgeMs: number): Promise<Value> {
    const now = performance.now();
    if (this.#held && now - this.#readAt <= maxAgeMs) return this.#held.value;
    if (now - this.#failedAt <= MIN_RETRY_MS) throw new Error('The settings could not be read');
    this.#readAt = now;
    const version = this.#version;
    const value = await this.#read().catch((error) => {
      this.#failedAt = performance.now();
      throw error;
    });
    if (version === this.#version) this.#held = { value };
    return value;
  }

  /** Lets the next request read them, after a change in this isolate. */
  forget(): void {
    this.#version++;
    this.#held = undefined;
  }
}
