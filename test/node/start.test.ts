import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureRootToken, readRootToken, SECRETS_FILE } from '../../scripts/root-token.ts';
import {
  ending,
  freePort,
  newFolder,
  npmStart,
  type RunningService,
  startService,
} from './service.ts';

/** What a newcomer runs: npm start and npm run demo. */

const folder = newFolder();
let service: RunningService;
beforeAll(async () => {
  service = await startService(folder);
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

function npmRunDemo(...args: string[]): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    execFile('npm', ['run', 'demo', '--', ...args], (error, stdout, stderr) =>
      resolve({ ok: error === null, output: stdout + stderr }),
    );
  });
}

async function api(path: string): Promise<unknown> {
  const answer = await fetch(`${service.address}/api/v2${path}`, {
    headers: { TOKEN: readRootToken() ?? '' },
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

describe('npm start', () => {
  it('prints the address, where the root token is, and a first request that works', async () => {
    expect(service.output()).toContain(`Licet runs on ${service.address}`);
    expect(service.output()).toContain(SECRETS_FILE);
    const [, command] = /Try\s+(curl .*)/.exec(service.output()) ?? [];
    const answer = await new Promise<string>((resolve) =>
      execFile('bash', ['-c', `${command} -s`], (_error, stdout) => resolve(stdout)),
    );
    expect(JSON.parse(answer)).toEqual([]);
  });

  it('never prints the root token', () => {
    expect(service.output()).not.toContain(readRootToken());
  });

  it('says what to do when the port is taken', async () => {
    const { code, output } = await ending(npmStart('--port', String(service.port)));
    expect(code).not.toBe(0);
    expect(output).toContain(`Port ${service.port} is taken`);
    expect(output).toContain(`npm start -- --port ${service.port + 1}`);
  });

  it.each([
    [['--port', 'eighty'], '--port must be a number from 1 to 65535'],
    [['--port', '70000'], '--port must be a number from 1 to 65535'],
    [['--persist-to'], '--persist-to needs a value'],
    [['9000'], '"9000" is no option'],
  ])('refuses %j', async (args, message) => {
    const { code, output } = await ending(npmStart(...args));
    expect(code).not.toBe(0);
    expect(output).toContain(message);
  });

  it('keeps a second service from the same data', async () => {
    const { code, output } = await ending(
      npmStart('--persist-to', folder, '--port', String(await freePort())),
    );
    expect(code).not.toBe(0);
    expect(output).toContain(`The data in ${folder} is in use by another Licet`);
  });

  it('keeps nothing but the database, for its owner alone, and lets nobody run SQL', async () => {
    expect(readdirSync(join(folder, 'v3'))).not.toContain('observability');
    expect(statSync(join(folder, 'v3')).mode & 0o077).toBe(0);
    const explorer = `${service.address}/cdn-cgi/local/explorer/api/d1/database`;
    expect((await fetch(explorer)).status).toBe(404);
  });

  it('watches the address on which it listens, and ends well when it is asked to', async () => {
    const other = newFolder();
    const port = String(await freePort());
    const child = spawn(
      process.execPath,
      ['scripts/start.ts', '--persist-to', other, '--port', port, '--ip', '127.0.0.2'],
      { stdio: 'pipe' },
    );
    const ended = ending(child);
    await vi.waitFor(() => fetch(`http://127.0.0.2:${port}/api/v2/healthy`), { timeout: 30_000 });
    await new Promise<void>((resolve) =>
      child.stdout?.on('data', (chunk) => String(chunk).includes('Stop') && resolve()),
    );
    child.kill('SIGTERM');
    const { code, output } = await ended;
    expect(output).toContain(`Licet runs on http://127.0.0.2:${port}`);
    expect(code).toBe(0);
    rmSync(other, { recursive: true });
  });

  it('ends with the npm that started it', async () => {
    const other = newFolder();
    const port = await freePort();
    const healthy = `http://localhost:${port}/api/v2/healthy`;
    const child = npmStart('--persist-to', other, '--port', String(port));
    const ended = ending(child);
    await vi.waitFor(() => fetch(healthy), {
      timeout: 30_000,
    });
    child.kill('SIGKILL');
    // All that wrote to its terminal is gone when the output closes.
    await ended;
    await expect(fetch(healthy)).rejects.toThrow();
    rmSync(other, { recursive: true });
  });

  it('explains itself with --help', async () => {
    const { code, output } = await ending(npmStart('--help'));
    expect(code).toBe(0);
    expect(output).toContain('--persist-to DIR');
  });
});

describe('npm run demo', () => {
  it('fills the shop, plays a game server, and adds only what is missing the next time', async () => {
    const first = await npmRunDemo('--url', service.address);
    expect(first.output).toMatch(/200 \{"valid":true.*400 \{"valid":false,"message":"Max IPs/s);
    expect(first.ok).toBe(true);
    expect(await api('/products')).toHaveLength(3);
    for (const status of ['ACTIVE', 'EXPIRED', 'DEACTIVATED', 'DELETED']) {
      expect(await api(`/licenses?licenseStatus=${status}`), status).not.toHaveLength(0);
    }
    expect(await api('/customers')).toHaveLength(12);
    expect(await api('/blacklists')).toHaveLength(3);

    const second = await npmRunDemo('--url', service.address);
    expect(second.output).toContain('48 licenses, 0 of them new');
    expect(second.ok).toBe(true);
    expect(await api('/products')).toHaveLength(3);
  });

  it('says what to do when nothing answers, or the token is refused', async () => {
    const nothing = await npmRunDemo('--url', 'http://localhost:1');
    expect(nothing.ok).toBe(false);
    expect(nothing.output).toContain('Nothing answers at http://localhost:1');
    const refused = await npmRunDemo('--url', service.address, '--token', 'wrong');
    expect(refused.ok).toBe(false);
    expect(refused.output).toContain('answered 401');
  });
});

it('keeps the data from one start to the next', async () => {
  const before = await api('/licenses');
  await service.stop();
  service = await startService(folder);
  expect(await api('/licenses')).toEqual(before);
});

describe('the root token', () => {
  const file = join(newFolder(), SECRETS_FILE);

  it('is made where there is none, readable by its owner alone, and then kept', () => {
    expect(ensureRootToken(file)).toBe(true);
    const token = readRootToken(file);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(ensureRootToken(file)).toBe(false);
    expect(readRootToken(file)).toBe(token);
  });

  it('is added behind what the file holds', () => {
    writeFileSync(file, 'OTHER=1');
    ensureRootToken(file);
    expect(readFileSync(file, 'utf8')).toMatch(/^OTHER=1\nROOT_TOKEN=[0-9a-f]{64}\n$/);
  });

  it('is refused where the service would not take it', () => {
    writeFileSync(file, 'ROOT_TOKEN="short"\n');
    expect(() => ensureRootToken(file)).toThrow('fewer than 32 characters');
  });
});
