/**
 * Logs that something failed, and the kind of error. Never the error's own text: it can hold SQL,
 * license keys and tokens.
 */
export function logFailure(message: string, error: unknown): void {
  // As text, which is JSON everywhere.
  console.error(
    JSON.stringify({ message, error: error instanceof Error ? error.name : typeof error }),
  );
}
