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

export const BUCKET_MS = 60 * 60 * 1000;

/** The bucket of a time: an hour, counted since 2025. */
export const bucketAt = (milliseconds: number): number =>
  Math.floor((milliseconds - EPOCH) / BUCKET_MS);
