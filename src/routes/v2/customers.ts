import {
  customer,
  customerCreate,
  customerFields,
  customerQuery,
  customerUpdate,
  listedCustomer,
} from '@licet/contract/customers';
import { INTENTS } from '@licet/contract/intents';
import { customerExport } from '@licet/contract/personal-data';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents, senderIn } from '../../auth/middleware.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import { body, idempotencyKey, ifMatch, pathId, query } from '../../http/input.ts';
import { type Operation, operationsOn } from '../../http/operation.ts';
import { chunkOf, listResponse, streamJson, takeTurn } from '../../http/pagination.ts';
import { DATABASE_TIMEOUT_MS, withTimeout } from '../../lib/async.ts';
import { eraseHistory } from '../../requests/erase.ts';
import { forgetCustomer } from '../../requests/forget.ts';
import { PERSONAL_DATA, type PersonReader } from '../../requests/person.ts';
import {
  findCustomer,
  insertCustomer,
  listCustomers,
  updateCustomer,
} from '../../resources/customers/queries.ts';
import { toCustomer, toListedCustomer } from '../../resources/customers/row.ts';
import { checkWebAddresses } from '../../resources/web-addresses.ts';
import { servicesOf } from '../../services.ts';
import {
  createdResponse,
  createOnce,
  objectResponse,
  optimisticUpdate,
  theOne,
} from './objects.ts';

const canRead = requireIntents(INTENTS.readCustomers);
/** The export has events, which need the most of what it reads. */
const canExport = requireIntents(INTENTS.readEvents);
const canWrite = requireIntents(INTENTS.everything);

const { list, get, create, update, remove } = operationsOn({
  tag: 'Customers',
  names: ['Customer', 'Customers'],
  one: 'a customer',
  many: 'customers',
  section: '[4.5]',
  body: customer,
  listed: listedCustomer,
  creating:
    'A license creates its customer too. An e-mail or account of another customer returns 409.',
  deleting:
    'Erases the fields of the customer, the owner fields of the licenses that repeat them, and keys, addresses and hardware IDs in the history of these licenses. The licenses stay as they are, with their bindings and counts. 409 if a part of a long history remains: send it again.',
});

const FORGET: Operation = {
  ...remove,
  operationId: 'forgetCustomer',
  summary: 'Forget a customer',
  errors: [503],
};

const EXPORT: Operation = {
  operationId: 'exportCustomer',
  tag: 'Customers',
  summary: 'Export all that is stored about a person',
  description:
    'The customer, and in lists the licenses, the history, the events and the purchases: all that forgetting the customer erases, and the licenses. `cut` names the lists that are too long. Events and notes can name other people, and the history of a license begins with its earlier owners: read them before you hand the export over. An extension.',
  success: { description: 'The export.', body: customerExport },
  errors: [404],
};

/** The JSON of an export, in parts that fit into memory. */
async function* exportParts(reader: PersonReader): AsyncGenerator<string> {
  const cut: string[] = [];
  yield `{"customer":${JSON.stringify(toCustomer(reader.customer))}`;
  for (const [name, part] of Object.entries(PERSONAL_DATA)) {
    const groups = part.read(reader);
    yield `,"${name}":[`;
    let separator = '';
    let next = await groups.next();
    for (; !next.done; next = await groups.next()) {
      if (next.value.length === 0) continue;
      yield separator + next.value.map((one) => JSON.stringify(one)).join(',');
      separator = ',';
    }
    if (next.value) cut.push(name);
    yield ']';
  }
  yield `,"cut":${JSON.stringify(cut)}}\n`;
}

/** [4.5], and POST, PUT and DELETE as an extension. */
export const customerRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(customerQuery), (c) => {
    const filter = c.req.valid('query');
    return listResponse(c, filter, listCustomers(databaseOf(c), filter), toListedCustomer);
  })
  .get('/:id', canRead(get), pathId, async (c) => {
    const row = await findCustomer(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Customer');
    return objectResponse(c, row, toCustomer(row));
  })
  .get('/:id/export', canExport(EXPORT), pathId, async (c) => {
    const db = databaseOf(c);
    const customer = await findCustomer(db, c.req.valid('param').id);
    if (!customer) throw notFound('Customer');
    const reader: PersonReader = {
      db,
      customer,
      now: Date.now(),
      chunk: chunkOf(c),
      turn: (read) => takeTurn(c, read),
    };
    return streamJson(c, exportParts(reader));
  })
  .post('/', canWrite(create), body(customerCreate), idempotencyKey, (c) =>
    createOnce(c, {
      create: (sender) => insertCustomer(sender, c.req.valid('json')),
      find: theOne(findCustomer),
      respond: (row) => createdResponse(c, 'customers', row, toCustomer(row)),
    }),
  )
  .put('/:id', canWrite(update), pathId, ifMatch, body(customerUpdate), async (c) => {
    const { id: bodyId, ...changes } = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      name: 'Customer',
      bodyId,
      find: findCustomer,
      write: (sender, current) => {
        checkWebAddresses(customerFields, changes, current);
        return updateCustomer(sender, current, changes);
      },
    });
    return objectResponse(c, row, toCustomer(row));
  })
  .delete('/:id', canWrite(FORGET), pathId, ifMatch, async (c) => {
    const { id } = c.req.valid('param');
    await optimisticUpdate(c, { name: 'Customer', find: findCustomer, write: forgetCustomer });
    // Records that this isolate stores later would bring erased data back.
    const settling = servicesOf(c.env).recorder.settle(c.get('timings').waitUntil);
    await withTimeout(settling, DATABASE_TIMEOUT_MS).catch(() => {
      throw new ApiError(
        503,
        `The last records could not be stored: send the request again, without If-Match, to erase the history of customer ${id}`,
      );
    });
    if (await eraseHistory(senderIn(c), id)) return c.body(null, 204);
    throw new ApiError(
      409,
      `The history of customer ${id} is too long for one request: send the request again, without If-Match, to erase the rest`,
      { code: 'CHANGED_MEANWHILE' },
    );
  });
