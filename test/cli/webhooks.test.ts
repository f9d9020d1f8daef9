import { readRootToken } from '@licet/cli/root-token';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen, ownFolder } from '../node/own.ts';
import { type RunningService, startService } from '../node/service.ts';
import { type Ending, runHere } from './run-command.ts';

/** `licet webhooks`, and a service that may send to this machine. */

const folder = ownFolder();
let service: RunningService;
let receiver: string;
/** The status with which the receiver responds. */
let status = 204;

beforeAll(async () => {
  [service, receiver] = await Promise.all([
    startService(folder, ['--var', 'OUTBOUND_PRIVATE:true']),
    listen((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(status).end(status === 204 ? undefined : 'Out of memory');
      });
    }),
  ]);
});
afterAll(() => service?.stop());

const licet = (...args: string[]): Promise<Ending> =>
  runHere('licet', args, { LICET_URL: service.address, LICET_TOKEN: readRootToken() });

async function run(...args: string[]): Promise<Ending> {
  const ending = await licet(...args);
  expect(ending.code, ending.stderr).toBe(0);
  return ending;
}

/** Creates a webhook that hears of products. @returns its id */
async function create(): Promise<string> {
  status = 204;
  const { stderr } = await run('webhooks', 'create', receiver, '--types', 'product.*');
  return /^✓ Webhook (\d+) /.exec(stderr)?.[1] ?? expect.fail(stderr);
}

const change = () => run('products', 'create', 'Guard', '--type', 'OTHER');

describe('licet webhooks', () => {
  it('licet webhooks create prints only the secret to stdout; list, edit and delete manage the webhook', async () => {
    const created = await run(
      ...['webhooks', 'create', `${receiver}/shop`, '--types', 'license.*, product.created'],
      ...['--description', 'Shop'],
    );
    const [, id = ''] = /^✓ Webhook (\d+) created/.exec(created.stderr) ?? [];
    expect(created.stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
    const line = async () => (await run('webhooks', 'list')).stdout.split('\n')[1];
    expect(await line()).toMatch(
      new RegExp(
        `^${id} +nothing sent yet +${receiver}/shop +standard +license.\\* product.created `,
      ),
    );
    await run('webhooks', 'edit', id, '--types', 'all', '--off');
    expect(await line()).toMatch(new RegExp(`^${id} +off +${receiver}/shop +standard +all `));
    expect((await run('webhooks', 'edit', id, '--on')).stderr).toContain('is changed');
    const rotated = await run('webhooks', 'rotate-secret', id);
    expect(rotated.stdout).toMatch(/^whsec_/);
    expect(rotated.stdout).not.toBe(created.stdout);
    await run('webhooks', 'delete', id);
    expect(await run('webhooks', 'list')).toMatchObject({ stdout: '', stderr: 'No webhooks.\n' });
  });

  it('licet webhooks create recognizes an address of Discord, and shows neither its token nor a secret', async () => {
    const url = 'https://discord.com/api/webhooks/12345/s3cr3t-t0k3n';
    const created = await run('webhooks', 'create', url, '--types', 'session.*');
    const [, id = ''] =
      /^✓ Webhook (\d+) created\. Try it: webhooks test \1\n$/.exec(created.stderr) ?? [];
    expect(created.stdout).toBe('');
    const { stdout } = await run('webhooks', 'list');
    expect(stdout).toContain('https://discord.com/api/webhooks/12345/***');
    expect(stdout).toMatch(/ discord +session\.\* /);
    await run('webhooks', 'delete', id);
  });

  it('licet webhooks test prints the outcome, and fails with the receiver', async () => {
    const id = await create();
    const good = await run('webhooks', 'test', id);
    expect(good.stderr).toMatch(/^✓ The receiver returned 204 in \d+ ms\.\n$/);
    status = 500;
    const bad = await licet('webhooks', 'test', id);
    expect(bad).toMatchObject({ code: 1, stdout: '' });
    expect(bad.stderr).toMatch(
      /^✗ The receiver returned 500 in \d+ ms\. It said: Out of memory\n$/,
    );
    await run('webhooks', 'delete', id);
  });

  it('licet webhooks deliveries lists them, newest last, and resend sends one again', async () => {
    const id = await create();
    const list = async () => (await run('webhooks', 'deliveries', id)).stdout.trim().split('\n');
    await change();
    await change();
    await expect.poll(async () => (await list()).join().match(/DELIVERED/g)).toHaveLength(2);
    status = 503;
    await change();
    await expect
      .poll(list)
      .toEqual([
        expect.stringMatching(
          /^ID +TIME \(UTC\) +EVENT +STATE +ATTEMPTS +STATUS +NEXT \(UTC\) +ERROR$/,
        ),
        expect.stringMatching(/^\d+ +\S+ \S+ +product\.created +DELIVERED +1 +204$/),
        expect.stringMatching(/^\d+ +\S+ \S+ +product\.created +DELIVERED +1 +204$/),
        expect.stringMatching(
          /^\d+ +\S+ \S+ +product\.created +PENDING +1 +503 +\S+ \S+ +The receiver returned 503$/,
        ),
      ]);
    const { stdout } = await run('--json', 'webhooks', 'deliveries', id, '--state', 'PENDING');
    const { id: deliveryId } = JSON.parse(stdout);
    status = 204;
    const resent = await run('webhooks', 'resend', id, String(deliveryId));
    expect(resent.stderr).toContain('The receiver returned 204');
    const few = await run('webhooks', 'deliveries', id, '--limit', '2');
    expect(few.stderr).toBe('There are more than 2 deliveries. Raise --limit to see them.\n');
    expect(few.stdout.trim().split('\n')).toHaveLength(3);
    await run('webhooks', 'delete', id);
  });

  it.each([
    [
      ['create', 'https://shop.example/', '--types', 'licence.*'],
      'licence.*: no such type of events',
    ],
    [['create', 'https://shop.example/', '--format', 'slack'], 'standard, discord'],
    [['edit', '1'], 'Give at least one option to change.'],
    [['edit', '1', '--on', '--off'], 'Option --on cannot be used with option --off.'],
    [['deliveries', '1', '--state', 'LOST'], 'PENDING, DELIVERED, FAILED'],
  ])('licet webhooks %j is a usage error', async (args, message) => {
    const { code, stdout, stderr } = await licet('webhooks', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('licet webhooks reports what the service rejects', async () => {
    const { code, stderr } = await licet('webhooks', 'create', 'ftp://shop.example/');
    expect(code).toBe(1);
    expect(stderr).toContain('url must begin with https://');
  });
});

it('licet events --alerts shows events of the service alone', async () => {
  const id = await create();
  status = 410;
  await licet('webhooks', 'test', id);
  const { stdout } = await run('events', '--alerts');
  expect(stdout.trim().split('\n').slice(1)).toEqual([
    expect.stringMatching(new RegExp(`webhook\\.disabled +${id} +service +.*410`)),
  ]);
  expect((await run('webhooks', 'list')).stdout).toContain('off: The receiver returned 410');
  await run('webhooks', 'delete', id);
});
