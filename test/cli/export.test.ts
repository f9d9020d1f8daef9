import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { listen, listenWith, ownFolder } from '../node/own.ts';
import { argsOfScript } from '../node/service.ts';
import { sharedService } from '../node/shared-service.ts';
import { type Fields, licenseOf, lines, numbers } from './items.ts';
import { endingOf, runHere, startCommand } from './run-command.ts';

/** npm run export. test/cli/import.test.ts exports a whole shop, test/node/move.long.test.ts compares each field. */

const folder = ownFolder();
const at = (name: string): string => join(folder, name);

const ENV = { LICET_TOKEN: 'a-token' };
const run = (file: string, from: string, env = {}) =>
  runHere('export', [at(file), '--url', from], env);

let service: string;
beforeAll(async () => {
  service = await sharedService();
});

describe('an export over a faulty network', () => {
  it('an export reads on where a list broke off', { tags: 'long' }, async () => {
    const list = numbers(300).map((id) => licenseOf(id, { notes: 'Sold. '.repeat(900) }));
    const isDeleted = ({ licenseStatus }: Fields) => licenseStatus === 'DELETED';
    const cut = new Set<string>();
    const from = await listen(({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://licet.test');
      const wantsDeleted = searchParams.has('licenseStatus');
      const after = Number(searchParams.get('after') ?? 0);
      const found = list.filter(
        (license) =>
          pathname.endsWith('/licenses') &&
          isDeleted(license) === wantsDeleted &&
          Number(license.id) > after,
      );
      const text = pathname.endsWith('/ping') ? 'pong' : JSON.stringify(found);
      if (found.length === 0 || after > 0 || searchParams.has('limit') || cut.has(url)) {
        response.end(text);
        return;
      }
      cut.add(url);
      response.writeHead(200, { 'Content-Length': text.length });
      response.write(text.slice(0, text.length * 0.6), () => response.destroy());
    });
    const { code, output } = await run('cut.jsonl', from, ENV);
    expect(code, output).toBe(0);
    expect(cut.size).toBe(2);
    expect(output).toMatch(/GET \/licenses .* \(try 2 of 8\)/);
    const exported = [false, true].flatMap((deleted) =>
      list.filter((license) => isDeleted(license) === deleted).map((license) => ({ license })),
    );
    const end = { products: 0, customers: 0, licenses: list.length, blacklists: 0 };
    expect(readFileSync(at('cut.jsonl'), 'utf8')).toBe(lines([...exported, { end }]));
  });

  it('an export leaves no file where it cannot continue', async () => {
    const from = await listen(({ url = '' }, response) => {
      if (url.endsWith('/ping')) response.end('pong');
      else if (url.includes('limit=1')) response.end('[]');
      else if (url.includes('after=')) response.end('[{"id":1},{"id":2}]');
      else {
        response.writeHead(200, { 'Content-Length': 100 });
        response.write('[{"id":1},', () => response.destroy());
      }
    });
    const { code, output } = await run('broken.jsonl', from, ENV);
    expect(output).toContain('cannot continue after an id');
    expect(code).toBe(1);
    expect(readdirSync(folder).filter((name) => name.startsWith('broken'))).toEqual([]);
  });
});

it.each(['{}', ' {"licenses":[]}', 'null', '<p>Welcome</p>'])(
  'an export rejects a response that is no list: %s',
  async (text) => {
    const { code, output } = await run('nothing.jsonl', await listenWith(text), ENV);
    expect(output).toContain('✗ GET /products returned no list');
    expect(code).toBe(1);
    expect(existsSync(at('nothing.jsonl'))).toBe(false);
  },
);

it.each(['[{"id":1},{"id":2}]', '[{"name":"A"}]', '[]'])(
  'an export ends at pages without progress: %s',
  async (page) => {
    const from = await listen(({ url = '' }, response) => {
      const [path] = url.split('?');
      const isPage = !url.endsWith('/ping') && !url.includes('limit=1');
      if (isPage) response.setHeader('Link', `<${path}?after=2>; rel="next"`);
      response.end(url.endsWith('/ping') ? 'pong' : page);
    });
    const { code, output } = await run('endless.jsonl', from, ENV);
    expect(output).toContain('✗ GET /products: the next page');
    expect(code).toBe(1);
    expect(existsSync(at('endless.jsonl'))).toBe(false);
  },
);

it.each([
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  '%s removes the file of an unfinished export',
  { tags: 'long' },
  async (signal, status) => {
    const from = await listen(({ url = '' }, response) => {
      if (url.endsWith('/ping')) response.end('pong');
      else if (url.includes('limit=1')) response.end('[]');
      else response.write('[{"id":1},');
    });
    const child = startCommand('export', [at('stopped.jsonl'), '--url', from], ENV);
    const ended = endingOf(child);
    const files = () => readdirSync(folder).filter((name) => name.startsWith('stopped.jsonl'));
    await expect.poll(files, { timeout: 60_000, interval: 5 }).toHaveLength(1);
    child.kill(signal);
    const { code, output } = await ended;
    expect(output).toContain('✗ Stopped: nothing was exported');
    expect(code).toBe(status);
    expect(files()).toEqual([]);
  },
);

it.each<[args: string[], message: string]>([
  [['a', 'b'], 'Give one FILE'],
  [['/nowhere/a.jsonl'], 'The folder /nowhere does not exist'],
  [[folder], `${folder} is a folder. Give the name of a file`],
  [['a.jsonl', '--all'], 'Unknown option --all. Add --help'],
  [['a.jsonl', '--url', 'licet'], '--url, or LICET_URL, is "licet". Give an address'],
])('export %j is a usage error', async (args, message) => {
  const { code, output } = await runHere('export', args, { LICET_URL: service });
  expect(output).toContain(message);
  expect(code).toBe(2);
  expect(existsSync('a.jsonl')).toBe(false);
});

describe('the file of an export', () => {
  /** A pipe whose reader has gone away. */
  function closedPipe(): number {
    spawnSync('mkfifo', [at('closed.jsonl')]);
    const reader = openSync(at('closed.jsonl'), constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(at('closed.jsonl'), constants.O_WRONLY);
    closeSync(reader);
    return writer;
  }

  it('the file of an export may be a link to a new file, which stays', async () => {
    symlinkSync('new.jsonl', at('link.jsonl'));
    const { code, output } = await run('link.jsonl', service);
    expect(code, output).toBe(0);
    expect(readlinkSync(at('link.jsonl'))).toBe('new.jsonl');
    expect(readFileSync(at('new.jsonl'), 'utf8')).toMatch(/\{"end":.*\}\n$/);
    expect(statSync(at('new.jsonl')).mode & 0o777).toBe(0o600);
  });

  it.each(['there.jsonl', 'link-to-there.jsonl'])(
    'a file that exists is not overwritten by an export: %s',
    async (name) => {
      writeFileSync(at('there.jsonl'), 'yesterday');
      if (name.startsWith('link')) symlinkSync('there.jsonl', at(name));
      const { code, output } = await run(name, service);
      expect(output).toContain(
        'there.jsonl exists, and no export is overwritten. Give the name of',
      );
      expect(code).toBe(1);
      expect(readFileSync(at('there.jsonl'), 'utf8')).toBe('yesterday');
    },
  );

  it('the file of an export may be a pipe, which stays unchanged', async () => {
    spawnSync('mkfifo', ['-m', '644', at('pipe.jsonl')]);
    const reading = readFile(at('pipe.jsonl'), 'utf8');
    const { code, output } = await run('pipe.jsonl', service);
    expect(code, output).toBe(0);
    expect(await reading).toMatch(/\{"end":.*\}\n$/);
    expect(statSync(at('pipe.jsonl')).isFIFO()).toBe(true);
    expect(statSync(at('pipe.jsonl')).mode & 0o777).toBe(0o644);
  });

  it('the file of an export is an error where it is a closed standard output', {
    tags: 'long',
  }, () => {
    const writer = closedPipe();
    const { status, stderr } = spawnSync(
      process.execPath,
      [...argsOfScript('export'), '-', '--url', service],
      { stdio: ['ignore', writer, 'pipe'], encoding: 'utf8' },
    );
    closeSync(writer);
    expect(stderr).toContain('The standard output cannot be written: broken pipe');
    expect(status).toBe(1);
  });
});
