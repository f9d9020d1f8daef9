const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/**
 * Repeats a write until it succeeds, after each of the delays (milliseconds, of which up to half is
 * taken off at random). The platform repeats reads, never writes. The write must change nothing when
 * it has succeeded before: its answer may have been lost.
 *
 * @throws what the last attempt threw
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
