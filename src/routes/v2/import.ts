import { importRequest } from '@licet/contract/import';
import { INTENTS } from '@licet/contract/intents';
import { Hono } from 'hono';
import { type AuthEnv, requireIntents, senderOf } from '../../auth/middleware.ts';
import { body } from '../../http/input.ts';
import { importItems } from '../../import/import.ts';

/** Imports the objects of another service, an extension. docs/import.md explains its use. */
export const importRoute = new Hono<AuthEnv>().post(
  '/',
  requireIntents(INTENTS.everything),
  body(importRequest),
  async (c) => c.json(await importItems(senderOf(c), c.req.valid('json'))),
);
