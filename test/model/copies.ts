import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { History, Truth } from './truth.ts';

/** What KV holds, compared with the database; docs/edge.md describes its keys and values. */

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

const blacklist = z.object({
  entries: z.array(z.tuple([z.string(), z.string(), z.int().nullable()], z.unknown())),
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The form in which two are compared: the same whatever the order of the fields. */
const canonical = (value: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(value).sort()));

/** What a copy should say of a row, or null where there should be none. */
type Expected = string | null;

/**
 * What is wrong with the copies, after quiet: one line each.
 *
 * @param entries the keys of KV with what was written last
 */
export function findWrongCopies(entries: ReadonlyMap<string, string>, truth: Truth): string[] {
  const wrong: string[] = [];
  const compare = (what: string, copy: Expected, row: Expected): void => {
    if (copy !== row) wrong.push(`KV has ${what} as ${copy}, and the database as ${row}`);
  };

  for (const [id, { current }] of truth.licenses) {
    if (!current) continue;
    const { licenseKey, ...row } = current;
    const copy = entries.get(`license:${sha256(licenseKey)}`);
    const held = copy === undefined ? null : canonical(license.parse(JSON.parse(copy)));
    compare(`license ${id}`, held, canonical(row));
  }

  const tokens = [...entries]
    .filter(([key]) => key.startsWith('token:'))
    .map(([, copy]) => token.parse(JSON.parse(copy)));
  for (const [id, history] of truth.tokens) {
    const copy = tokens.find((held) => held.id === id);
    compare(`token ${id}`, copy ? tokenText(copy) : null, currentToken(history));
  }

  const copy = entries.get('blacklist');
  const blocked = (truth.blacklist.current ?? []).map(({ type, data, productId }) =>
    JSON.stringify([type, data, productId]),
  );
  const held = copy === undefined ? null : blacklist.parse(JSON.parse(copy)).entries;
  compare(
    'the blacklist',
    held && [...held.map((entry) => JSON.stringify(entry.slice(0, 3)))].sort().join(),
    blocked.sort().join(),
  );
  return wrong;
}

const tokenText = ({ id, intents, expiresAt, revokedAt }: z.infer<typeof token>): string =>
  canonical({ id, intents, expiresAt, isRevoked: revokedAt !== null });

const currentToken = ({ current }: History<object>): Expected => current && canonical(current);
