import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { ownFolder } from './own.ts';
import { CONSUMERS, makePackages, tryPackage } from './program-packages.ts';
import { hasTools } from './tools.ts';

/** Each package but that for Node, with the tools of its language. */

const { npm, ...others } = CONSUMERS;
for (const [name, consumer] of Object.entries(others)) tryPackage(name, consumer);

const same =
  'the packages have the same bytes each time, also in another zone and another language';
it.skipIf(!hasTools(same, 'javac', 'javadoc'))(same, () => {
  const machines = [
    ['UTC', 'en'],
    ['Pacific/Auckland', 'ja'],
  ];
  const sums = machines.map(([zone, language]) => {
    const folder = ownFolder();
    vi.stubEnv('TZ', zone);
    vi.stubEnv('JAVA_TOOL_OPTIONS', `-Duser.language=${language}`);
    makePackages(folder);
    return readFileSync(join(folder, 'SHA256SUMS'), 'utf8');
  });
  expect(sums[0]?.match(/^[0-9a-f]{64} {2}\S+$/gm)).toHaveLength(10);
  expect(sums[1]).toBe(sums[0]);
});
