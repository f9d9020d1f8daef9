import { BlockList } from 'node:net';
import type { FakeD1 } from './fake-d1.ts';

/**
 * What is true: the states that the database has been in, as its own tables tell it, each with the time
 * of the commit that ended it; and what each of them says of a validation, decided here once more and
 * in another way than the service does.
 */

export interface LicenseState {
  id: number;
  licenseKey: string;
  productId: number;
  state: string;
  /** Milliseconds since 1970. */
  expiresAt: number | null;
  maxIPs: number;
  maxHWIDs: number;
  ips: string[];
  hwids: string[];
}

export interface BlacklistEntry {
  id: number;
  type: string;
  data: string;
  productId: number | null;
}

export interface TokenState {
  id: number;
  hash: string;
  intents: string[];
  expiresAt: number | null;
  isRevoked: boolean;
}

/** One state of a subject, and until when it was the last one. */
interface Entry<State> {
  json: string;
  /** Null where the subject does not exist. */
  state: State | null;
  from: number;
  until: number;
}

/** The states of one subject, in their order. */
export class History<State> {
  readonly #entries: Entry<State>[] = [];

  /** The number of the present state, to be told from later ones. */
  get index(): number {
    return this.#entries.length - 1;
  }

  get current(): State | null {
    return this.#entries.at(-1)?.state ?? null;
  }

  /** The present state as the database writes it. */
  get json(): string {
    return this.#entries.at(-1)?.json ?? 'null';
  }

  add(json: string, state: State | null, now: number): void {
    const last = this.#entries.at(-1);
    if (last) last.until = now;
    this.#entries.push({ json, state, from: now, until: Number.POSITIVE_INFINITY });
  }

  /** All states but those in which the subject did not exist, with their numbers. */
  entries(): { state: State; index: number }[] {
    return this.#entries.flatMap(({ state }, index) => (state === null ? [] : [{ state, index }]));
  }

  /** The number of the state at a time, if it began after another time; else 0. */
  indexAt(time: number, after: number): number {
    const index = this.#entries.findLastIndex(({ from }) => from <= time);
    return (this.#entries[index]?.from ?? 0) > after ? index : 0;
  }

  /** The states that were the last one at some moment since a time, and are no older than one. */
  since(time: number, index = 0): (State | null)[] {
    return this.#entries
      .slice(Math.max(0, index))
      .filter(({ until }) => until >= time)
      .map(({ state }) => state);
  }
}

/** A commit's change of one subject. */
export type Change =
  | { kind: 'license'; id: number; before: LicenseState | null; after: LicenseState | null }
  | { kind: 'blacklist' }
  | { kind: 'token'; id: number; before: TokenState | null; after: TokenState | null };

const LICENSES = `
  select id, json_object(
    'id', id, 'licenseKey', license_key, 'productId', product_id, 'state', state,
    'expiresAt', expires_at, 'maxIPs', max_ips, 'maxHWIDs', max_hwids,
    'ips', (select json_group_array(value order by position) from bindings b
            where b.license_id = l.id and b.type = 'IP'),
    'hwids', (select json_group_array(value order by position) from bindings b
              where b.license_id = l.id and b.type = 'HWID')) as json
  from licenses l`;
const BLACKLIST = `
  select json_group_array(json_object(
    'id', id, 'type', license_data_type, 'data', data, 'productId', product_id)) as json
  from blacklists`;
const TOKENS = `
  select id, json_object(
    'id', id, 'hash', token_hash, 'intents', json(intents), 'expiresAt', expires_at,
    'isRevoked', json(iif(revoked_at is null, 'false', 'true'))) as json
  from tokens`;

/** Follows the database from commit to commit. */
export class Truth {
  readonly licenses = new Map<number, History<LicenseState>>();
  readonly tokens = new Map<number, History<TokenState>>();
  readonly blacklist = new History<BlacklistEntry[]>();

  readonly #database: FakeD1;

  constructor(database: FakeD1, now: number) {
    this.#database = database;
    this.blacklist.add('[]', [], now);
  }

  /** Takes in what a commit has just changed. */
  observe(now: number): Change[] {
    const changes: Change[] = [];
    for (const [id, before, after] of this.#observeRows(LICENSES, this.licenses, now)) {
      changes.push({ kind: 'license', id, before, after });
    }
    for (const [id, before, after] of this.#observeRows(TOKENS, this.tokens, now)) {
      changes.push({ kind: 'token', id, before, after });
    }
    const json = String(this.#database.read(BLACKLIST)[0]?.json);
    if (json !== this.blacklist.json) {
      this.blacklist.add(json, JSON.parse(json), now);
      changes.push({ kind: 'blacklist' });
    }
    return changes;
  }

  #observeRows<State>(
    sql: string,
    histories: Map<number, History<State>>,
    now: number,
  ): [id: number, before: State | null, after: State | null][] {
    const rows = new Map(
      this.#database.read(sql).map(({ id, json }) => [Number(id), String(json)] as const),
    );
    for (const id of rows.keys()) if (!histories.has(id)) histories.set(id, new History());
    const changes: [number, State | null, State | null][] = [];
    for (const [id, history] of histories) {
      const json = rows.get(id) ?? 'null';
      if (json === history.json) continue;
      const before = history.current;
      history.add(json, JSON.parse(json), now);
      changes.push([id, before, history.current]);
    }
    return changes;
  }
}

/** A validation as the client means it; addresses canonical. */
export interface Asked {
  licenseKey: string;
  productId: number;
  /** What is bound: the body's address, else the connecting one. */
  ip: string;
  connectingAddress: string;
  hwid: string | null;
}

/** What the blacklist says: a message, or null where nothing of it applies. */
export function blacklistVerdict(entries: readonly BlacklistEntry[], asked: Asked): string | null {
  const applying = entries.filter(
    ({ productId }) => productId === null || productId === asked.productId,
  );
  const ranges = new BlockList();
  for (const { data } of applying.filter(({ type }) => type === 'IP')) {
    const [address = '', prefix] = data.split('/');
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    if (prefix === undefined) ranges.addAddress(address, family);
    else ranges.addSubnet(address, Number(prefix), family);
  }
  const isBlocked = [asked.ip, asked.connectingAddress].some((address) =>
    ranges.check(address, address.includes(':') ? 'ipv6' : 'ipv4'),
  );
  if (isBlocked) return 'IP address is blacklisted';
  const isHwidBlocked = applying.some(({ type, data }) => type === 'HWID' && data === asked.hwid);
  return isHwidBlocked ? 'Hardware ID is blacklisted' : null;
}

/** The message of a valid answer, with the limits that it tells. */
export const validMessage = (maxIPs: number, maxHWIDs: number): string =>
  `License is valid (${maxIPs}, ${maxHWIDs})`;

/**
 * What a license says: the message of an answer. Null where a free slot has to be taken first: then the
 * state after that decides.
 *
 * @param now when the request arrived, in milliseconds since 1970
 */
export function licenseVerdict(
  license: LicenseState | null,
  asked: Asked,
  now: number,
): string | null {
  if (!license || license.productId !== asked.productId || license.state === 'DELETED') {
    return 'License not found or invalid';
  }
  if (license.state === 'DEACTIVATED') return 'License is deactivated';
  if (license.expiresAt !== null && license.expiresAt <= now) return 'License has expired';
  const ip = slotOf(asked.ip, license.ips, license.maxIPs);
  if (ip === 'full') return 'Max IPs reached';
  const hwid = slotOf(asked.hwid, license.hwids, license.maxHWIDs);
  if (hwid === 'full') return 'Max HWIDs reached';
  if (ip === 'free' || hwid === 'free') return null;
  return validMessage(license.maxIPs, license.maxHWIDs);
}

function slotOf(
  value: string | null,
  bound: readonly string[],
  limit: number,
): 'has one' | 'free' | 'full' {
  if (value === null || limit === -1 || bound.includes(value)) return 'has one';
  return bound.length < limit ? 'free' : 'full';
}

/** What a token says: null where it lets a validation through, else the status of the answer. */
export function tokenVerdict(token: TokenState | null, now: number): number | null {
  if (!token || token.isRevoked || (token.expiresAt !== null && token.expiresAt <= now)) return 401;
  const isAllowed = token.intents.some((intent) =>
    ['LICENSE_VALIDATE', 'ALL_READ_WRITE'].includes(intent),
  );
  return isAllowed ? null : 403;
}
