import { wait } from './wait';

/**
 * Repeats a write until it succeeds, after each of the delays (milliseconds, shortened at random by up
 * to half). The platform repeats reads, never writes. The write must change nothing if it has already
 * succeeded: its response may have been lost.
 *
 * @throws the error of the last attempt
 */
export async function retry<Result>(
  delaysMs: readonly number[],
  write: () => Promise<Result>,
): Promise<Result> {
  for (const delayMs of delaysMs) {
    try {
      return await write();
    } catch {
      await wait(delayMs * (1 - Math.random() / 2));
    }
  }
  return write();
}
