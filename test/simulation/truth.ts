import { BlockList } from 'node:net';
import type { FakeD1 } from './fake-d1.ts';

/**
 * The states of the database, read from its own tables after each commit, each with its time; and the outcome
 * of a validation in each of them, decided here a second time and in another way than the service does.
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

/** A state of a subject, and the time in which it was the current one. */
interface Entry<State> {
  json: string;
  /** Null if the subject does not exist. */
  state: State | null;
  from: number;
  until: number;
}

/** The states of a subject, in their order. */
export class History<State> {
  readonly #entries: Entry<State>[] = [];

  /** The number of the current state. */
  get index(): number {
    return this.#entries.length - 1;
  }

  get current(): State | null {
    return this.#entries.at(-1)?.state ?? null;
  }

  /** The current state as the database writes it. */
  get json(): string {
    return this.#entries.at(-1)?.json ?? 'null';
  }

  add(json: string, state: State | null, now: number): void {
    const last = this.#entries.at(-1);
    if (last) last.until = now;
    this.#entries.push({ json, state, from: now, until: Number.POSITIVE_INFINITY });
  }

  /** All states in which the subject exists, with their numbers. */
  entries(): { state: State; index: number }[] {
    return this.#entries.flatMap(({ state }, index) => (state === null ? [] : [{ state, index }]));
  }

  /** The number of the state at a time; 0 if there was none yet. */
  indexAt(time: number): number {
    return Math.max(
      0,
      this.#entries.findLastIndex(({ from }) => from <= time),
    );
  }

  /** The states that were current at some moment since a time, from a number on. */
  since(time: number, index = 0): (State | null)[] {
    return this.#entries
      .slice(Math.max(0, index))
      .filter(({ until }) => until >= time)
      .map(({ state }) => state);
  }
}

/** A change of a subject by a commit. */
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

  /** Reads the changes of a commit. */
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

/** A validation request, with canonical addresses. */
export interface ValidationRequest {
  licenseKey: string;
  productId: number;
  /** The address to be bound: that of the body, else the connecting one. */
  ip: string;
  connectingAddress: string;
  hwid: string | null;
}

/** The outcome by the blacklist: a message, or null if no entry applies. */
export function blacklistOutcome(
  entries: readonly BlacklistEntry[],
  request: ValidationRequest,
): string | null {
  const applying = entries.filter(
    ({ productId }) => productId === null || productId === request.productId,
  );
  const ranges = new BlockList();
  for (const { data } of applying.filter(({ type }) => type === 'IP')) {
    const [address = '', prefix] = data.split('/');
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    if (prefix === undefined) ranges.addAddress(address, family);
    else ranges.addSubnet(address, Number(prefix), family);
  }
  const isBlocked = [request.ip, request.connectingAddress].some((address) =>
    ranges.check(address, address.includes(':') ? 'ipv6' : 'ipv4'),
  );
  if (isBlocked) return 'IP address is blacklisted';
  const isHwidBlocked = applying.some(({ type, data }) => type === 'HWID' && data === request.hwid);
  return isHwidBlocked ? 'Hardware ID is blacklisted' : null;
}

/** The message of a valid response, with its limits. */
export const validMessage = (maxIPs: number, maxHWIDs: number): string =>
  `License is valid (${maxIPs}, ${maxHWIDs})`;

/**
 * The outcome by a license: the message of a response. Null if a free slot has to be taken first, because the
 * state after that decides.
 *
 * @param now the time of the request, in milliseconds since 1970
 */
export function licenseOutcome(
  license: LicenseState | null,
  request: ValidationRequest,
  now: number,
): string | null {
  if (!license || license.productId !== request.productId || license.state === 'DELETED') {
    return 'License not found or invalid';
  }
  if (license.state === 'DEACTIVATED') return 'License is deactivated';
  if (license.expiresAt !== null && license.expiresAt <= now) return 'License has expired';
  const ip = slotOf(request.ip, license.ips, license.maxIPs);
  if (ip === 'full') return 'Max IPs reached';
  const hwid = slotOf(request.hwid, license.hwids, license.maxHWIDs);
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

/** The outcome by a token: null if it permits a validation, else the status of the response. */
export function tokenOutcome(token: TokenState | null, now: number): number | null {
  if (!token || token.isRevoked || (token.expiresAt !== null && token.expiresAt <= now)) return 401;
  const isAllowed = token.intents.some((intent) =>
    ['LICENSE_VALIDATE', 'ALL_READ_WRITE'].includes(intent),
  );
  return isAllowed ? null : 403;
}
