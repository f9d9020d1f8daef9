import { setTimeout as wait } from 'node:timers/promises';
import type { Sent } from './load.ts';
import { licenseKeyIn } from './requests.ts';

/** Compares the history with the responses: each must have left exactly one record. */

/** The records of a load. */
export interface Witnessed {
  /** Responses that must have left a record. */
  due: number;
  stored: number;
  lost: number;
  doubled: number;
  /** Time from the call until the last record was stored. */
  storedAfterMs: number;
}

/** The names of the columns are `key` and `n`. */
export type ReadCounts = (sql: string) => Promise<{ key: string; n: number }[]>;

const POLL_INTERVAL_MS = 10;
/** Missing records count as lost when none has come for this time. They should be stored within two seconds. */
const STALLED_MS = 10_000;
/** The key of records of no license. */
const UNKNOWN = '';

const COUNT_ALL = "select '' as key, count(*) as n from requests";
const COUNT_BY_LICENSE = `
  select ifnull(c.license_key, '${UNKNOWN}') as key, sum(r.n) as n
  from (select installation_id, count(*) as n from requests group by bucket, product_id, installation_id) r
    left join installations c on c.id = r.installation_id
  group by 1`;

/** The number of records that a license must have, and of those that it may have beyond. */
interface Expected {
  due: number;
  uncertain: number;
}

export class Witness {
  readonly #read: ReadCounts;
  /** By license, because a lost record and a doubled one leave the same sum. */
  readonly #expected = new Map<string, Expected>();
  #seen = { stored: 0, lost: 0, doubled: 0 };
  /** Responses that must have left a record. */
  due = 0;

  /** @param read runs SQL on the database of the service */
  constructor(read: ReadCounts) {
    this.#read = read;
  }

  /**
   * Waits for the records of loads that have just ended.
   *
   * @param areKnown whether their licenses exist
   * @param whenStored called after the last record is stored, before a look at all of them
   */
  async watch(
    loads: readonly Sent[],
    areKnown: boolean,
    whenStored: () => Promise<void> = async () => undefined,
  ): Promise<Witnessed> {
    const due = this.#expect(loads, areKnown);
    const storedAfterMs = await this.#waitFor(this.#seen.stored + due);
    await whenStored();
    const before = this.#seen;
    const now = await this.#look();
    this.#seen = now;
    return {
      due,
      storedAfterMs,
      stored: now.stored - before.stored,
      lost: Math.max(0, now.lost - before.lost),
      doubled: Math.max(0, now.doubled - before.doubled),
    };
  }

  #expect(loads: readonly Sent[], areKnown: boolean): number {
    const expectedOf = (request: Uint8Array): Expected => {
      const key = areKnown ? licenseKeyIn(request) : UNKNOWN;
      const expected = this.#expected.get(key) ?? { due: 0, uncertain: 0 };
      this.#expected.set(key, expected);
      return expected;
    };
    let due = 0;
    for (const { recorded, uncertain } of loads) {
      for (const [request, responses] of recorded) {
        expectedOf(request).due += responses;
        due += responses;
      }
      for (const request of uncertain) expectedOf(request).uncertain++;
    }
    this.due += due;
    return due;
  }

  /** @returns the time until the last record was stored, in milliseconds */
  async #waitFor(total: number): Promise<number> {
    const startedAt = performance.now();
    let grewAt = startedAt;
    for (let before = -1; ; ) {
      const [{ n: stored } = { n: 0 }] = await this.#read(COUNT_ALL);
      const now = performance.now();
      if (stored > before) grewAt = now;
      if (stored >= total || now - grewAt > STALLED_MS) return grewAt - startedAt;
      before = stored;
      await wait(POLL_INTERVAL_MS);
    }
  }

  async #look() {
    const rows = await this.#read(COUNT_BY_LICENSE);
    const counts = new Map(rows.map(({ key, n }) => [key, n]));
    const seen = { stored: 0, lost: 0, doubled: 0 };
    for (const key of new Set([...counts.keys(), ...this.#expected.keys()])) {
      const stored = counts.get(key) ?? 0;
      const { due, uncertain } = this.#expected.get(key) ?? { due: 0, uncertain: 0 };
      seen.stored += stored;
      seen.lost += Math.max(0, due - stored);
      seen.doubled += Math.max(0, stored - due - uncertain);
    }
    return seen;
  }
}
