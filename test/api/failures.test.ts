import { createExecutionContext, createScheduledController } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, expect, it } from 'vitest';
import worker from '../../src/index.ts';
import { app } from '../../src/routes/app.ts';
import { newIsolate } from '../support/app.ts';
import { call, expectError, requestTo } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { unreachable, withFaults } from '../support/faults.ts';
import { blacklists, customers, licenses, products } from '../support/resources.ts';
import { WRITES } from '../support/writes.ts';

/** Failures of the service differ from errors of clients, and reveal nothing of its insides. */

let consoleLines: string[];

beforeEach(() => {
  consoleLines = captureConsole();
});
/** One line for each failure, without what D1 said, SQL and its values. */
function expectBareLines(...messages: string[]): void {
  expect(consoleLines).toEqual(
    messages.map((message) => JSON.stringify({ message, error: 'Error' })),
  );
}

const NAME = 'A name';

/** More than are read at a time. */
const addCustomers = () =>
  env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)
     insert into customers (username, created_at, revision) select ?, 0, 1 from n`,
  )
    .bind(NAME)
    .run();

it('a complete list that fails in the middle breaks off and is logged once, so that no client takes it for complete [3.1.9, 3.25]', async () => {
  await addCustomers();
  let reads = 0;
  const DB = withFaults(env.DB, () => (++reads === 2 ? 'fails' : null));
  const response = await app.fetch(
    requestTo('GET', customers.path),
    { ...env, DB },
    createExecutionContext(),
  );
  expect(response.status).toBe(200);

  const parts: string[] = [];
  const reading = response.body?.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(part) {
        parts.push(part);
      },
    }),
  );
  await expect(reading).rejects.toThrow('The list broke off');

  expect(parts.join('')).toContain(NAME);
  expect(() => JSON.parse(parts.join(''))).toThrow(SyntaxError);
  expect(reads).toBe(2);
  expectBareLines('A list broke off');
});

it('the scheduled handler without the database throws nothing, tries all its tasks and logs no more than that [3.1.9]', async () => {
  const controller = createScheduledController({ scheduledTime: Date.UTC(2030, 0, 1) });
  const bindings = { ...env, DB: unreachable(env.DB) };
  await worker.scheduled(controller, bindings, createExecutionContext());
  expectBareLines(
    'It is unknown which tasks have waited too long',
    'Changes were not published',
    'Events about expiries were not made',
    'Records were not rolled up',
    'Records were not aggregated',
    'Old records were not removed',
    'Old sessions were not removed',
    'Old grants were not removed',
    'Old events were not removed',
    'The licenses were not counted',
    'Idempotency keys were not removed',
    'Old deliveries were not removed',
    'Links, sessions, mails and interactions of customers were not looked after',
    'Markets were not looked after',
    'Events were not delivered',
  );
});

// The history of a customer is erased in several transactions, and a request that failed can be repeated.
it.each(Object.keys(WRITES).filter((route) => route !== 'DELETE /api/v2/customers/:id'))(
  '%s reports the write that was made, although the database fails right after it [3.23]',
  async (route) => {
    const { path, body } = (await WRITES[route]?.()) ?? expect.fail();
    let isWritten = false;
    let hasResponse = false;
    const DB = withFaults(env.DB, (sql) => {
      if (isWritten && !hasResponse) return 'fails';
      isWritten ||= /;\n(insert|update|delete) /.test(sql);
      return null;
    });
    const response = await newIsolate({ DB }).send(route.split(' ', 1).join(), path, { body });
    hasResponse = true;
    expect(isWritten).toBe(true);
    expect(response.status, response.text).toBeLessThan(300);
  },
);

const UNIQUE = 'UNIQUE constraint failed';
const FOREIGN_KEY = 'FOREIGN KEY constraint failed';

it.each(['POST', 'PUT'])('%s of a blacklist entry for no product gets 400', async (method) => {
  const { id } = await blacklists.create();
  const path = method === 'POST' ? blacklists.path : `${blacklists.path}/${id}`;
  const body = { ...(await blacklists.fullBody()), productId: 999_999, reason: UNIQUE };
  expectError(await call(method, path, { body }), 400, 'productId 999999 does not exist');
});

it.each([
  { resource: blacklists, body: { reason: UNIQUE } },
  { resource: blacklists, body: { reason: FOREIGN_KEY } },
  { resource: customers, body: { firstName: UNIQUE } },
  { resource: licenses, body: { notes: FOREIGN_KEY } },
  { resource: products, body: { description: UNIQUE } },
])('$resource.name: a PUT of $body without the database returns 500 [3.1.3]', async (of) => {
  const path = `${of.resource.path}/${(await of.resource.create()).id}`;
  const DB = withFaults(env.DB, (sql) => (/^update /m.test(sql) ? 'fails' : null));
  const response = await newIsolate({ DB }).call('PUT', path, { body: of.body });
  expectError(response, 500, 'Internal server error');
});
