declare namespace Cloudflare {
  interface Env {
    MIGRATIONS: import('@cloudflare/vitest-plugin').D1Migration[];
    IS_LONG: boolean;
  }
}

declare module 'cloudflare:test-internal' {
  /** Resolves when all that `waitUntil` was given is done. */
  export function waitForGlobalWaitUntil(): Promise<void>;
}
