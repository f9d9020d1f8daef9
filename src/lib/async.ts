/** Keeps work alive after the response, like `ExecutionContext.waitUntil`. */
export type WaitUntil = (work: Promise<unknown>) => void;

export const wait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** After this time the database counts as unreachable. */
export const DATABASE_TIMEOUT_MS = 5_000;
/** After this time KV counts as unreachable. */
export const KV_TIMEOUT_MS = 2_000;

/** Work that took too long. It may still complete. */
export class TimeoutError extends Error {
  override name = 'TimeoutError';
}

/**
 * Rejects with a {@link TimeoutError} when work takes too long. Programs in the field have no timeouts: a
 * service that hangs must fail instead.
 */
export async function withTimeout<Result>(
  work: Promise<Result>,
  timeoutMs: number,
): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`No result in ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

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
