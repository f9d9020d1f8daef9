/** @module-tag long */

import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { readRootToken } from '@licet/cli/root-token';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { databaseFile } from '../../scripts/local/database.ts';
import { ownFolder } from './own.ts';
import { freePort, spawnGroup, startArgs, type Watched, watch } from './service.ts';

/** A process that is killed between the message and its row: the mail is in the world, and nothing says so (13). */

const DAY_MS = 86_400_000;
const folder = ownFolder();

/** The recipients of the messages that the server took over. */
const taken: string[] = [];
/** Whether the server tells its client that it has a message for a recipient. */
let tells = (_to: string): boolean => true;

/** A mail server without TLS, which a client may use on this machine alone. */
const server = createServer((socket: Socket) => {
  let to = '';
  let isMessage = false;
  let text = '';
  const reply = (line: string) => socket.write(`${line}\r\n`);
  socket.on('error', () => undefined);
  reply('220 mail.test');
  socket.on('data', (chunk) => {
    text += chunk;
    for (;;) {
      const end = text.indexOf(isMessage ? '\r\n.\r\n' : '\r\n');
      if (end === -1) return;
      const line = text.slice(0, end);
      text = text.slice(end + (isMessage ? 5 : 2));
      if (isMessage) {
        isMessage = false;
        taken.push(to);
        if (tells(to)) reply('250 Taken');
        continue;
      }
      if (/^RCPT/i.test(line)) to = /<([^>]+)>/.exec(line)?.[1] ?? '';
      isMessage = /^DATA/i.test(line);
      if (/^QUIT/i.test(line)) reply('221 Bye');
      else reply(isMessage ? '354 Go on' : '250 OK');
    }
  });
});

let port: number;
let watched: Watched;
let child: ReturnType<typeof spawnGroup>;

async function start(): Promise<void> {
  const address = server.address();
  const mailPort = typeof address === 'object' ? address?.port : 0;
  child = spawnGroup(
    process.execPath,
    [
      ...['--import', pathToFileURL('test/node/frequent-runs.ts').href],
      ...startArgs(),
      ...['--port', String(port), '--persist-to', folder],
      ...['--var', `MAIL:smtp://127.0.0.1:${mailPort}`, '--var', 'MAIL_FROM:keys@shop.example'],
    ],
    process.env,
  );
  watched = watch(child);
  await watched.printed('Licet runs on');
}

/** Kills the service and its runtime, as a loss of power does. */
async function kill(): Promise<void> {
  const runtime = Number(readFileSync(join(folder, 'workerd.pid'), 'utf8'));
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  try {
    process.kill(runtime, 'SIGKILL');
  } catch {
    // It was in the group.
  }
  await watched.ended;
}

async function call(method: string, path: string, body?: object) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v2${path}`, {
    method,
    headers: { TOKEN: readRootToken(), 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return JSON.parse(text);
}

const states = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    Array.from(await call('GET', '/mails'), ({ kind, state }: { kind: string; state: string }) => [
      kind,
      state,
    ]),
  );

/** Changes the database of the service, which does not run. */
function change(sql: string): void {
  const db = new DatabaseSync(databaseFile(folder));
  db.exec(sql);
  db.close();
}

/** Lets the leases of attempts end. */
const endLeases = () =>
  change(`update mails set next_at = next_at - ${DAY_MS}, lease_until = lease_until - ${DAY_MS}
    where lease_until is not null`);

beforeAll(async () => {
  port = await freePort();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await start();
});
afterAll(async () => {
  child.kill('SIGTERM');
  await watched.ended;
  server.close();
});

it('a service that is killed after the message sends a key at most twice, and a reminder once [13.5.5]', async () => {
  await call('PUT', '/settings/mail', { kinds: ['key', 'expiring'] });
  const { id: productId } = await call('POST', '/products', {
    name: 'Guard',
    productType: 'OTHER',
  });
  const expiresAt = Date.now() + 7 * DAY_MS;
  tells = () => false;
  const { id, customer } = await call('POST', '/licenses', {
    productId,
    licenseType: 'TEMPORARY',
    expiryDate: new Date(expiresAt).toISOString(),
    customerEmail: 'ada@mail.example',
  });
  const other = 'bob@mail.example';
  const reminded = await call('POST', '/licenses', {
    productId,
    licenseType: 'TEMPORARY',
    expiryDate: new Date(expiresAt).toISOString(),
    customerEmail: other,
    licenseStatus: 'DEACTIVATED',
  });
  await vi.waitFor(() => expect(taken).toEqual([customer.email]), { timeout: 20_000 });
  await kill();

  // A reminder is due, too, and the server tells nothing of it either.
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  change(`update licenses set state = 'ACTIVE' where id = ${reminded.id};
    insert into mails (kind, cause, customer_id, state, attempts, step, losses, next_at, created_at)
      values ('expiring', 'expiring:${reminded.customer.id}:${day}:7', ${reminded.customer.id}, 'WAITING', 0, 0, 0,
        ${Date.now()}, ${Date.now()})`);
  endLeases();
  await start();
  await vi.waitFor(
    () => expect(taken.toSorted()).toEqual([customer.email, customer.email, other]),
    { timeout: 30_000 },
  );
  await kill();

  endLeases();
  tells = () => true;
  await start();
  await vi.waitFor(
    async () => expect(await states()).toEqual({ key: 'UNKNOWN', expiring: 'UNKNOWN' }),
    { timeout: 30_000, interval: 200 },
  );
  expect(taken).toHaveLength(3);
  // The service goes on as before.
  const sent = await call('POST', `/licenses/${id}/send-key`);
  expect(sent).toMatchObject({ kind: 'key', state: 'SENT' });
  expect(taken).toHaveLength(4);
});
