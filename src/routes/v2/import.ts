import { importRequest, importResponse } from '@licet/contract/import';
import { INTENTS } from '@licet/contract/intents';
import { Hono } from 'hono';
import { type AuthEnv, requireIntents, senderIn } from '../../auth/middleware.ts';
import { body } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { importItems } from '../../import/import.ts';

/** Imports the objects of another service, an extension. docs/import.md explains its use. */
export const importRoute = new Hono<AuthEnv>().post(
  '/',
  requireIntents(INTENTS.everything)({
    operationId: 'importItems',
    tag: 'Import',
    summary: 'Import objects of another service',
    description:
      'Products, customers, licenses or blacklist entries, with their ids, keys, bindings, dates and states. An item has the fields of POST, and those that GET shows of an existing object. The command line and the console also read files that write values differently. Existing objects are not overwritten, so that an import can be repeated. Ids are kept if they are free; only the same object can return under the id of a deleted one. [Moving here](/docs/import) has the steps of a move.',
    success: { description: 'The result of each item.', body: importResponse },
    errors: [409],
  }),
  body(importRequest),
  async (c) => jsonResponse(c, await importItems(senderIn(c), c.req.valid('json'))),
);
