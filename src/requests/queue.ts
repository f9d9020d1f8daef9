import * as z from 'zod';
import { withTimeout } from '../lib/async.ts';
import { logFailure } from '../lib/log.ts';
import { type HistoryRecord, historyRecord } from './record.ts';
import type { Recorder } from './recorder.ts';

/** Twenty retries take 12 hours, the longest outage that records in the queue must survive. */
const FIRST_DELAY_SECONDS = 10;
const MAX_DELAY_SECONDS = 3_600;
/** Long, because no request waits, and a batch that D1 rejects is written in halves. */
const WRITE_TIMEOUT_MS = 20_000;

const message = z.array(historyRecord);

/**
 * Writes the records of all messages in one batch of D1. A record that is there already changes nothing. A
 * message that cannot be read or written is delivered again, and in the end becomes a dead letter.
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
