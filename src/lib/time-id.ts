/**
 * Ids that hold a time: the milliseconds since 2025 in the upper bits, one of 4,096 slots in the lower twelve. They
 * sort by time, and are safe integers until 2094.
 */
export const EPOCH = Date.UTC(2025, 0, 1);
export const SLOTS = 4096;

/** The time of an id, in milliseconds since 1970. */
export const timeOfId = (id: number): number => Math.floor(id / SLOTS) + EPOCH;

/** The smallest id of this millisecond or later. */
export const firstIdAt = (milliseconds: number): number => (milliseconds - EPOCH) * SLOTS;

/** A bucket is an hour, counted since 2025. */
export const BUCKET_MS = 60 * 60 * 1000;
export const BUCKETS_A_DAY = 24;

export const bucketAt = (milliseconds: number): number =>
  Math.floor((milliseconds - EPOCH) / BUCKET_MS);

export const bucketOf = (id: number): number => Math.floor(id / (SLOTS * BUCKET_MS));

/** When a bucket begins, in milliseconds since 1970. */
export const timeOfBucket = (bucket: number): number => bucket * BUCKET_MS + EPOCH;

/** The first bucket of the day (UTC) of a bucket. */
export const firstBucketOfDay = (bucket: number): number =>
  Math.floor(bucket / BUCKETS_A_DAY) * BUCKETS_A_DAY;

/** The last bucket of the day (UTC) of a bucket. */
export const lastBucketOfDay = (bucket: number): number =>
  firstBucketOfDay(bucket) + BUCKETS_A_DAY - 1;

/** When the day (UTC) of an id begins, in milliseconds since 1970. */
export const dayOf = (id: number): number => timeOfBucket(firstBucketOfDay(bucketOf(id)));
