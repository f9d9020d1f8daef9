import type { VirtualClock } from './clock.ts';
import type { FakeD1 } from './fake-d1.ts';
import { Violation } from './invariants.ts';
import { currentInvocation, type Invocation, type Link, roundTrip } from './network.ts';
import type { Random } from './random.ts';

/** The service's own limit for a response. */
const TIMEOUT_MS = 10_000;
/** A delivery that is due waits for the scheduled handler, which runs each minute. */
const MAX_DUE_MS = 150_000;
/** The first attempt and seven retries. */
const MAX_ATTEMPTS = 8;

const WEBHOOKS = ['https://one.example/', 'https://two.example/'];

/** The receivers of two webhooks, which hear of everything, and what is true of each delivery. */
export class FakeReceivers {
  readonly #clock: VirtualClock;
  readonly #database: FakeD1;
  readonly #random: Random;
  readonly #fail: (violation: Violation) => void;
  /** The messages that arrived and were accepted, by webhook and id. */
  readonly #accepted = new Set<string>();
  readonly #underWay = new Map<string, Invocation>();
  #isCalm = false;

  constructor(
    clock: VirtualClock,
    database: FakeD1,
    random: Random,
    fail: (violation: Violation) => void,
  ) {
    this.#clock = clock;
    this.#database = database;
    this.#random = random;
    this.#fail = fail;
    for (const [index, url] of WEBHOOKS.entries()) {
      database.execute([
        {
          sql: `insert into webhooks (id, url, format, types, is_enabled, secret, created_at, updated_at)
            values (?, ?, 'standard', '[]', 1, 'whsec_AAAA', ?, ?)`,
          parameters: [index + 1, url, clock.now, clock.now],
        },
      ]);
    }
  }

  /** From now on all messages are accepted. */
  calm(): void {
    this.#isCalm = true;
  }

  /** The network of an isolate. */
  binding(link: Link) {
    const send = async (url: string, init: RequestInit): Promise<Response> => {
      const key = this.#begin(url, init);
      try {
        return await this.#respond(link, key);
      } finally {
        this.#underWay.delete(key);
      }
    };
    return { fetch: send };
  }

  #begin(url: string, { headers, body }: RequestInit): string {
    const id = new Headers(headers).get('webhook-id') ?? '';
    const key = `${url} ${id}`;
    const other = this.#underWay.get(key);
    if (other && !other.isOver) this.#fail(new Violation(`Two attempts at once: ${key}`));
    this.#underWay.set(key, currentInvocation());
    const { data } = JSON.parse(String(body));
    if (`msg_${data.id}` !== id) this.#fail(new Violation(`Event ${data.id} is sent as ${id}`));
    const known = this.#database.read(`select 1 from events where id = ${Number(data.id)}`);
    if (known.length === 0) this.#fail(new Violation(`Sent, but not committed: ${key}`));
    return key;
  }

  async #respond(link: Link, key: string): Promise<Response> {
    const chance = this.#isCalm ? 0 : this.#random.next();
    if (chance > 0.85) {
      await this.#clock.wait(TIMEOUT_MS);
      throw Object.assign(new Error('Too late'), { name: 'TimeoutError' });
    }
    return roundTrip(this.#clock, link, () => {
      if (chance > 0.7) return new Response(null, { status: 500 });
      if (chance > 0.6) {
        return new Response(null, { status: 429, headers: { 'Retry-After': '90' } });
      }
      this.#accepted.add(key);
      return new Response(null, { status: 204 });
    });
  }

  /** Checks that each event is delivered, or that its delivery says why it is not. */
  check(): void {
    const rows = this.#database.read(`
      select e.id, w.url, d.attempts, d.next_at, d.error from events e cross join webhooks w
        left join deliveries d on d.webhook_id = w.id and d.id = e.id`);
    for (const { id, url, attempts, next_at: nextAt, error } of rows) {
      const what = `event ${id} to ${url}`;
      if (attempts === null) throw new Violation(`No delivery of ${what}`);
      if (nextAt !== null) {
        const isLate = Number(nextAt) < this.#clock.now - MAX_DUE_MS;
        if (isLate) throw new Violation(`Due, but not attempted: ${what}`);
      } else if (error === null) {
        const hasArrived = this.#accepted.has(`${url} msg_${id}`);
        if (!hasArrived) throw new Violation(`Delivered, but not received: ${what}`);
      } else if (Number(attempts) < MAX_ATTEMPTS) throw new Violation(`Given up early: ${what}`);
    }
  }
}
