import { createHash } from 'node:crypto';
import { BlockList } from 'node:net';
import { EPOCH, SLOTS } from '../../src/lib/time-id.ts';
import type { FakeD1 } from './fake-d1.ts';

/**
 * The states of the database, read from its own tables after each commit, each with its time; and the outcome
 * of a validation in each of them, decided here a second time and in another way than the service does.
 */

export interface LicenseState {
  productId: number;
  state: string;
  /** Milliseconds since 1970. */
  expiresAt: number | null;
  /** Null if the expiry does not wait for the first use. */
  expiresAfterDays: number | null;
  maxIPs: number;
  maxHWIDs: number;
  ips: string[];
  hwids: string[];
  /** How often a program has taken it over. */
  resets: number;
}

export interface TokenState {
  intents: string[];
  isRevoked: boolean;
}

/** The blocked values, as {@link blockedName} writes them. */
export type Blacklist = Record<string, true>;

/** @param productId null for all products */
export const blockedName = (type: string, data: string, productId: number | null): string =>
  `${type} ${data} ${productId}`;

/** A state of a subject, and the time until which it was the current one. */
interface Entry<State> {
  json: string;
  state: State;
  revision: number;
  from: number;
  until: number;
}

/** The states of a subject in their order. A subject is a license, a token, a product or the blacklist. */
export class History<State extends object = object> {
  readonly subject: string;
  /** The key of its snapshots in KV. */
  readonly kvKey: string;
  readonly #entries: Entry<State>[] = [];

  constructor(subject: string, kvKey: string) {
    this.subject = subject;
    this.kvKey = kvKey;
  }

  /** The number of the current state. */
  get index(): number {
    return this.#entries.length - 1;
  }

  get current(): State | undefined {
    return this.#entries.at(-1)?.state;
  }

  get previous(): State | undefined {
    return this.#entries.at(-2)?.state;
  }

  /** @returns whether it is another state or revision than the current one */
  add(json: string, revision: number, now: number): boolean {
    const last = this.#entries.at(-1);
    if (last?.json === json && last.revision === revision) return false;
    if (last) last.until = now;
    const until = Number.POSITIVE_INFINITY;
    this.#entries.push({ json, state: JSON.parse(json), revision, from: now, until });
    return true;
  }

  /** The number of the state at a time; 0 if there was none yet. */
  indexAt(time: number): number {
    return Math.max(
      0,
      this.#entries.findLastIndex(({ from }) => from <= time),
    );
  }

  /** The states from a number on that were current since a time, or have one of these revisions. */
  since(time: number, index = 0, revisions: readonly number[] = []): State[] {
    return this.#entries
      .slice(index)
      .filter(({ until, revision }) => until >= time || revisions.includes(revision))
      .map(({ state }) => state);
  }

  /** The fields that the last change has changed. */
  changedFields(): string[] {
    const [before, after] = [this.previous, this.current].map((state) =>
      Object.entries(state ?? {}).map(([name, value]) => [name, JSON.stringify(value)] as const),
    );
    const [old, now] = [new Map(before), new Map(after)];
    return [...new Set([...old.keys(), ...now.keys()])].filter(
      (name) => old.get(name) !== now.get(name),
    );
  }
}

const LICENSES = `
  select 'license ' || id as subject, license_key as secret, revision, json_object(
    'productId', product_id, 'state', state, 'expiresAt', expires_at,
    'expiresAfterDays', expires_after_days,
    'maxIPs', max_ips, 'maxHWIDs', max_hwids,
    'ips', (select json_group_array(value order by position) from bindings b
            where b.license_id = l.id and b.type = 'IP'),
    'hwids', (select json_group_array(value order by position) from bindings b
              where b.license_id = l.id and b.type = 'HWID'),
    'resets', (select count(*) from self_resets s where s.license_id = l.id)) as json
  from licenses l`;
const TOKENS = `
  select 'token ' || id as subject, token_hash as secret, revision, json_object(
    'intents', json(intents), 'isRevoked', json(iif(revoked_at is null, 'false', 'true'))) as json
  from tokens`;
const BLACKLISTS = `
  select 'blacklist' as subject, '' as secret,
    (select value from counters where name = 'policy_revision') as revision,
    json_group_object(license_data_type || ' ' || data || ' ' || ifnull(product_id, 'null'),
      json('true')) as json
  from blacklists`;
const PRODUCTS = `
  select 'product ' || id as subject, '' as secret, 0 as revision, json_object('name', name) as json
  from products`;

/** A day of `ipIdleDays` and `hwidIdleDays`: with real ones, each run would take days. */
export const IDLE_DAY_MS = 60_000;

/** Only slots that can be idle. A row that installations share counts as a use of each value. */
const IDLE = `
  select 'license ' || b.license_id || ' ' || b.value as slot, max(b.used_at, ifnull((
      select max(r.id / ${SLOTS} + ${EPOCH})
      from installations i join requests r on r.installation_id = i.id
      where i.license_id = l.id and (
        iif(b.type = 'IP', i.ip, i.hwid) = b.value or i.fingerprint like 'day:%')), 0))
    + iif(b.type = 'IP', p.ip_idle_days, p.hwid_idle_days) * ${IDLE_DAY_MS} as idle_at
  from bindings b join licenses l on l.id = b.license_id join products p on p.id = l.product_id
  where coalesce(p.ip_idle_days, p.hwid_idle_days) is not null`;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Follows the database from commit to commit. */
export class Truth {
  readonly licenses = new Map<string, History<LicenseState>>();
  readonly tokens = new Map<string, History<TokenState>>();
  readonly blacklist = new History<Blacklist>('blacklist', 'policy');
  /** When the bound values of licenses are idle, by {@link IDLE}. Each commit makes a new one. */
  #idleAt: ReadonlyMap<string, number> = new Map();
  readonly #blacklists = new Map([['blacklist', this.blacklist]]);
  readonly #products = new Map<string, History>();
  readonly #database: FakeD1;

  constructor(database: FakeD1) {
    this.#database = database;
    this.observe(0);
  }

  find(subject: string): History | undefined {
    const all: ReadonlyMap<string, History>[] = [this.licenses, this.tokens, this.#blacklists];
    return all.flatMap((histories) => histories.get(subject) ?? [])[0];
  }

  /**
   * Finds the idle slots of a license, as the last commit has left them.
   *
   * @returns whether a bound value is idle at a time. A value that has given way is not
   */
  idleSlots(subject: string | null, at: number): IsIdle {
    const idleAt = this.#idleAt;
    return (value) => (idleAt.get(`${subject} ${value}`) ?? at) < at;
  }

  /** Reads the changes of a commit. */
  observe(now: number): History[] {
    const slots = this.#database.read(IDLE);
    this.#idleAt = new Map(slots.map(({ slot, idle_at }) => [String(slot), Number(idle_at)]));
    return [
      ...this.#observe(LICENSES, this.licenses, (key) => `license:${sha256(key)}`, now),
      ...this.#observe(TOKENS, this.tokens, (hash) => `token:${hash}`, now),
      ...this.#observe(BLACKLISTS, this.#blacklists, String, now),
      ...this.#observe(PRODUCTS, this.#products, String, now),
    ];
  }

  #observe<State extends object>(
    sql: string,
    histories: Map<string, History<State>>,
    kvKeyOf: (secret: string) => string,
    now: number,
  ): History[] {
    return this.#database.read(sql).flatMap(({ subject, secret, revision, json }) => {
      const name = String(subject);
      const history = histories.get(name) ?? new History<State>(name, kvKeyOf(String(secret)));
      histories.set(name, history);
      const isNew = history.add(String(json), Number(revision), now);
      return isNew && history.changedFields().length > 0 ? [history] : [];
    });
  }
}

export type IsIdle = (value: string) => boolean;

/** A validation request, with canonical addresses. */
export interface ValidationRequest {
  licenseKey: string;
  productId: number;
  /** The address to be bound. */
  ip: string;
  connectingAddress: string;
  hwid: string | null;
  /** Whether a person wants to move the license here. */
  takesOver: boolean;
}

const familyOf = (address: string) => (address.includes(':') ? 'ipv6' : 'ipv4');

/** The message of a rejection by the blacklist, or null if no entry applies. */
export function blacklistOutcome(
  blacklist: Blacklist,
  { ip, connectingAddress, hwid, productId }: ValidationRequest,
): string | null {
  const applying = Object.keys(blacklist)
    .map((name) => name.split(' '))
    .filter(([, , product]) => product === 'null' || product === String(productId));
  const ranges = new BlockList();
  for (const [type, data = ''] of applying) {
    const [address = '', prefix] = data.split('/');
    if (type !== 'IP') continue;
    if (prefix === undefined) ranges.addAddress(address, familyOf(address));
    else ranges.addSubnet(address, Number(prefix), familyOf(address));
  }
  if ([ip, connectingAddress].some((address) => ranges.check(address, familyOf(address)))) {
    return 'IP address is blacklisted';
  }
  const isBlocked = applying.some(([type, data]) => type === 'HWID' && data === hwid);
  return isBlocked ? 'Hardware ID is blacklisted' : null;
}

/** How often programs may take a license over. No run is as long as the 30 days after which one returns. */
export const SELF_RESETS = 2;

/** The message of a valid response, with its limits. */
export const validMessage = (maxIPs: number, maxHWIDs: number): string =>
  `License is valid (${maxIPs}, ${maxHWIDs})`;

const UNKNOWN = 'License not found or invalid';

/**
 * The message of a response by a license. Null if a free or idle slot has to be taken or the expiry started first,
 * because the state after that decides.
 *
 * @param now the time of the request, in milliseconds since 1970
 */
export function licenseOutcome(
  license: LicenseState | null,
  request: ValidationRequest,
  now: number,
  isIdle: IsIdle = () => false,
): string | null {
  if (!license || license.productId !== request.productId) return UNKNOWN;
  if (license.state === 'DELETED') return UNKNOWN;
  if (license.state === 'DEACTIVATED') return 'License is deactivated';
  if (license.expiresAt !== null && license.expiresAt <= now) return 'License has expired';
  const slots = [
    { value: request.ip, bound: license.ips, limit: license.maxIPs, full: 'Max IPs reached' },
    {
      value: request.hwid,
      bound: license.hwids,
      limit: license.maxHWIDs,
      full: 'Max HWIDs reached',
    },
  ].filter(({ value, bound, limit }) => value !== null && limit !== -1 && !bound.includes(value));
  const full = slots.find(
    ({ bound, limit }) => bound.filter((value) => !isIdle(value)).length >= limit,
  );
  if (full) return full.full;
  const mustBeStored = slots.length > 0 || license.expiresAfterDays !== null;
  return mustBeStored ? null : validMessage(license.maxIPs, license.maxHWIDs);
}

/** The outcome by a token: null if it permits a validation, else the status of the response. */
export function tokenOutcome({ isRevoked, intents }: TokenState): string | null {
  if (isRevoked) return 'status 401';
  return intents.includes('LICENSE_VALIDATE') ? null : 'status 403';
}
