import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, senderOf } from '../../auth/middleware';
import { body } from '../../http/input';
import { importItems } from '../../import/import';
import { importRequest } from '../../import/schema';

/** Imports the objects of another service, an extension. docs/import.md explains its use. */
export const importRoute = new Hono<AuthEnv>().post(
  '/',
  requireIntents(INTENTS.everything),
  body(importRequest),
  async (c) => c.json(await importItems(senderOf(c), c.req.valid('json'))),
);
