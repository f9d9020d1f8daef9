import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENT_TYPES } from '@licet/contract/enums';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { freePort, spawnGroup, type Watched, watch } from '../node/service.ts';
import { hasTools } from '../node/tools.ts';
import { isLong } from '../support/long.ts';

/** The receivers in docs/webhooks.md, as programs, with messages that another library has signed. */

const document = readFileSync('docs/webhooks.md', 'utf8');
const folder = ownFolder();

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OTHER_SECRET = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;

/** The program in a language of the document, as a file. */
function fileOf(language: string, name: string): string {
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(document) ?? [];
  const own = join(folder, language);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, name), code ?? expect.fail(`There is no ${language}`));
  return join(own, name);
}

interface Program {
  tools: string[];
  start: (port: number) => [command: string, ...args: string[]];
}
const PROGRAMS: Record<string, Program> = {
  ts: { tools: [], start: () => [process.execPath, fileOf('ts', 'receiver.ts')] },
  python: { tools: ['python3'], start: () => ['python3', fileOf('python', 'receiver.py')] },
  php: {
    tools: ['php'],
    start: (port) => ['php', '-S', `127.0.0.1:${port}`, fileOf('php', 'receiver.php')],
  },
  java: {
    tools: ['javac'],
    start: () => {
      const file = fileOf('java', 'Receiver.java');
      execFileSync('javac', ['-Xlint:all', '-Werror', '-d', join(folder, 'java'), file]);
      return ['java', '-cp', join(folder, 'java'), 'Receiver'];
    },
  },
};
const tried = Object.keys(PROGRAMS).filter((language) => isLong || language !== 'java');
const runnable = tried.filter((language) =>
  hasTools(`the receiver of docs/webhooks.md in ${language}`, ...(PROGRAMS[language]?.tools ?? [])),
);

describe.each(runnable)('the receiver in %s', (language) => {
  let watched: Watched;
  let url: string;
  let stop: () => void;
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}/`;
    const [command, ...args] = PROGRAMS[language]?.start(port) ?? expect.fail();
    const env = {
      ...process.env,
      LICET_WEBHOOK_SECRET: SECRET,
      PORT: String(port),
      TMPDIR: folder,
    };
    const child = spawnGroup(command, args, env);
    watched = watch(child);
    stop = () => child.kill();
    await vi.waitFor(() => fetch(url, { method: 'POST' }), { timeout: 20_000, interval: 100 });
  }, 40_000);
  afterAll(() => stop());

  let messages = 0;
  const newMessage = (type = 'license.created') => ({
    id: `msg_${++messages}`,
    at: new Date(),
    body: JSON.stringify({ type, timestamp: new Date(), data: { name: 'Ádá ✓' } }),
  });

  /** Sends a message with a signature by the library. @returns the status */
  async function send(
    { id, at, body }: ReturnType<typeof newMessage>,
    headers: Record<string, string> = {},
    sentBody = body,
  ): Promise<number> {
    const { status } = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(SECRET).sign(id, at, body),
        ...headers,
      },
      body: sentBody,
    });
    return status;
  }

  /** The lines with a type of an event. */
  const printed = (): string[] => watched.output().match(/\b(license\.created|ping)\b/g) ?? [];

  it('the receiver takes a message, and prints the type of its event [8.2.1]', async () => {
    const before = printed().length;
    expect(await send(newMessage('ping'))).toBe(204);
    await expect.poll(() => printed().slice(before)).toEqual(['ping']);
  });

  it('prints a message that comes again once', async () => {
    const before = printed().length;
    const message = newMessage();
    for (let time = 0; time < 3; time++) expect(await send(message)).toBe(204);
    expect(await send(newMessage('ping'))).toBe(204);
    await expect.poll(() => printed().slice(before)).toEqual(['license.created', 'ping']);
  });

  it('takes a message with the signatures of two secrets, in each order', async () => {
    const before = printed().length;
    for (const order of [
      [OTHER_SECRET, SECRET],
      [SECRET, OTHER_SECRET],
    ]) {
      const message = newMessage();
      const signatures = order.map((secret) =>
        new Webhook(secret).sign(message.id, message.at, message.body),
      );
      expect(await send(message, { 'webhook-signature': signatures.join(' ') })).toBe(204);
    }
    // A receiver prints after its response.
    await expect.poll(() => printed().length).toBe(before + 2);
  });

  it('rejects a message with anything wrong, and prints nothing', async () => {
    const before = printed().length;
    const message = newMessage();
    const { id, at, body } = message;
    const signature = new Webhook(SECRET).sign(id, at, body);
    const stale = { ...message, at: new Date(Date.now() - 301_000) };
    const early = { ...message, at: new Date(Date.now() + 330_000) };
    const wrong: Record<string, Promise<number>> = {
      'another body': send(message, {}, `${body} `),
      'another id': send(message, { 'webhook-id': 'msg_x' }),
      'another timestamp': send(message, { 'webhook-timestamp': String(Date.now()).slice(0, 9) }),
      'no timestamp': send(message, { 'webhook-timestamp': '' }),
      'a timestamp that is no number': send(message, { 'webhook-timestamp': 'now' }),
      'another secret': send(message, {
        'webhook-signature': new Webhook(OTHER_SECRET).sign(id, at, body),
      }),
      'no signature': send(message, { 'webhook-signature': '' }),
      'a cut signature': send(message, { 'webhook-signature': signature.slice(0, -4) }),
      'another version': send(message, { 'webhook-signature': signature.replace('v1', 'v2') }),
      'the secret as text': send(message, {
        'webhook-signature': `v1,${createHmac('sha256', SECRET).update(body).digest('base64')}`,
      }),
      'a stale message': send(stale),
      'a message of the future': send(early),
    };
    for (const [name, status] of Object.entries(wrong)) expect(await status, name).toBe(401);
    expect(await send(newMessage('ping'))).toBe(204);
    await expect.poll(() => printed().slice(before)).toEqual(['ping']);
  });
});

// The server of PHP starts with any program.
it.each(runnable.filter((language) => language !== 'php'))(
  'the receiver in %s does not start without a secret',
  async (language) => {
    const port = await freePort();
    const [command, ...args] = PROGRAMS[language]?.start(port) ?? expect.fail();
    const env = { ...process.env, LICET_WEBHOOK_SECRET: '', PORT: String(port) };
    const { code, output } = await watch(spawnGroup(command, args, env)).ended;
    expect(code).not.toBe(0);
    expect(output).toContain('Set LICET_WEBHOOK_SECRET to the secret of the webhook');
  },
);

it('the table of docs/webhooks.md has every type of event', () => {
  const table = document.slice(document.indexOf('| Types | When |'));
  const missing = EVENT_TYPES.filter((type) => {
    const [resource = '', change = ''] = type.split('.');
    return (
      !table.includes(`\`${type}\``) &&
      !(table.includes(resource) && table.includes(`.${change}\``))
    );
  });
  expect(missing).toEqual([]);
});
