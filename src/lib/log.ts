/** Logs a failure with the name of the error. Never its text, which can hold SQL, license keys and tokens. */
export function logFailure(message: string, error: unknown): void {
  console.error(
    JSON.stringify({ message, error: error instanceof Error ? error.name : typeof error }),
  );
}
