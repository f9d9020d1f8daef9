import * as z from 'zod';
import { REQUEST_TYPES, RESPONSE_TYPES } from '../lib/enums';
import { logFailure } from '../lib/log';
import { withTimeout } from '../lib/timeout';
import type { HistoryRecord } from './record';
import type { Recorder } from './recorder';

/** Twenty retries take 12 hours: the longest outage that the queue is there for. */
const FIRST_DELAY_SECONDS = 10;
const MAX_DELAY_SECONDS = 3_600;
/** Nobody waits for the queue, and a batch that D1 rejects is written in halves. */
const WRITE_TIMEOUT_MS = 20_000;

const text = z.string().nullable();

/** A message of the queue: records that may have been written already. */
const message: z.ZodType<HistoryRecord[]> = z.array(
  z.object({
    id: z.int().positive(),
    nonce: z.int().min(0),
    type: z.enum(REQUEST_TYPES),
    outcome: z.enum(RESPONSE_TYPES),
    // Undefined is not in JSON.
    licenseId: z
      .int()
      .nullish()
      .transform((id) => id),
    licenseKeyNormalized: text,
    caller: z.object({
      licenseKey: text,
      productId: z.int().nullable(),
      productVersion: text,
      ip: text,
      hwid: text,
      macAddress: text,
      operatingSystem: text,
      operatingSystemVersion: text,
      operatingSystemArchitecture: text,
      javaVersion: text,
    }),
    details: z.object({
      blockReason: z.exactOptional(text),
      remarks: z.exactOptional(text),
      spam: z.exactOptional(z.boolean()),
    }),
  }),
);

/**
 * Writes the records of a batch of messages, all in one batch of D1. Records that are there already change
 * nothing. Messages that cannot be read or written are delivered again, and in the end go to the dead-letter
 * queue.
 */
export async function receiveRecords(
  recorder: Recorder,
  { messages }: { messages: readonly Message[] },
): Promise<void> {
  const readable: Message[] = [];
  const records: HistoryRecord[] = [];
  for (const delivered of messages) {
    const parsed = message.safeParse(delivered.body);
    if (parsed.success) {
      readable.push(delivered);
      records.push(...parsed.data);
    } else deliverAgain(delivered, parsed.error);
  }
  try {
    await withTimeout(recorder.writeDelivered(records), WRITE_TIMEOUT_MS);
    for (const delivered of readable) delivered.ack();
  } catch (error) {
    for (const delivered of readable) deliverAgain(delivered, error);
  }
}

function deliverAgain(delivered: Message, error: unknown): void {
  logFailure('Records of the queue were not written yet', error);
  const delaySeconds = FIRST_DELAY_SECONDS * 2 ** (delivered.attempts - 1);
  delivered.retry({ delaySeconds: Math.min(MAX_DELAY_SECONDS, delaySeconds) });
}
