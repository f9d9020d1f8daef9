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

/** After this time the database counts as unreachable. */
export const DATABASE_TIMEOUT_MS = 5_000;
/** After this time KV counts as unreachable. */
export const KV_TIMEOUT_MS = 2_000;
