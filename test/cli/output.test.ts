/** @module-tag long */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { listenWith, ownFolder } from '../node/own.ts';
import { argsOfScript } from '../node/service.ts';
import { sharedService } from '../node/shared-service.ts';
import { canRun } from '../node/tools.ts';

/** Commands whose output cannot be written. */

const folder = ownFolder();

let url: string;
let licet: Licet;
beforeAll(async () => {
  url = await sharedService();
  licet = new Licet({ url, token: readRootToken() });
});

/** Writes a file to import with a unique product. */
function newProduct(): { file: string; id: number } {
  const id = 900_000 + Math.floor(Math.random() * 100_000);
  const file = join(folder, `${id}.json`);
  writeFileSync(
    file,
    JSON.stringify({ products: [{ id, name: `Unread ${id}`, productType: 'OTHER' }] }),
  );
  return { file, id };
}

/** Runs a command with a file as its standard output, or for undefined a closed pipe. */
async function run(
  stdout: string | undefined,
  tool: string,
  ...args: readonly string[]
): Promise<{ code: number | null; stderr: string }> {
  const output = stdout === undefined ? 'pipe' : openSync(stdout, 'w');
  const child = spawn(process.execPath, [...argsOfScript(tool), ...args], {
    env: { ...process.env, NO_COLOR: '1', LICET_URL: url, LICET_TOKEN: readRootToken() },
    stdio: ['ignore', output, 'pipe'],
  });
  child.stdout?.destroy();
  if (typeof output === 'number') closeSync(output);
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  const [code] = await once(child, 'close');
  return { code, stderr };
}

const FULL = '/dev/full';
const LOST = '✗ The output cannot be written: no space left on device.\n';

const isThere = canRun(existsSync(FULL), FULL, 'output to a full device');

describe.skipIf(!isThere)('output to a full device', () => {
  it.each(['backup', 'restore', 'demo', 'deploy', 'start'])(
    'output to a full device fails %s',
    async (tool) => {
      expect(await run(FULL, tool, '--help')).toEqual({ code: 1, stderr: LOST });
    },
  );

  it('output to a full device is reported once, and does not stop an import', async () => {
    const { file, id } = newProduct();
    const imported = await run(FULL, 'import', file);
    expect(imported.stderr).toMatch(new RegExp(`^Importing from .*\n(.*\n)*${LOST}$`));
    expect(imported.code).toBe(1);
    expect(await licet.products.get(id)).toMatchObject({ id });

    const listed = await run(FULL, 'licet', 'products', 'list');
    // A busy machine also shows the progress.
    expect([listed.code, listed.stderr.split(LOST).length - 1]).toEqual([1, 1]);
    expect(await run(FULL, 'doctor', url)).toEqual({ code: 1, stderr: LOST });
  });

  it('output to a full device is reported by an export', async () => {
    const { code, stderr } = await run(FULL, 'export', '-');
    expect(stderr).toMatch(
      /^Exporting .*\n✗ The standard output cannot be written: no space left on device\.\n$/,
    );
    expect(code).toBe(1);
  });
});

describe('output to a closed pipe', () => {
  it('output to a closed pipe ends licet quietly', { tags: 'short' }, async () => {
    expect(await run(undefined, 'licet', '--help')).toEqual({ code: 0, stderr: '' });
  });

  it('output to a closed pipe does not stop an import', async () => {
    const { file, id } = newProduct();
    const { code, stderr } = await run(undefined, 'import', file);
    expect(stderr).not.toContain('✗');
    expect(code).toBe(0);
    expect(await licet.products.get(id)).toMatchObject({ id });
  });

  it('output to a closed pipe does not stop the doctor, whose status is a result', async () => {
    expect(await run(undefined, 'doctor', url)).toEqual({ code: 0, stderr: '' });
    const other = await listenWith('ok');
    expect(await run(undefined, 'doctor', other)).toEqual({ code: 1, stderr: '' });
  });
});
