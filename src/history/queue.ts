import * as z from 'zod';
import { REQUEST_TYPES, RESPONSE_TYPES } from '../enums';
import { logFailure } from '../log';
import type { HistoryRecord } from './record';
import type { Recorder } from './recorder';

/** Twenty retries take 12 hours: the longest outage that the queue is there for. */
const FIRST_DELAY_SECONDS = 10;
const MAX_DELAY_SECONDS = 3_600;

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
 * Writes the records of a batch of messages, all in one batch of D1. If that fails, each message is written
 * by itself. A message that comes again changes nothing. One that cannot be written is delivered again, and
 * in the end goes to the dead-letter queue.
 */
export async function receiveRecords(
  recorder: Recorder,
  { messages }: { messages: readonly Message[] },
): Promise<void> {
  try {
    await recorder.writeDelivered(messages.flatMap(({ body }) => message.parse(body)));
    for (const delivered of messages) delivered.ack();
  } catch (error) {
    const [first, ...others] = messages;
    if (first && others.length === 0) return deliverAgain(first, error);
    for (const delivered of messages) await receiveRecords(recorder, { messages: [delivered] });
  }
}

function deliverAgain(delivered: Message, error: unknown): void {
  logFailure('Records of the queue were not written yet', error);
  const delaySeconds = FIRST_DELAY_SECONDS * 2 ** (delivered.attempts - 1);
  delivered.retry({ delaySeconds: Math.min(MAX_DELAY_SECONDS, delaySeconds) });
}
