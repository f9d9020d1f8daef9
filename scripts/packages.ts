import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { done, fail, systemReason, USAGE_ERROR_STATUS } from '@licet/cli/terminal';
import { makeFolder } from './local/folder.ts';
import type { Files } from './packages/archive.ts';
import { PACKAGES } from './packages/registries.ts';

/** `npm run packages`: makes the packages of the examples, the same bytes each time, and the file of their hashes. */

const HELP = `Usage: npm run packages [-- [--out DIR] [NAME…]]

Makes the packages of the examples for their registries: ${Object.keys(PACKAGES).join(', ')}.

  --out DIR   the folder for the files (default: dist/packages)
`;

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        out: { type: 'string', default: 'dist/packages' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}\n${HELP}`, USAGE_ERROR_STATUS);
  }
}

const { values, positionals } = readArguments();
if (values.help) {
  console.log(HELP);
  process.exit();
}
const names = positionals.length > 0 ? positionals : Object.keys(PACKAGES);
const makers = names.map((name) => {
  const make = PACKAGES[name];
  if (!make) fail(`There is no package ${name}.\n${HELP}`, USAGE_ERROR_STATUS);
  return { name, make };
});

/** The reason why a package cannot be made. A tool that was found has printed its own errors. */
function reasonOf(error: unknown): string {
  const isStart = error instanceof Error && 'spawnargs' in error && 'path' in error;
  if (isStart && 'code' in error && error.code === 'ENOENT')
    return `${error.path} is not in the PATH`;
  return systemReason(error);
}

function filesOf(name: string, make: () => Files): [file: string, content: string | Uint8Array][] {
  try {
    return Object.entries(make());
  } catch (error) {
    fail(
      `The package ${name} cannot be made: ${reasonOf(error)}. docs/packages.md has the tools; ` +
        'name other packages to make them without it.',
    );
  }
}

const packages = makers.map(({ name, make }) => ({ name, files: filesOf(name, make) }));

try {
  makeFolder(resolve(values.out));
  const sums: string[] = [];
  for (const { name, files } of packages) {
    for (const [file, content] of files) {
      writeFileSync(join(values.out, file), content);
      sums.push(`${createHash('sha256').update(content).digest('hex')}  ${file}\n`);
    }
    done(`${name}: ${files.map(([file]) => file).join(', ')}`);
  }
  writeFileSync(join(values.out, 'SHA256SUMS'), sums.join(''));
} catch (error) {
  fail(
    `The folder ${values.out} cannot be used: ${systemReason(error)}. Choose another with --out DIR.`,
  );
}
done(`${values.out}/SHA256SUMS has their hashes`);
