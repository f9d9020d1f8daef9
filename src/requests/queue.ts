import * as z from 'zod';
import type { WaitUntil } from '../lib/async.ts';
import { historyRecord } from './record.ts';
import type { Recorder } from './recorder.ts';

const message = z.array(historyRecord);

/**
 * Stores the records that an earlier version has left in its queue (ADR 0015). The next version removes this function.
 *
 * @throws if they cannot be read or stored: the messages are delivered again, and in the end become dead letters
 */
export const storeLeftRecords = (
  recorder: Recorder,
  { messages }: { messages: readonly Pick<Message, 'body'>[] },
  waitUntil: WaitUntil,
): Promise<void> =>
  recorder.store(
    messages.flatMap(({ body }) => message.parse(body)),
    waitUntil,
  );
