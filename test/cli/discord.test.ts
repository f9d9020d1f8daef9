import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { MINUTE_MS } from '@licet/contract/durations';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { type RunningService, startService } from '../node/service.ts';
import { runHere } from './run-command.ts';

/** `licet discord setup` and `licet customers link`, beside a Discord of our own. */

const APPLICATION = '1100000000000000001';
const GUILD = '1100000000000000002';
const ROLE = '1100000000000000005';
const BOT_ROLE = '1100000000000000006';
const PUBLIC_KEY = '8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c';
const SECRET = 'client-secret-0123456789';
const BOT_TOKEN = 'bot-token-0123456789-abcdef';

const folder = ownFolder();
let service: RunningService;
let licet: Licet;

interface Sent {
  method: string;
  path: string;
  authorization: string;
  body: string;
}
let sent: Sent[] = [];
/** The responses of Discord, by method and path. */
let answers: Record<string, [status: number, body: unknown]> = {};
/** How long Discord takes for its next response. */
let delayMs = 0;
const paths = (): string[] => sent.map(({ method, path }) => `${method} ${path}`);
const discord = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const { method = '', headers } = request;
    const url = (request.url ?? '').replace(/^\/api\/v10/, '');
    sent.push({
      method,
      path: url,
      authorization: headers.authorization ?? '',
      body: String(Buffer.concat(parts)),
    });
    const [status, body] = answers[`${method} ${url}`] ?? [404, { code: 0, message: 'Not Found' }];
    setTimeout(() => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(body === null ? undefined : JSON.stringify(body));
    }, delayMs);
    delayMs = 0;
  });
});
let discordUrl = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => discord.listen(0, '127.0.0.1', () => resolve()));
  const { port }: AddressInfo = Object(discord.address());
  discordUrl = `http://127.0.0.1:${port}`;
  service = await startService(folder, ['--var', `DISCORD_URL:${discordUrl}`]);
  licet = new Licet({ url: service.address, token: readRootToken() ?? '' });
});
afterAll(async () => {
  discord.close();
  await service?.stop();
});

const ADA = '2200000000000000001';
const GIVEN = `PUT /guilds/${GUILD}/members/${ADA}/roles/${ROLE}`;
const EDITED = `PATCH /webhooks/${APPLICATION}/interaction-token/messages/@original`;
const POSTED = 'POST /api/webhooks/1/abc?wait=true';
const COMMANDS = `PUT /applications/${APPLICATION}/guilds/${GUILD}/commands`;
const roles = (botPosition: number, permissions: string) => [
  { id: GUILD, name: '@everyone', position: 0, permissions: '0' },
  { id: ROLE, name: 'Customer', position: 5, permissions: '0' },
  { id: BOT_ROLE, name: 'Licet', position: botPosition, permissions },
];

beforeEach(() => {
  sent = [];
  answers = {
    'POST /oauth2/token': [200, { access_token: 'bearer-1' }],
    [COMMANDS]: [200, []],
    'GET /users/@me': [200, { id: APPLICATION }],
    [`GET /guilds/${GUILD}/members/${APPLICATION}`]: [200, { roles: [BOT_ROLE] }],
    [`GET /guilds/${GUILD}/roles`]: [200, roles(9, String(1 << 28))],
    [GIVEN]: [204, null],
    [EDITED]: [200, {}],
    [POSTED]: [204, null],
  };
});

function fileWith(content: string): string {
  const file = join(folder, `secret-${content.length}.txt`);
  writeFileSync(file, content);
  return file;
}

const setUp = (...args: string[]) =>
  runHere('licet', ['discord', 'setup', ...args], {
    LICET_URL: service.address,
    LICET_TOKEN: readRootToken(),
    DISCORD_URL: discordUrl,
  });

const IDS = ['--application', APPLICATION, '--public-key', PUBLIC_KEY, '--guild', GUILD];

it('without a bot, the commands are registered with the client secret, and no secret is printed', async () => {
  const file = fileWith(SECRET);
  const { code, stdout, stderr } = await setUp(...IDS, '--client-secret', file);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('/discord/interactions');
  expect(stderr).toContain('✓ 8 commands are registered');
  expect(stderr).toContain(`client_id=${APPLICATION}&scope=applications.commands\n`);
  expect(stdout + stderr).not.toContain(SECRET);
  const [token, commands] = sent;
  expect(token?.authorization).toBe(
    `Basic ${Buffer.from(`${APPLICATION}:${SECRET}`).toString('base64')}`,
  );
  expect(commands?.authorization).toBe('Bearer bearer-1');
  const names = JSON.parse(commands?.body ?? '[]').map(({ name }: { name: string }) => name);
  expect(names).toEqual([
    'redeem',
    'link',
    'licenses',
    'reset',
    'portal',
    'get-license',
    'license',
    'blacklist',
  ]);
  expect(await licet.discordSettings.get()).toMatchObject({ guildId: GUILD, hasBotToken: false });
});

it('with DISCORD_URL, setup, roles, late messages and webhooks reach that Discord over HTTP, and nothing else opens [8.4.5]', {
  tags: 'long',
}, async () => {
  const keys = generateKeyPairSync('ed25519');
  const publicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const ids = ['--application', APPLICATION, '--guild', GUILD];
  const key = ['--public-key', publicKey.toString('hex')];
  const { code, stderr } = await setUp(...ids, ...key, '--bot-token', fileWith(BOT_TOKEN));
  expect(code, stderr).toBe(0);
  expect(stderr).toContain(`${discordUrl}/oauth2/authorize?client_id=${APPLICATION}`);
  const product = await licet.products.create({ name: 'G', productType: 'OTHER', roleId: ROLE });
  const { licenseKey } = await licet.licenses.create({
    productId: product.id,
    licenseType: 'PERMANENT',
    maxIPs: 1,
    maxHWIDs: 1,
  });
  const interaction = (id: string) => ({
    id,
    application_id: APPLICATION,
    type: 2,
    token: 'interaction-token',
    guild_id: GUILD,
    member: { user: { id: ADA, username: 'ada' }, roles: [], permissions: '0' },
    data: { name: 'redeem', options: [{ name: 'key', value: licenseKey }] },
  });
  const send = async (id: string): Promise<{ type?: number; data?: { content?: string } }> => {
    const body = JSON.stringify(interaction(id));
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signed = sign(null, Buffer.from(timestamp + body), keys.privateKey);
    const response = await fetch(`${service.address}/discord/interactions`, {
      method: 'POST',
      headers: {
        'X-Signature-Timestamp': timestamp,
        'X-Signature-Ed25519': signed.toString('hex'),
      },
      body,
    });
    return Object(await response.json());
  };
  expect((await send('1')).data?.content).toMatch(/^\*\*G\*\* is linked to your account: /);
  expect(sent.at(-1)).toMatchObject({ authorization: `Bot ${BOT_TOKEN}` });
  // A role that takes longer than the first response may.
  delayMs = 2_500;
  expect(await send('2')).toMatchObject({ type: 5 });
  await vi.waitFor(() => expect(paths()).toContain(EDITED), 5_000);
  expect(paths().filter((path) => path === GIVEN)).toHaveLength(2);
  const webhook = await licet.webhooks.create({ url: 'https://discord.com/api/webhooks/1/abc' });
  expect(await licet.webhooks.test(webhook.id)).toMatchObject({ status: 204 });
  expect(paths()).toContain(POSTED);
  await expect(licet.webhooks.create({ url: discordUrl })).rejects.toThrow(
    'must begin with https://',
  );
  await licet.webhooks.delete(webhook.id);
  await licet.products.update(product.id, { roleId: null });
});

it('a DISCORD_URL that would show the secret on the way is rejected, and nothing is stored [8.4.5]', async () => {
  const before = await licet.discordSettings.get();
  const file = fileWith(SECRET);
  const { code, stderr } = await runHere(
    'licet',
    ['discord', 'setup', ...IDS, '--client-secret', file],
    {
      LICET_URL: service.address,
      LICET_TOKEN: readRootToken(),
      DISCORD_URL: 'http://discord.shop.example',
    },
  );
  expect(code).toBe(2);
  expect(stderr).toContain('DISCORD_URL must be https://discord.shop.example');
  expect(await licet.discordSettings.get()).toEqual(before);
});

it('each command stays within the limits of Discord', async () => {
  await setUp(...IDS, '--client-secret', fileWith(SECRET));
  const commands: Record<string, unknown>[] = JSON.parse(sent[1]?.body ?? '[]');
  expect(commands).toHaveLength(8);
  const check = (one: Record<string, unknown>): void => {
    expect(String(one.name)).toMatch(/^[a-z-]{1,32}$/);
    expect(String(one.description).length).toBeLessThanOrEqual(100);
    const options: Record<string, unknown>[] = Array.isArray(one.options) ? one.options : [];
    const required = options.map((option) => option.required === true);
    // Required options come first.
    expect(required).toEqual(required.toSorted((a, b) => Number(b) - Number(a)));
    options.forEach(check);
  };
  commands.forEach(check);
});

it.each([
  ['--bot-token', BOT_TOKEN],
  ['--client-secret', SECRET],
])(
  'setup with %s checks the roles with the stored token, and names each fault with its remedy [10.3.14]',
  async (option, secret) => {
    const { id } = await licet.products.create({
      name: 'Guard',
      productType: 'OTHER',
      roleId: ROLE,
    });
    await licet.discordSettings.update({ botToken: BOT_TOKEN });
    const faults: [held: unknown, message: string][] = [
      [
        roles(3, String(1 << 28)),
        'Role "Customer" of the product "Guard": The role of the bot stands below it. Move',
      ],
      [
        roles(9, '0'),
        'Role "Customer" of the product "Guard": The bot lacks the right "Manage Roles"',
      ],
      [[roles(9, '8')[0], roles(9, '8')[2]], `Role ${ROLE} of the product "Guard": It is deleted`],
    ];
    for (const [held, message] of faults) {
      answers[`GET /guilds/${GUILD}/roles`] = [200, held];
      const { code, stderr } = await setUp(...IDS, option, fileWith(secret));
      expect(code, stderr).toBe(1);
      expect(stderr).toContain(`✗ ${message}`);
      expect(stderr).toContain('permissions=268435456');
      expect(stderr).not.toContain(secret);
      expect((await licet.discordSettings.get()).rolesFault).toContain(
        `Role ${ROLE} of the product`,
      );
    }
    answers[`GET /guilds/${GUILD}/roles`] = [200, roles(9, String(1 << 28))];
    const { code, stderr } = await setUp(...IDS, option, fileWith(secret));
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('✓ The bot can give the roles of all products');
    expect((await licet.discordSettings.get()).rolesFault).toBeNull();
    await licet.products.delete(id);
  },
);

it('setup without any token says that products with roles need a bot [10.3.14]', async () => {
  const { id } = await licet.products.create({ name: 'Guard', productType: 'OTHER', roleId: ROLE });
  await licet.discordSettings.update({ botToken: null });
  const { code, stderr } = await setUp(...IDS, '--client-secret', fileWith(SECRET));
  await licet.products.delete(id);
  expect(code).toBe(1);
  expect(stderr).toContain('✗ Products give roles, which need a bot: run');
});

it.each([
  [403, 50001, 'Open the invitation above'],
  [401, 0, 'Check the application id'],
  [429, 0, 'Try again in a minute'],
])('commands that Discord rejects with %i say what to do', async (status, code, remedy) => {
  answers[COMMANDS] = [status, { code, message: 'Missing Access' }];
  const ending = await setUp(...IDS, '--client-secret', fileWith(SECRET));
  expect(ending.code).toBe(1);
  expect(ending.stderr).toContain(remedy);
});

it('a wrong client secret, a missing file and a bot that cannot be read say what to do', async () => {
  answers['POST /oauth2/token'] = [401, { error: 'invalid_client' }];
  const wrong = await setUp(...IDS, '--client-secret', fileWith(SECRET));
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('the client secret') });
  const missing = await setUp(...IDS, '--client-secret', 'nowhere.txt');
  expect(missing).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('nowhere.txt cannot be read'),
  });
  const { id } = await licet.products.create({ name: 'Guard', productType: 'OTHER', roleId: ROLE });
  answers[`GET /guilds/${GUILD}/members/${APPLICATION}`] = [500, {}];
  const broken = await setUp(...IDS, '--bot-token', fileWith(BOT_TOKEN));
  await licet.products.delete(id);
  expect(broken.stderr).toContain('Try again in a minute');
  // The commands are registered by then.
  expect(broken.stdout).toContain('/discord/interactions');
});

it('a call without a secret says which one it needs', async () => {
  const { code, stderr } = await setUp(...IDS);
  expect(code).toBe(2);
  expect(stderr).toContain('--client-secret FILE');
});

it('a link to the page of a customer is printed alone, for a script', async () => {
  const { id } = await licet.customers.create({ email: 'ada@shop.example' });
  const { code, stdout, stderr } = await runHere('licet', ['customers', 'link', String(id)], {
    LICET_URL: service.address,
    LICET_TOKEN: readRootToken(),
  });
  expect(code, stderr).toBe(0);
  expect(stdout.trim()).toMatch(/\/my#code=[\w-]{43}$/);
  expect(stderr).toContain('It works once');
});

it.each([
  [[], 24 * 60],
  [['--valid-minutes', '90'], 90],
])('a link with %j works for %i minutes', async (args, minutes) => {
  const { id } = await licet.customers.create({ firstName: 'Ada' });
  const before = Date.now();
  const { code, stdout, stderr } = await runHere(
    'licet',
    ['customers', 'link', String(id), '--json', ...args],
    { LICET_URL: service.address, LICET_TOKEN: readRootToken() },
  );
  expect(code, stderr).toBe(0);
  const validMs = Date.parse(JSON.parse(stdout).expiresAt) - before;
  expect(Math.round(validMs / MINUTE_MS)).toBe(minutes);
});

it('a link that shall work for longer than seven days is rejected with the limit', async () => {
  const { code, stderr } = await runHere(
    'licet',
    ['customers', 'link', '1', '--valid-minutes', '10081'],
    { LICET_URL: service.address, LICET_TOKEN: readRootToken() },
  );
  expect(code).toBe(2);
  expect(stderr).toContain('Give an integer from 1 to 10080');
});
