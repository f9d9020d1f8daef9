declare namespace Cloudflare {
  interface Env {
    MIGRATIONS: import('@cloudflare/vitest-plugin').D1Migration[];
    TEST_RECORDS: Queue;
  }
}

/** Vitest's own, by which the Worker's modules are loaded. */
declare const __vitest_mocker__: {
  moduleRunner: { import: (name: string) => Promise<unknown> };
};

declare module 'cloudflare:test-internal' {
  /** Resolves when all that `waitUntil` was given is done. */
  export function waitForGlobalWaitUntil(): Promise<void>;
}
