/**
 * Fails when something takes too long to wait for: programs in the field set no time-outs, and what
 * hangs is no better than what fails.
 */
export async function inTime<Result>(work: Promise<Result>, patienceMs: number): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('It takes too long')), patienceMs);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long a program waits for the database: what takes longer counts as unreachable. */
export const DATABASE_PATIENCE_MS = 5_000;
