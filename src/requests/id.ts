/**
 * The id of a history record: the milliseconds since 2025 in the upper bits, one of 4096 slots in
 * the lower twelve. It is unique without asking anyone, known before the write (so a repeated write
 * is recognised), sorted by time, and a safe integer until 2094.
 */
const EPOCH = Date.UTC(2025, 0, 1);
const SLOTS = 4096;

let last = { now: 0, slot: 0 };

/** A new id; within a process, later calls give greater ids unless the clock steps back. */
export function newRequestId(now: number): number {
  // Starting at random keeps processes apart that record in the same millisecond; the lower half
  // leaves room to count up.
  const slot = now === last.now ? last.slot + 1 : Math.floor((Math.random() * SLOTS) / 2);
  last = { now, slot: slot % SLOTS };
  return firstRequestIdAt(now) + last.slot;
}

/**
 * The id to try next for a record whose id another one of the same millisecond has. It follows from
 * the record alone, so that who writes it again walks the same way and finds where it is.
 */
export function nextRequestId({ id, nonce }: { id: number; nonce: string }): number {
  // An odd step meets every slot.
  const step = Number.parseInt(nonce.slice(0, 3), 16) | 1;
  const slot = id % SLOTS;
  return id - slot + ((slot + step) % SLOTS);
}

/** The time of a record, in milliseconds since 1970. */
export const timeOfRequestId = (id: number): number => Math.floor(id / SLOTS) + EPOCH;

/** The smallest id that a record of this millisecond or later can have. */
export const firstRequestIdAt = (milliseconds: number): number => (milliseconds - EPOCH) * SLOTS;
