import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { done, fail, USAGE_ERROR_STATUS } from '@licet/cli/terminal';
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

mkdirSync(values.out, { recursive: true });
const sums: string[] = [];
for (const { name, make } of makers) {
  const files = Object.entries(make());
  for (const [file, content] of files) {
    writeFileSync(join(values.out, file), content);
    sums.push(`${createHash('sha256').update(content).digest('hex')}  ${file}\n`);
  }
  done(`${name}: ${files.map(([file]) => file).join(', ')}`);
}
writeFileSync(join(values.out, 'SHA256SUMS'), sums.join(''));
done(`${values.out}/SHA256SUMS has their hashes`);
