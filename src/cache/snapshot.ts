import type { SQL } from 'drizzle-orm';
import type { Database } from '../db/client';

export const SNAPSHOT_NAMES = ['license', 'token', 'blacklist'] as const;
export type SnapshotName = (typeof SNAPSHOT_NAMES)[number];

/** The part of a row that a validation needs, held outside D1. */
export interface Snapshot {
  /** The id of the row; 0 for the one blacklist. */
  readonly id: number;
  /** Greater is newer: the time of the last change, in milliseconds since 1970. */
  readonly revision: number;
}

/** A kind of snapshot: how KV stores it, and where the truth is. */
export interface SnapshotType<Value extends Snapshot> {
  /** Before the colon in the subjects of the change log and in the keys of KV. */
  readonly name: SnapshotName;
  /** The key in KV: at most 512 bytes, and no secret in it. */
  kvKey(key: string): Promise<string>;
  /** A value of KV. */
  encode(value: Value): string;
  /** The snapshot in a value of KV; null if it is corrupt or in another format. */
  decode(text: string): Value | null;
  /** The snapshots of some keys, as the primary has them now. */
  load(db: Database, keys: readonly string[]): Promise<ReadonlyMap<string, Value>>;
  /** The revision of a key as the primary has it now, in SQL; null for none. */
  currentRevision(key: SQL): SQL;
}

/** `cacheTtl` of KV reads. 30 is the minimum that KV allows. */
const KV_CACHE_SECONDS = 30;

/**
 * The published snapshot of a key; null for none, or for one that cannot be decoded.
 *
 * @throws when KV cannot be read
 */
export async function readPublished<Value extends Snapshot>(
  type: SnapshotType<Value>,
  kv: KVNamespace,
  key: string,
): Promise<Value | null> {
  const text = await kv.get(await type.kvKey(key), { cacheTtl: KV_CACHE_SECONDS });
  return text === null ? null : type.decode(text);
}
