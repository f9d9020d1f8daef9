/**
 * Logs that something failed, and the kind of error. Never the error's own text: it can hold SQL,
 * license keys and tokens.
 */
export function logFailure(message: string, error: unknown): void {
  console.error({ message, error: error instanceof Error ? error.name : typeof error });
}
