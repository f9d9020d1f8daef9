/** Keeps work alive after the response, like `ExecutionContext.waitUntil`. */
export type WaitUntil = (work: Promise<unknown>) => void;

/** Resolves after some milliseconds. */
export const wait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));
