import { apiIntent } from '@licet/contract/fields';
import { parseJson } from '@licet/contract/json';
import { eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { batch, type Database } from '../db/client.ts';
import { isOneOf } from '../db/predicates.ts';
import { counters } from '../db/schema.ts';
import { sha256Hex } from '../lib/sha256.ts';
import { blacklistOf } from '../resources/blacklists/blacklist.ts';
import { blacklists } from '../resources/blacklists/schema.ts';
import { EXPIRES_LATER } from '../resources/licenses/rules.ts';
import { licenses } from '../resources/licenses/schema.ts';
import {
  type LicenseSnapshot,
  snapshotColumns,
  snapshotSchema,
} from '../resources/licenses/snapshot.ts';
import { decodePolicy, encodePolicy, type Policy } from '../resources/policy.ts';
import { isInPolicy, products } from '../resources/products/schema.ts';
import { tokens } from '../resources/tokens/schema.ts';

/** The part of a row that a validation needs, held outside D1. */
export interface Snapshot {
  /** The id of the row; 0 for the one policy. */
  readonly id: number;
  /** Greater is newer: the time of the last change, in milliseconds since 1970. */
  readonly revision: number;
}

/** A type of snapshot: its form in KV, and its row in D1. */
export interface SnapshotType<Value extends Snapshot> {
  /** Before the colon in the subjects of the outbox and in the keys of KV. */
  readonly name: 'license' | 'token' | 'policy';
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

/** The version before `expiresAfterDays` published licenses that wait for their first use as if they had started. */
const publishedLicense = snapshotSchema
  .extend({ format: FORMAT })
  .refine(
    ({ expiresAt, expiresAfterDays }) => expiresAt !== EXPIRES_LATER || expiresAfterDays !== null,
  );

/** By the normalized license key. KV has its hash only: keys are secrets, and of any length. */
export const licenseSnapshot: SnapshotType<LicenseSnapshot> = {
  name: 'license',
  kvKey: async (key) => `license:${await sha256Hex(key)}`,
  encode: ({ entitlements, entitlementsExpire, ...license }) =>
    JSON.stringify({
      format: FORMAT.value,
      ...license,
      // Most licenses have none, and KV is read for each cold validation.
      ...(entitlements && { entitlements }),
      ...(entitlementsExpire && { entitlementsExpire }),
    }),
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

/** The key of the one policy. */
export const POLICY_KEY = '';

export const policySnapshot: SnapshotType<Policy> = {
  name: 'policy',
  kvKey: async () => 'policy',
  encode: encodePolicy,
  decode: decodePolicy,
  async load(db) {
    // One transaction, for the revision to be that of these rows.
    const found = await batch(db, {
      revisions: db
        .select({ revision: counters.value })
        .from(counters)
        .where(eq(counters.name, 'policy_revision')),
      entries: db
        .select({
          licenseDataType: blacklists.licenseDataType,
          data: blacklists.data,
          productId: blacklists.productId,
          reason: blacklists.reason,
        })
        .from(blacklists),
      settings: db
        .select({
          id: products.id,
          offlineDays: products.offlineDays,
          checkAfterHours: products.checkAfterHours,
          entitlements: products.entitlements,
        })
        .from(products)
        .where(isInPolicy(products)),
    });
    const [counter] = found.revisions;
    if (!counter) return new Map();
    const policy: Policy = {
      id: 0,
      revision: counter.revision,
      blacklist: blacklistOf(found.entries),
      products: Object.fromEntries(found.settings.map(({ id, ...product }) => [id, product])),
    };
    return new Map([[POLICY_KEY, policy]]);
  },
  currentRevision: () => sql`(select value from counters where name = 'policy_revision')`,
};
