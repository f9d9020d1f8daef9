import { INTENTS } from '@licet/contract/intents';
import {
  DEFAULT_PORTAL_SETTINGS,
  portalSettings,
  portalSettingsUpdate,
} from '@licet/contract/portal';
import { Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents, senderOf } from '../../auth/middleware.ts';
import { body } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import type { Operation } from '../../http/operation.ts';
import { isolateOf } from '../../isolate.ts';
import { readSettings, writeSettings } from '../../resources/settings.ts';

const canRead = requireIntents(INTENTS.readSettings);
const canWrite = requireIntents(INTENTS.everything);

const PORTAL = { description: 'The settings.', body: portalSettings };
const GET_PORTAL: Operation = {
  operationId: 'getPortalSettings',
  tag: 'Settings',
  summary: "Get the settings of the customer's page",
  description: 'An extension.',
  success: PORTAL,
};
const UPDATE_PORTAL: Operation = {
  operationId: 'updatePortalSettings',
  tag: 'Settings',
  summary: "Change the settings of the customer's page",
  description: 'The page shows them after a minute at the latest. An extension.',
  success: PORTAL,
  errors: [409],
};

/** Settings of the service, an extension (10). */
export const settingsRoutes = new Hono<AuthEnv>()
  .get('/portal', canRead(GET_PORTAL), async (c) =>
    jsonResponse(c, (await readSettings(databaseOf(c), 'portal', DEFAULT_PORTAL_SETTINGS)).value),
  )
  .put('/portal', canWrite(UPDATE_PORTAL), body(portalSettingsUpdate), async (c) => {
    const before = await readSettings(databaseOf(c), 'portal', DEFAULT_PORTAL_SETTINGS);
    const value = { ...before.value, ...c.req.valid('json') };
    await writeSettings(senderOf(c), 'portal', before, value, ['logo']);
    isolateOf(c.env).portalSettings.forget();
    return jsonResponse(c, value);
  });
