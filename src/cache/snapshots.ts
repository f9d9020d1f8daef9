import { eq, sql } from 'drizzle-orm';
import * as z from 'zod';
import { isOneOf } from '../db/predicates';
import { blacklists, counters, licenses, tokens } from '../db/schema';
import { API_INTENTS, type ApiIntent, LICENSE_STATES } from '../lib/enums';
import { parseJson } from '../lib/json';
import { sha256Hex } from '../lib/sha256';
import {
  type Blacklist,
  blacklistOf,
  decodeBlacklist,
  encodeBlacklist,
} from '../resources/blacklists/blacklist';
import { type LicenseSnapshot, snapshotColumns } from '../resources/licenses/snapshot';
import type { SnapshotType } from './snapshot';

/** The types of snapshots; docs/cache.md shows what KV holds. */

/** Grows when the form of a snapshot changes. Another format is not read, and published again. */
const FORMAT = z.literal(2);
const revision = z.int().positive();

const decode = <Value>(schema: z.ZodType<Value>, text: string): Value | null =>
  schema.safeParse(parseJson(text)).data ?? null;

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

/** By the normalized license key. KV sees its hash only: keys are secrets, and of any length. */
export const licenseSnapshot: SnapshotType<LicenseSnapshot> = {
  name: 'license',
  kvKey: async (key) => `license:${await sha256Hex(key)}`,
  encode: (license) => JSON.stringify({ format: FORMAT.value, ...license }),
  decode: (text) => decode(publishedLicense, text),
  async load(db, keys) {
    const rows = await db
      .select({ key: licenses.licenseKeyNormalized, ...snapshotColumns })
      .from(licenses)
      .where(isOneOf(licenses.licenseKeyNormalized, keys));
    return new Map(rows.map(({ key, ...license }) => [key, license]));
  },
  currentRevision: (key) =>
    sql`(select revision from licenses where license_key_normalized = ${key})`,
};

/** The part of a token that authentication needs. */
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

/** By the hash of the token. */
export const tokenSnapshot: SnapshotType<TokenSnapshot> = {
  name: 'token',
  kvKey: async (hash) => `token:${hash}`,
  encode: (token) => JSON.stringify({ format: FORMAT.value, ...token }),
  decode: (text) => decode(publishedToken, text),
  async load(db, hashes) {
    const rows = await db
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
      .where(isOneOf(tokens.tokenHash, hashes));
    return new Map(rows.map(({ hash, ...token }) => [hash, token]));
  },
  currentRevision: (hash) => sql`(select revision from tokens where token_hash = ${hash})`,
};

/** The key of the one blacklist. */
export const BLACKLIST_KEY = '';

const blacklistRevision = sql`(select value from counters where name = 'blacklist_revision')`;

export const blacklistSnapshot: SnapshotType<Blacklist> = {
  name: 'blacklist',
  kvKey: async () => 'blacklist',
  encode: (blacklist) => encodeBlacklist(FORMAT.value, blacklist),
  decode: (text) => decodeBlacklist(FORMAT.value, text),
  async load(db) {
    // One statement: the revision is that of these entries. One row also for an empty blacklist.
    const rows = await db
      .select({
        revision: counters.value,
        licenseDataType: blacklists.licenseDataType,
        data: blacklists.data,
        productId: blacklists.productId,
        reason: blacklists.reason,
      })
      .from(counters)
      .leftJoin(blacklists, sql`true`)
      .where(eq(counters.name, 'blacklist_revision'));
    const entries = rows.flatMap(({ licenseDataType, data, productId, reason }) =>
      licenseDataType === null || data === null
        ? []
        : [{ licenseDataType, data, productId, reason: reason ?? '' }],
    );
    return new Map([[BLACKLIST_KEY, blacklistOf(rows[0]?.revision ?? 1, entries)]]);
  },
  currentRevision: () => blacklistRevision,
};
