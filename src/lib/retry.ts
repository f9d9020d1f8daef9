import { wait } from './wait';

/**
 * Repeats a write until it succeeds, after each of the delays, which are shortened by up to half at random.
 * The platform repeats reads only. A write may be repeated after it succeeded, because a response can get
 * lost: then it must change nothing.
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
