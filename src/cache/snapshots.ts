import { eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../db/client';
import { isOneOf } from '../db/predicates';
import { blacklists, counters, licenses, products, tokens } from '../db/schema';
import { apiIntent } from '../lib/fields';
import { parseJson } from '../lib/json';
import { sha256Hex } from '../lib/sha256';
import {
  type Blacklist,
  blacklistOf,
  decodeBlacklist,
  encodeBlacklist,
} from '../resources/blacklists/blacklist';
import {
  type LicenseSnapshot,
  snapshotColumns,
  snapshotSchema,
} from '../resources/licenses/snapshot';

/** The part of a row that a validation needs, held outside D1. */
export interface Snapshot {
  /** The id of the row; 0 for the one blacklist. */
  readonly id: number;
  /** Greater is newer: the time of the last change, in milliseconds since 1970. */
  readonly revision: number;
}

/** A type of snapshot: its form in KV, and its row in D1. */
export interface SnapshotType<Value extends Snapshot> {
  /** Before the colon in the subjects of the outbox and in the keys of KV. */
  readonly name: 'license' | 'token' | 'blacklist';
  /** The key in KV: at most 512 bytes, without a secret. */
  kvKey(key: string): Promise<string>;
  /** The value in KV. */
  encode(value: Value): string;
  /** The snapshot in a value of KV; null if it is corrupt or in another format. */
  decode(text: string): Value | null;
  /** The snapshots of some keys, as the primary has them now. */
  load(db: Database, keys: readonly string[]): Promise<ReadonlyMap<string, Value>>;
  /** The revision of a key as the primary has it now, in SQL; null for none. */
  currentRevision(key: string): SQL;
}

/** Grows when the form of a snapshot changes. A snapshot in another format is ignored, and published again. */
const FORMAT = z.literal(2);

const decode = <Value>(schema: z.ZodType<Value>, text: string): Value | null =>
  schema.safeParse(parseJson(text)).data ?? null;

const publishedLicense = snapshotSchema.extend({ format: FORMAT });

/** By the normalized license key. KV has its hash only: keys are secrets, and of any length. */
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
const tokenSnapshotSchema = z.object({
  id: z.int(),
  revision: z.int().positive(),
  intents: z.array(apiIntent).readonly(),
  expiresAt: z.int().nullable(),
  revokedAt: z.int().nullable(),
  lastUsedAt: z.int().nullable(),
});
export type TokenSnapshot = z.infer<typeof tokenSnapshotSchema>;

/** The columns of a token's snapshot. */
export const tokenColumns = {
  id: tokens.id,
  revision: tokens.revision,
  intents: tokens.intents,
  expiresAt: tokens.expiresAt,
  revokedAt: tokens.revokedAt,
  lastUsedAt: tokens.lastUsedAt,
};

const publishedToken = tokenSnapshotSchema.extend({ format: FORMAT });

/** By the hash of the token. */
export const tokenSnapshot: SnapshotType<TokenSnapshot> = {
  name: 'token',
  kvKey: async (hash) => `token:${hash}`,
  encode: (token) => JSON.stringify({ format: FORMAT.value, ...token }),
  decode: (text) => decode(publishedToken, text),
  async load(db, hashes) {
    const rows = await db
      .select({ hash: tokens.tokenHash, ...tokenColumns })
      .from(tokens)
      .where(isOneOf(tokens.tokenHash, hashes));
    return new Map(rows.map(({ hash, ...token }) => [hash, token]));
  },
  currentRevision: (hash) => sql`(select revision from tokens where token_hash = ${hash})`,
};

/** The key of the one blacklist. */
export const BLACKLIST_KEY = '';

/** The snapshot of the blacklist has the offline days of products since 3. */
const BLACKLIST_FORMAT = 3;

export const blacklistSnapshot: SnapshotType<Blacklist> = {
  name: 'blacklist',
  kvKey: async () => 'blacklist',
  encode: (blacklist) => encodeBlacklist(BLACKLIST_FORMAT, blacklist),
  decode: (text) => decodeBlacklist(BLACKLIST_FORMAT, text),
  async load(db) {
    // One statement, for the revision to be that of these entries. An empty blacklist has one row, too.
    const rows = await db
      .select({
        revision: counters.value,
        licenseDataType: blacklists.licenseDataType,
        data: blacklists.data,
        productId: blacklists.productId,
        reason: blacklists.reason,
        offlineDays: sql<number | null>`null`.as('offlineDays'),
      })
      .from(counters)
      .leftJoin(blacklists, sql`true`)
      .where(eq(counters.name, 'blacklist_revision'))
      .unionAll(
        db
          .select({
            revision: sql<number>`0`.as('revision'),
            licenseDataType: sql<null>`null`.as('licenseDataType'),
            data: sql<null>`null`.as('data'),
            productId: products.id,
            reason: sql<null>`null`.as('reason'),
            offlineDays: products.offlineDays,
          })
          .from(products)
          .where(sql`${products.offlineDays} > 0`),
      );
    const entries = rows.flatMap(({ licenseDataType, data, productId, reason }) =>
      licenseDataType === null || data === null
        ? []
        : [{ licenseDataType, data, productId, reason: reason ?? '' }],
    );
    const offlineDays = Object.fromEntries(
      rows.flatMap((row) => (row.offlineDays === null ? [] : [[row.productId, row.offlineDays]])),
    );
    return new Map([[BLACKLIST_KEY, blacklistOf(rows[0]?.revision ?? 1, entries, offlineDays)]]);
  },
  currentRevision: () => sql`(select value from counters where name = 'blacklist_revision')`,
};
