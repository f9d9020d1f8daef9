import { createHash } from 'node:crypto';
import * as z from 'zod';
import { ALL_PRODUCTS } from '../../src/db/codes.ts';
import type { BlacklistEntry, History, LicenseState, TokenState, Truth } from './truth.ts';

/** The snapshots in KV, compared with the database; docs/cache.md describes their keys and values. */

const license = z.object({
  id: z.int(),
  productId: z.int(),
  state: z.string(),
  expiresAt: z.int().nullable(),
  maxIPs: z.int(),
  maxHWIDs: z.int(),
  ips: z.array(z.string()),
  hwids: z.array(z.string()),
});

const token = z.object({
  id: z.int(),
  intents: z.array(z.string()),
  expiresAt: z.int().nullable(),
  revokedAt: z.int().nullable(),
});

const table = z.object({ keys: z.array(z.string()), productIds: z.array(z.int()) });
const policy = z.object({
  blacklist: z.object({ hwids: table, addresses: table, networks: table }),
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A text of a value that does not depend on the order of its fields. */
const canonical = (value: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(value).sort()));

const groupBits = (group: string, base: number, length: number): string =>
  Number.parseInt(group || '0', base)
    .toString(2)
    .padStart(length, '0');

/** The common bits of all addresses of a range, after the number of their family. */
function networkBits(range: string): string {
  const [address = '', prefix] = range.split('/');
  if (!address.includes(':')) {
    const bits = address.split('.').map((part) => groupBits(part, 10, 8));
    return `4${bits.join('').slice(0, Number(prefix))}`;
  }
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const last = tail.split(':').filter(Boolean);
  const all = [...groups, ...Array(8 - groups.length - last.length).fill('0'), ...last];
  return `6${all
    .map((group) => groupBits(group, 16, 16))
    .join('')
    .slice(0, Number(prefix))}`;
}

const entryText = (table: string, key: string, productId: number | undefined): string =>
  JSON.stringify([table, key, productId]);

function blockedText({ type, data, productId }: BlacklistEntry): string {
  if (type === 'HWID') return entryText('hwids', data, productId ?? ALL_PRODUCTS);
  return data.includes('/')
    ? entryText('networks', networkBits(data), productId ?? ALL_PRODUCTS)
    : entryText('addresses', data, productId ?? ALL_PRODUCTS);
}

/** The key of a subject in KV, and texts by which a snapshot and a state are compared. */
export interface PublishedType<State> {
  key: (state: State) => string;
  snapshotText: (snapshot: string) => string;
  stateText: (state: State) => string;
}

export const publishedLicense: PublishedType<LicenseState> = {
  key: ({ licenseKey }) => `license:${sha256(licenseKey)}`,
  snapshotText: (snapshot) => canonical(license.parse(JSON.parse(snapshot))),
  stateText: ({ licenseKey, ...row }) => canonical(row),
};

export const publishedToken: PublishedType<TokenState> = {
  key: ({ hash }) => `token:${hash}`,
  snapshotText(snapshot) {
    const { revokedAt, ...held } = token.parse(JSON.parse(snapshot));
    return canonical({ ...held, isRevoked: revokedAt !== null });
  },
  stateText: ({ hash, ...row }) => canonical(row),
};

export const publishedBlacklist: PublishedType<BlacklistEntry[]> = {
  key: () => 'policy',
  snapshotText: (snapshot) =>
    Object.entries(policy.parse(JSON.parse(snapshot)).blacklist)
      .flatMap(([name, { keys, productIds }]) =>
        keys.map((key, row) => entryText(name, key, productIds[row])),
      )
      .sort()
      .join(),
  stateText: (entries) => entries.map(blockedText).sort().join(),
};

/** The states that snapshots show. A snapshot of a removed or impossible row shows none. */
export function statesOfSnapshots<State>(
  type: PublishedType<State>,
  history: History<State>,
  snapshots: readonly string[],
): { state: State; index: number }[] {
  const texts = new Set(snapshots.map((snapshot) => type.snapshotText(snapshot)));
  return history.entries().filter(({ state }) => texts.has(type.stateText(state)));
}

/** A snapshot may lack bound values, which D1 then finds. */
const withoutBound = (text: string): string => text.replace(/"(ips|hwids)":\[[^\]]*\],?/g, '');

/**
 * The wrong snapshots after quiet, one line each.
 *
 * @param entries the keys of KV with their last values
 * @param isRepaired whether each binding was used since, so that none may be missing
 */
export function findWrongSnapshots(
  entries: ReadonlyMap<string, string>,
  truth: Truth,
  isRepaired: boolean,
): string[] {
  const wrong: string[] = [];
  const compare = <State>(
    what: string,
    type: PublishedType<State>,
    { current }: History<State>,
    toCompared = (text: string): string => text,
  ): void => {
    if (current === null) return;
    const snapshot = entries.get(type.key(current));
    const held = snapshot === undefined ? null : toCompared(type.snapshotText(snapshot));
    const row = toCompared(type.stateText(current));
    if (held !== row) wrong.push(`KV has ${what} as ${held}, and the database as ${row}`);
  };
  for (const [id, history] of truth.licenses) {
    compare(`license ${id}`, publishedLicense, history, isRepaired ? undefined : withoutBound);
  }
  for (const [id, history] of truth.tokens) compare(`token ${id}`, publishedToken, history);
  compare('the blacklist', publishedBlacklist, truth.blacklist);
  return wrong;
}

/** The bound values in the snapshot of a license; undefined for no snapshot. */
export function boundInSnapshot(
  entries: ReadonlyMap<string, string>,
  state: LicenseState,
): { ips: string[]; hwids: string[] } | undefined {
  const snapshot = entries.get(publishedLicense.key(state));
  return snapshot === undefined ? undefined : license.parse(JSON.parse(snapshot));
}
