import { eq, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type Blacklist, type BlacklistEntry, indexBlacklist } from '../blacklists/blacklist';
import { blacklists, changes, licenses, tokens } from '../db/schema';
import { isOneOf } from '../db/search';
import { API_INTENTS, type ApiIntent, LICENSE_DATA_TYPES, LICENSE_STATES } from '../enums';
import { type LicenseSnapshot, snapshotColumns } from '../licenses/snapshot';
import type { Kind } from './store';

/** What is published: licenses, tokens, and the blacklist (docs/edge.md shows what KV holds). */

/** Moves when a snapshot's form does: another format is not read, and published anew. */
const FORMAT = z.literal(1);
const revision = z.int().positive();

const sha256Hex = async (text: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toHex();

function decode<Value>(schema: z.ZodType<Value>, text: string): Value | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

const publishedLicense = z.object({
  format: FORMAT,
  revision,
  id: z.int(),
  productId: z.int(),
  state: z.enum(LICENSE_STATES),
  expiresAt: z.int().nullable(),
  maxIPs: z.int(),
  maxHWIDs: z.int(),
  ips: z.array(z.string()),
  hwids: z.array(z.string()),
  totalRequests: z.int(),
});

/** By the folded license key. KV sees its hash only: keys are secrets, and of any length. */
export const licenseKind: Kind<LicenseSnapshot> = {
  name: 'license',
  kvKey: async (key) => `license:${await sha256Hex(key)}`,
  encode: (license) => JSON.stringify({ format: FORMAT.value, ...license }),
  decode: (text) => decode(publishedLicense, text),
  async read(db, keys, changes) {
    const [news, found] = await db.batch([
      changes,
      db
        .select({ key: licenses.licenseKeyFolded, ...snapshotColumns })
        .from(licenses)
        .where(isOneOf(licenses.licenseKeyFolded, keys)),
    ]);
    return [news, new Map(found.map(({ key, ...license }) => [key, license]))];
  },
};

/** All that authentication needs to know of a token. */
export interface TokenSnapshot {
  id: number;
  revision: number;
  intents: readonly ApiIntent[];
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

const publishedToken = z.object({
  format: FORMAT,
  revision,
  id: z.int(),
  intents: z.array(z.enum(API_INTENTS)),
  expiresAt: z.int().nullable(),
  revokedAt: z.int().nullable(),
  lastUsedAt: z.int().nullable(),
});

/** By the token's hash. */
export const tokenKind: Kind<TokenSnapshot> = {
  name: 'token',
  kvKey: async (hash) => `token:${hash}`,
  encode: (token) => JSON.stringify({ format: FORMAT.value, ...token }),
  decode: (text) => decode(publishedToken, text),
  async read(db, hashes, changes) {
    const [news, found] = await db.batch([
      changes,
      db
        .select({
          hash: tokens.tokenHash,
          id: tokens.id,
          revision: tokens.revision,
          intents: tokens.intents,
          expiresAt: tokens.expiresAt,
          revokedAt: tokens.revokedAt,
          lastUsedAt: tokens.lastUsedAt,
        })
        .from(tokens)
        .where(isOneOf(tokens.tokenHash, hashes)),
    ]);
    return [news, new Map(found.map(({ hash, ...token }) => [hash, token]))];
  },
};

const publishedBlacklist = z.object({
  format: FORMAT,
  revision,
  entries: z.array(z.unknown()),
});

/** By hand: of ten thousand entries a schema would take all the time that a request has. */
function decodeEntry(entry: unknown): BlacklistEntry | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [type, data, productId, reason]: unknown[] = entry;
  const licenseDataType = LICENSE_DATA_TYPES.find((known) => known === type);
  const isForProduct = typeof productId === 'number';
  return licenseDataType !== undefined &&
    typeof data === 'string' &&
    typeof reason === 'string' &&
    (isForProduct || productId === null)
    ? { licenseDataType, data, productId: isForProduct ? productId : null, reason }
    : undefined;
}

/** There is one, under an empty key. */
export const blacklistKind: Kind<Blacklist> = {
  name: 'blacklist',
  kvKey: async () => 'blacklist',
  encode: ({ revision, entries }) =>
    JSON.stringify({
      format: FORMAT.value,
      revision,
      entries: entries.map((entry) => [
        entry.licenseDataType,
        entry.data,
        entry.productId,
        entry.reason,
      ]),
    }),
  decode(text) {
    const published = decode(publishedBlacklist, text);
    if (!published) return null;
    const entries = published.entries.map(decodeEntry).filter((entry) => entry !== undefined);
    return entries.length === published.entries.length
      ? indexBlacklist(published.revision, entries)
      : null;
  },
  async read(db, [key = ''], newest) {
    const [news, entries] = await db.batch([
      newest,
      // The log has the revision, in one row also where the blacklist is empty.
      db
        .select({
          listRevision: changes.revision,
          licenseDataType: blacklists.licenseDataType,
          data: blacklists.data,
          productId: blacklists.productId,
          reason: blacklists.reason,
        })
        .from(changes)
        .leftJoin(blacklists, sql`true`)
        .where(eq(changes.subject, 'blacklist')),
    ]);
    const blacklist = indexBlacklist(
      entries[0]?.listRevision ?? 1,
      entries.flatMap(({ licenseDataType, data, productId, reason }) =>
        licenseDataType === null || data === null
          ? []
          : [{ licenseDataType, data, productId, reason: reason ?? '' }],
      ),
    );
    return [news, new Map([[key, blacklist]])];
  },
};
