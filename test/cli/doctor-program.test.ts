/** @module-tag long */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { sharedService } from '../node/shared-service.ts';
import { hasTools } from '../node/tools.ts';
import { isLong } from '../support/long.ts';
import { type Ending, runHere } from './run-command.ts';

/** `npm run doctor -- --program` with programs that are good and bad. */

const folder = ownFolder();
const EXAMPLE = resolve('examples/licet.mjs');
const NODE = process.execPath;

let address: string;
let publicKeys: string;
let productId: number;
let licenseKey: string;
beforeAll(async () => {
  address = await sharedService();
  const licet = new Licet({ url: address, token: readRootToken() });
  const { keys } = await licet.signingKeys();
  const [key] = keys.flatMap((one) => (one.kty === 'EC' ? one : []));
  publicKeys = `${key?.kid}:${key?.x}.${key?.y}`;
  const limits = { defaultMaxIPs: -1, defaultMaxHWIDs: -1, offlineDays: 7 };
  ({ id: productId } = await licet.products.create({
    ...{ name: 'Examined', productType: 'OTHER' },
    ...limits,
  }));
  ({ licenseKey } = await licet.licenses.create({ productId, licenseType: 'PERMANENT' }));
});

/** Examines a program that has no lease. */
function examine(command: string, variables = {}, ...args: string[]): Promise<Ending> {
  const LICET_MARK = join(folder, 'licet.mark');
  rmSync(LICET_MARK, { force: true });
  return runHere('doctor', [address, '--program', command, ...args], {
    LICET_MARK,
    LICET_KEY: licenseKey,
    LICET_PRODUCT_ID: String(productId),
    LICET_PUBLIC_KEYS: publicKeys,
    LICET_TIMEOUT_SECONDS: '3',
    LICET_RETRY_SECONDS: '0',
    ...variables,
  });
}

const marksOf = (output: string): string[] =>
  [...output.matchAll(/^([✓✗•]) ([^:\n]+)/gm)].map(([, mark, what]) => `${mark} ${what}`);

describe('npm run doctor -- --program', () => {
  it('the doctor finds nothing wrong with an example that has a public key', async () => {
    const { code, output } = await examine(`"${NODE}" "${EXAMPLE}"`);
    expect(marksOf(output).slice(0, 5)).toEqual([
      '✓ A dead service, before any response',
      '✓ A fake service, without a right signature',
      '✓ The good service',
      '✓ A dead service, after a good response',
      '✓ A slow service, after a good response',
    ]);
    expect(output).toMatch(
      /before any response: it exited with status 2 after \d+\.\d s: "The lic/,
    );
    expect(output).toMatch(
      /The good service: it exited with status 0 after .*: "License is valid"/,
    );
    const moved = [
      '✓ A clock a year ahead, with the good service',
      '✓ A clock a year ahead, with a dead service',
      '✓ A clock a week back, with a dead service',
    ];
    const canMove = hasTools('npm run doctor with a moved clock', 'faketime');
    expect(marksOf(output).slice(5)).toEqual(canMove ? moved : ['• A moved clock was not tried']);
    expect(output).toContain(canMove ? '\nAll is well.' : '\nAll that was tried is well.');
    expect(code).toBe(0);
  });

  it.runIf(isLong)(
    'the doctor finds a program without a public key, which believes a fake service',
    async () => {
      const { code, output } = await examine(`"${NODE}" "${EXAMPLE}"`, { LICET_PUBLIC_KEYS: '' });
      expect(output).toMatch(
        /✗ A fake service, .*: it exited with status 0 .*: "License is valid"/,
      );
      expect(output).toContain('breaks  you: it runs for anybody who points it at another server');
      expect(output).toContain('not what markets and customers may expect: docs/drm.md.');
      expect(code).toBe(1);
    },
  );

  it('the doctor finds a program that stops with the service, and ends all that a program started', async () => {
    const child = join(folder, 'child.txt');
    const program = join(folder, 'plugin.mjs');
    writeFileSync(
      program,
      `import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { checkLicense } from '${EXAMPLE}';
const { LICET_MARK: markFile, LICET_KEY: licenseKey, LICET_PUBLIC_KEYS: publicKeys } = process.env;
const url = process.argv[2];
const isThere = () =>
  fetch(url + '/api/v2/healthy', { signal: AbortSignal.timeout(3000) }).then(
    (response) => response.text(),
    () => process.exit(2),
  );
await isThere();
const own = { url, markFile, licenseKey, publicKeys, timeoutSeconds: 3, retrySeconds: 0 };
const answer = await checkLicense({ ...own, productId: ${productId}, productVersion: '1' });
if (!answer.mayRun) process.exit(2);
console.log('Enabled');
writeFileSync('${child}', String(spawn('sleep', ['600'], { stdio: 'ignore' }).pid));
setInterval(isThere, 100);
`,
    );
    const command = `"${NODE}" "${program}" {url}`;
    const { code, output } = await examine(command, {}, '--timeout', '6');
    expect(marksOf(output).slice(0, 6)).toEqual([
      '✓ A dead service, before any response',
      '✓ A fake service, without a right signature',
      '✓ The good service',
      '✗ The service goes away while it runs',
      '✗ A dead service, after a good response',
      '✗ A slow service, after a good response',
    ]);
    expect(output).toContain('The good service: it ran on for 6 s: "Enabled"');
    expect(output).toContain('breaks  servers of customers; BuiltByBit may count it as malware');
    expect(code).toBe(1);
    // A killed process stands in the list until the first process has read its status.
    const pid = Number(readFileSync(child, 'utf8'));
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), {
      timeout: 10_000,
    });
  });

  it('the doctor says which step a program lacks before it can be examined', {
    tags: 'short',
  }, async () => {
    const late = await examine('true');
    expect(late.output).toContain('✗ A dead service, before any response: it exited with status 0');
    expect(late.output).toContain('change  Delete its lease (licet.mark in the examples)');
    expect(late.output).toContain('• A fake service was not tried');
    expect(late.output).toContain(
      '✗ It asked nothing\n    change  Let it read the address from LI',
    );
    expect(late.code).toBe(1);
    const refused = await examine(`"${NODE}" "${EXAMPLE}"`, { LICET_KEY: 'AAAA' });
    expect(refused.output).toContain('The service said: 400 License not found or invalid');
    expect(refused.code).toBe(1);
  });

  it('the doctor reports that no service responds, and takes --program or --market', {
    tags: 'short',
  }, async () => {
    const { code, stderr } = await runHere('doctor', ['http://127.0.0.1:9', '--program', 'true']);
    expect(stderr).toContain('No service responds at http://127.0.0.1:9. Check the address.');
    expect(code).toBe(2);
    const both = ['http://127.0.0.1:9', '--program', 'true', '--market', 'tebex'];
    expect((await runHere('doctor', both)).code).toBe(2);
  });
});
