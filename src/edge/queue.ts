import * as z from 'zod';
import { REQUEST_TYPES, RESPONSE_TYPES } from '../enums';
import { logFailure } from '../log';
import type { Answered, Edge } from './edge';

/** With twenty attempts, more than half a day: the longest outage that a queue is there for. */
const FIRST_DELAY_SECONDS = 10;
const MAX_DELAY_SECONDS = 3_600;

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? null);

/** What a message of the queue holds: records that may have been written already. */
const records: z.ZodType<Answered[]> = z.array(
  z.object({
    row: z.object({
      id: z.int().positive(),
      nonce: z.string().min(1),
      licenseId: z.int().nullish(),
      licenseKey: text,
      licenseKeyFolded: text,
      productId: z
        .int()
        .nullish()
        .transform((value) => value ?? null),
      productVersion: text,
      ip: text,
      hwid: text,
      macAddress: text,
      operatingSystem: text,
      operatingSystemVersion: text,
      operatingSystemArchitecture: text,
      javaVersion: text,
      requestType: z.enum(REQUEST_TYPES),
      responseType: z.enum(RESPONSE_TYPES),
      blockReason: text,
      remarks: text,
      spam: z.boolean().default(false),
    }),
    basis: z.object({ key: z.string(), id: z.int(), revision: z.int() }).nullable(),
  }),
);

/**
 * Writes the records of a batch of messages. A message that comes again changes nothing; one that
 * cannot be written comes again, and in the end goes to the dead-letter queue.
 */
export async function receiveRecords(edge: Edge, { messages }: MessageBatch): Promise<void> {
  for (const message of messages) {
    try {
      await edge.write(records.parse(message.body));
      message.ack();
    } catch (error) {
      logFailure('Records of the queue were not written yet', error);
      const delaySeconds = FIRST_DELAY_SECONDS * 2 ** (message.attempts - 1);
      message.retry({ delaySeconds: Math.min(MAX_DELAY_SECONDS, delaySeconds) });
    }
  }
}
