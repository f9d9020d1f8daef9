import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { BlacklistEntry, History, LicenseState, TokenState, Truth } from './truth.ts';

/** What KV holds, compared with the database; docs/cache.md describes its keys and values. */

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
const blacklist = z.object({ hwids: table, addresses: table, networks: table });

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The form in which two are compared: the same whatever the order of the fields. */
const canonical = (value: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(value).sort()));

const groupBits = (group: string, base: number, length: number): string =>
  Number.parseInt(group || '0', base)
    .toString(2)
    .padStart(length, '0');

/** The bits that all addresses of a range have in common, behind the number of their family. */
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

const entryText = (table: string, key: string, productId: number): string =>
  JSON.stringify([table, key, productId]);

function blockedText({ type, data, productId }: BlacklistEntry): string {
  if (type === 'HWID') return entryText('hwids', data, productId ?? 0);
  return data.includes('/')
    ? entryText('networks', networkBits(data), productId ?? 0)
    : entryText('addresses', data, productId ?? 0);
}

/** How a subject is found in KV, and how a copy and a state of it are compared. */
export interface CopyType<State> {
  key: (state: State) => string;
  copyText: (copy: string) => string;
  stateText: (state: State) => string;
}

export const licenseCopy: CopyType<LicenseState> = {
  key: ({ licenseKey }) => `license:${sha256(licenseKey)}`,
  copyText: (copy) => canonical(license.parse(JSON.parse(copy))),
  stateText: ({ licenseKey, ...row }) => canonical(row),
};

export const tokenCopy: CopyType<TokenState> = {
  key: ({ hash }) => `token:${hash}`,
  copyText(copy) {
    const { revokedAt, ...held } = token.parse(JSON.parse(copy));
    return canonical({ ...held, isRevoked: revokedAt !== null });
  },
  stateText: ({ hash, ...row }) => canonical(row),
};

export const blacklistCopy: CopyType<BlacklistEntry[]> = {
  key: () => 'blacklist',
  copyText: (copy) =>
    Object.entries(blacklist.parse(JSON.parse(copy)))
      .flatMap(([name, { keys, productIds }]) =>
        keys.map((key, row) => entryText(name, key, productIds[row] ?? 0)),
      )
      .sort()
      .join(),
  stateText: (entries) => entries.map(blockedText).sort().join(),
};

/** The states of a subject that copies hold. A copy of what is gone, or never was, has none. */
export function statesOfCopies<State>(
  type: CopyType<State>,
  history: History<State>,
  copies: readonly string[],
): { state: State; index: number }[] {
  const texts = new Set(copies.map((copy) => type.copyText(copy)));
  return history.entries().filter(({ state }) => texts.has(type.stateText(state)));
}

/** What is bound may be missing in a copy: then the database is asked. */
const withoutBound = (text: string): string => text.replace(/"(ips|hwids)":\[[^\]]*\],?/g, '');

/**
 * What is wrong with the copies, after quiet: one line each.
 *
 * @param entries the keys of KV with what was written last
 * @param isRepaired whether each binding has been used since, so that none may be missing
 */
export function findWrongCopies(
  entries: ReadonlyMap<string, string>,
  truth: Truth,
  isRepaired: boolean,
): string[] {
  const wrong: string[] = [];
  const compare = <State>(
    what: string,
    type: CopyType<State>,
    { current }: History<State>,
    toCompared = (text: string): string => text,
  ): void => {
    if (current === null) return;
    const copy = entries.get(type.key(current));
    const held = copy === undefined ? null : toCompared(type.copyText(copy));
    const row = toCompared(type.stateText(current));
    if (held !== row) wrong.push(`KV has ${what} as ${held}, and the database as ${row}`);
  };
  for (const [id, history] of truth.licenses) {
    compare(`license ${id}`, licenseCopy, history, isRepaired ? undefined : withoutBound);
  }
  for (const [id, history] of truth.tokens) compare(`token ${id}`, tokenCopy, history);
  compare('the blacklist', blacklistCopy, truth.blacklist);
  return wrong;
}

/** The values that the copy of a license has; undefined for no copy. */
export function boundInCopy(
  entries: ReadonlyMap<string, string>,
  state: LicenseState,
): { ips: string[]; hwids: string[] } | undefined {
  const copy = entries.get(licenseCopy.key(state));
  return copy === undefined ? undefined : license.parse(JSON.parse(copy));
}
