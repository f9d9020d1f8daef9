declare namespace Cloudflare {
  interface Env {
    MIGRATIONS: import('@cloudflare/vitest-plugin').D1Migration[];
    TEST_RECORDS: Queue;
  }
}

declare module '*?raw' {
  const text: string;
  export default text;
}
