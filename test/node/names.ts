import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { hasTools } from './tools.ts';

/** Whether tests can give the runtime names of their own, which takes a C compiler. */
export const hasOwnNames = (tests: string): boolean => hasTools(tests, 'cc');

/** The path of a runtime that looks names up as `names.c` says, for `MINIFLARE_WORKERD_PATH`. */
export function runtimeWithOwnNames(folder: string): string {
  // The module of the runtime is the path of its program.
  const workerd: unknown = createRequire(import.meta.url)('workerd').default;
  const runtime = join(folder, 'workerd');
  const library = join(folder, 'names.so');
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, 'test/node/names.c', '-ldl']);
  writeFileSync(runtime, `#!/bin/sh\nLD_PRELOAD=${library} exec ${workerd} "$@"\n`, {
    mode: 0o755,
  });
  return runtime;
}
