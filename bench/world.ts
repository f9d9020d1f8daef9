import { createHash } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import { VirtualClock } from '../test/simulation/clock.ts';
import { FakeD1 } from '../test/simulation/fake-d1.ts';
import { Isolate } from '../test/simulation/isolate.ts';
import type { StartService } from '../test/simulation/modules.ts';
import { Link } from '../test/simulation/network.ts';
import { Random } from '../test/simulation/random.ts';
import { ROOT_TOKEN } from '../test/support/root-token.ts';

/**
 * A shop whose servers are spread over the world: the real code in virtual time, with assumed latencies. The
 * assumptions, and the reason for each:
 *
 * | Assumption | Reason |
 * |---|---|
 * | Time passes on the way to KV and D1 only. | The CPU time of a validation is under a millisecond. The way from a server to its location does not depend on Licet. |
 * | Servers: see `LOCATIONS`. | Most of them are rented in European and North American data centres. |
 * | Round trips to D1: see `LOCATIONS`, and 2 ms of work. | Public tables of backbones, for a primary in Frankfurt. |
 * | Cold reads of KV: see `LOCATIONS`. Over all servers their median is 28 ms and their 95th percentile 59 ms, two side by side. | They reach the nearest tier that has the value, and far locations have far tiers. The percentiles are those that Cloudflare has published. |
 * | A location caches a value for `cacheTtl`; then a read takes 3 ms. | The documentation of KV says the same. |
 * | A put is seen everywhere at once. | Nothing changes here. Late puts are the simulation's matter. |
 * | One isolate per location, which ends after 10 minutes without a request. | Cloudflare sends the requests of a Worker that is not busy to one machine of a location. How long an idle isolate lives is not documented; a shorter life means more cold reads, which are within the limit. |
 * | Starting an isolate takes no time. | It happens during the TLS handshake. |
 * | One server per license, and the shop's servers ask at random times, as a Poisson process. | Two servers of a license in one location would find it in memory more often. |
 * | Each license is bound and published. | The figures are for known licenses. A first binding has to wait for D1. |
 */

/** A shop, by its validations and by the interval in which each server asks. */
export interface Shop {
  validationsPerDay: number;
  intervalMinutes: 5 | 60;
}

export interface WorldResult {
  /** Times until the response, in milliseconds. */
  responseTimesMs: readonly number[];
  /** Responses that waited for D1. */
  waitedForD1: number;
  /** Responses other than 200. */
  wrong: number;
  /** Isolates that were started. */
  isolates: number;
}

interface Location {
  name: string;
  /** The share of servers, in percent. */
  share: number;
  /** The round trip to D1 in Frankfurt, in milliseconds. */
  d1Ms: number;
  /** A cold read of KV: the nearest tier that has the value, in milliseconds. */
  coldMs: number;
}

const LOCATIONS: readonly Location[] = [
  { name: 'Frankfurt', share: 15, d1Ms: 4, coldMs: 17 },
  { name: 'Amsterdam', share: 7, d1Ms: 9, coldMs: 19 },
  { name: 'Paris', share: 8, d1Ms: 11, coldMs: 20 },
  { name: 'London', share: 6, d1Ms: 15, coldMs: 21 },
  { name: 'Warsaw', share: 5, d1Ms: 20, coldMs: 25 },
  { name: 'Helsinki', share: 5, d1Ms: 30, coldMs: 29 },
  { name: 'Madrid', share: 2, d1Ms: 30, coldMs: 30 },
  { name: 'Istanbul', share: 3, d1Ms: 40, coldMs: 38 },
  { name: 'Ashburn', share: 10, d1Ms: 90, coldMs: 22 },
  { name: 'New York', share: 6, d1Ms: 85, coldMs: 25 },
  { name: 'Montreal', share: 5, d1Ms: 96, coldMs: 30 },
  { name: 'Chicago', share: 5, d1Ms: 102, coldMs: 31 },
  { name: 'Dallas', share: 6, d1Ms: 118, coldMs: 36 },
  { name: 'Los Angeles', share: 4, d1Ms: 148, coldMs: 43 },
  { name: 'Singapore', share: 4, d1Ms: 160, coldMs: 42 },
  { name: 'Tokyo', share: 2, d1Ms: 230, coldMs: 48 },
  { name: 'Mumbai', share: 2, d1Ms: 125, coldMs: 52 },
  { name: 'Sydney', share: 2, d1Ms: 250, coldMs: 58 },
  { name: 'São Paulo', share: 2, d1Ms: 200, coldMs: 62 },
  { name: 'Johannesburg', share: 1, d1Ms: 165, coldMs: 66 },
];

/** Reads of the same place differ by this factor, one way or the other, in two of three cases. */
const SPREAD = 1.15;
/** A read of a value that the location has cached. */
const HOT_MS = 3;
const PUT_MS = 60;
const D1_WORK_MS = 2;
const IDLE_MINUTES = 10;
const START = Date.UTC(2026, 10, 20, 12);

/** A link whose messages always take the same time. */
class SteadyLink extends Link {
  readonly #oneWayMs: number;

  constructor(service: string, random: Random, roundTripMs: number) {
    super(service, random, roundTripMs, roundTripMs);
    this.#oneWayMs = roundTripMs / 2;
  }

  override latencyMs(): number {
    return this.#oneWayMs;
  }
}

/** KV without faults. */
class SpreadKv {
  readonly values = new Map<string, string>();
  readonly #clock: VirtualClock;
  readonly #random: Random;

  constructor(clock: VirtualClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  binding({ coldMs }: Location): object {
    const cachedUntil = new Map<string, number>();
    return {
      get: async (key: string, { cacheTtl }: { cacheTtl: number }) => {
        const isHot = this.#clock.now < (cachedUntil.get(key) ?? 0);
        await this.#clock.wait(isHot ? HOT_MS : coldMs * SPREAD ** this.#normal());
        cachedUntil.set(key, this.#clock.now + cacheTtl * 1000);
        return this.values.get(key) ?? null;
      },
      put: async (key: string, value: string) => {
        await this.#clock.wait(PUT_MS);
        this.values.set(key, value);
      },
      delete: async (key: string) => {
        await this.#clock.wait(PUT_MS);
        this.values.delete(key);
      },
    };
  }

  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random.next()));
    return radius * Math.cos(2 * Math.PI * this.#random.next());
  }
}

interface Server {
  key: string;
  address: string;
  place: Place;
}

/** A location, and the isolate that serves it. */
class Place {
  readonly database: SteadyLink;
  starts = 0;
  readonly #newIsolate: () => Isolate;
  readonly #clock: VirtualClock;
  #isolate: Isolate | undefined;
  #usedAt = 0;

  constructor(clock: VirtualClock, database: SteadyLink, newIsolate: () => Isolate) {
    this.#clock = clock;
    this.database = database;
    this.#newIsolate = newIsolate;
  }

  isolate(): Isolate {
    const { now } = this.#clock;
    const isIdle = now - this.#usedAt > IDLE_MINUTES * MINUTE_MS;
    if (!this.#isolate || isIdle) {
      this.#isolate?.crash();
      this.#isolate = this.#newIsolate();
      this.starts++;
    }
    this.#usedAt = now;
    return this.#isolate;
  }
}

/** Stores a license whose server is bound, and publishes it. */
function addLicense(database: FakeD1, kv: SpreadKv, id: number, server: Server): void {
  database.execute([
    {
      sql: `insert into licenses (id, product_id, license_key, license_key_normalized, license_type, max_ips,
        max_hwids, revision, created_at, updated_at) values (?, 1, ?, ?, 'PERMANENT', 1, -1, ?, ?, ?)`,
      parameters: [id, server.key, server.key, START, START, START],
    },
    {
      sql: `insert into bindings (license_id, type, value, position) values (?, 'IP', ?, 1)`,
      parameters: [id, server.address],
    },
  ]);
  const hash = createHash('sha256').update(server.key).digest('hex');
  const snapshot = {
    format: 2,
    id,
    revision: START,
    productId: 1,
    state: 'ACTIVE',
    expiresAt: null,
    maxIPs: 1,
    maxHWIDs: -1,
    ips: [server.address],
    hwids: [],
    totalRequests: 0,
  };
  kv.values.set(`license:${hash}`, JSON.stringify(snapshot));
}

/**
 * Lets the servers of a shop ask for a while, as a Poisson process. The first fifth is not measured.
 *
 * @param count validations
 */
export async function simulateShop(
  start: StartService,
  { validationsPerDay, intervalMinutes }: Shop,
  count: number,
): Promise<WorldResult> {
  const random = new Random(validationsPerDay + intervalMinutes);
  const clock = new VirtualClock(START);
  const database = new FakeD1(clock);
  const kv = new SpreadKv(clock, random.fork());
  database.execute([
    {
      sql: `insert into products (id, name, product_type, default_max_ips, default_max_hwids, created_at,
        updated_at) values (1, 'Plugin', 'OTHER', 1, -1, ?, ?)`,
      parameters: [START, START],
    },
  ]);

  const places = LOCATIONS.flatMap((location) => {
    const link = new SteadyLink('D1', random.fork(), location.d1Ms + D1_WORK_MS);
    const env = {
      DB: database.binding(link),
      SNAPSHOTS: kv.binding(location),
      ROOT_TOKEN,
      REQUIRE_HWID: 'false',
      REQUEST_RETENTION_DAYS: '90',
      LOG_REQUESTS: 'false',
    };
    const environment = { clock, random: random.fork(), env, log: () => undefined };
    const newIsolate = () => new Isolate(location.name, start, environment);
    const place = new Place(clock, link, newIsolate);
    return Array.from({ length: location.share }, () => place);
  });
  const perServer = (24 * 60) / intervalMinutes;
  const servers = Array.from({ length: Math.ceil(validationsPerDay / perServer) }, (_, index) => {
    const address = `203.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
    return { key: `KEY-${index}`, address, place: random.pick(places) };
  });
  for (const [index, server] of servers.entries()) addLicense(database, kv, index + 1, server);
  // The blacklist is published in the first minute of a service.
  const scheduled = random.pick(places).isolate().scheduled(clock.now);
  await clock.until(scheduled);

  const result = { responseTimesMs: [] as number[], waitedForD1: 0, wrong: 0, isolates: 0 };
  const ask = async ({ key, address, place }: Server, isMeasured: boolean): Promise<void> => {
    const startedAt = clock.now;
    const { invocation, response } = place.isolate().request(
      new Request('https://licet.test/api/v1/validate', {
        method: 'POST',
        headers: { 'CF-Connecting-IP': address },
        body: JSON.stringify({ licenseKey: key, productId: 1, ip: address }),
      }),
    );
    const { status } = await response;
    if (!isMeasured) return;
    if (status !== 200) result.wrong++;
    if (invocation.trips.some(({ link }) => link === place.database)) result.waitedForD1++;
    result.responseTimesMs.push(clock.now - startedAt);
  };
  const meanPauseMs = DAY_MS / validationsPerDay;
  const asked: Promise<void>[] = [];
  for (let number = 0; number < count; number++) {
    asked.push(ask(random.pick(servers), number >= count / 5));
    await clock.pass(Math.round(-Math.log(1 - random.next()) * meanPauseMs));
  }
  await clock.pass(MINUTE_MS);
  await Promise.all(asked);
  result.isolates = [...new Set(places)].reduce((sum, { starts }) => sum + starts, 0);
  return result;
}
