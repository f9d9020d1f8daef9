import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { freePort } from '../node/service.ts';
import { sharedService } from '../node/shared-service.ts';
import { hasTools } from '../node/tools.ts';
import { proxies, send } from './documented-proxies.ts';

/** Short forms of the tests in `*.long.test.ts`, which install, build and start what the documents describe. */

const read = (file: string): string => readFileSync(file, 'utf8');
const { scripts, devDependencies } = JSON.parse(read('package.json'));

it('docs/deploy.md names only commands of wrangler and npm, git pull and openssl', () => {
  const document = read('docs/deploy.md');
  const inline = [...document.matchAll(/`((?:npx|npm|openssl) [^`]+)`/g)].map(
    ([, text = '']) => text,
  );
  const blocks = [...document.matchAll(/```sh\n(.*?)```/gs)].map(([, text = '']) => text.trim());
  const commands = [...blocks.flatMap((block) => block.split('\n')), ...inline].flatMap((line) =>
    line.split(' && '),
  );
  const others = commands.filter((command) => !/^(npx wrangler|npm run) /.test(command));
  const known = ['umask 077', 'git pull', 'npm ci', 'npm start', 'npm start -- --persist-to DIR'];
  expect(others.filter((command) => !known.includes(command))).toEqual(['openssl rand -hex 32']);
});

it('the image is based on the Node that the project brings, and starts as npm start does', () => {
  const dockerfile = read('Dockerfile');
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  const base = `node:${devDependencies.node}-bookworm-slim`;
  expect(bases).toEqual([base, base]);
  const [, threshold] = /^ENV (MALLOC_MMAP_THRESHOLD_=\d+)$/m.exec(dockerfile) ?? [];
  const [, entrypoint = '[]'] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  expect(`${threshold} exec ${JSON.parse(entrypoint).join(' ')}`).toMatch(
    new RegExp(`^${scripts.start} --ip `),
  );
});

it('the systemd unit starts as npm start does, as a user of its own', () => {
  const unit = read('licet.service');
  const [, start = ''] = /^ExecStart=(.+)$/m.exec(unit) ?? [];
  const [, program = ''] = /(--max-semi-space-size.+)$/.exec(scripts.start) ?? [];
  expect(start.replace('/opt/licet/', '')).toContain(program);
  expect(unit).toMatch(/^User=licet$/m);
  expect(unit).toMatch(/^StateDirectoryMode=0700$/m);
});

const folder = ownFolder();

it.each(proxies)(
  'a request goes through $name as docs/one-machine.md configures it',
  async (proxy) => {
    if (!hasTools(`${proxy.name} as in docs/one-machine.md`, proxy.name)) return;
    const service = Number(new URL(await sharedService()).port);
    const https = await freePort();
    const ports = { http: await freePort(), https, service, failing: await freePort() };
    const child = proxy.start(ports, folder);
    const path = '/api/v2/healthy';
    const { status, text } = await vi.waitFor(
      () => send({ port: https, method: 'GET', path }),
      10_000,
    );
    child.kill('SIGTERM');
    expect([status, text]).toEqual([200, 'healthy']);
  },
);

it.each(['contract', 'client', 'cli'])(
  'npm pack refuses to pack the sources of @licet/%s',
  { tags: 'long' },
  (name) => {
    const { status } = spawnSync('npm', ['pack', '--dry-run'], { cwd: join('packages', name) });
    expect(status).not.toBe(0);
  },
);
