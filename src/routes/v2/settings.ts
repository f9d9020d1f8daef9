import {
  discordAction,
  discordSettings,
  discordSettingsUpdate,
  discordTest,
} from '@licet/contract/discord-settings';
import { INTENTS } from '@licet/contract/intents';
import {
  DEFAULT_PORTAL_SETTINGS,
  type PortalSettings,
  portalSettings,
  portalSettingsUpdate,
} from '@licet/contract/portal';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { giveWaiting } from '../../channels/discord/roles.ts';
import {
  type DiscordSettings,
  NO_DISCORD,
  SHOWN_FIELDS,
  toDiscordSettings,
  withChanges,
} from '../../channels/discord/settings.ts';
import { testRoles } from '../../channels/discord/test-roles.ts';
import { readSettings, type StoredSettings, writeSettings } from '../../channels/settings/store.ts';
import type { Database } from '../../db/client.ts';
import { body, ifMatch } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import type { Operation } from '../../http/operation.ts';
import { publicUrlOf } from '../../lib/public-url.ts';
import { servicesOf } from '../../services.ts';
import { objectResponse, optimisticWrite } from './objects.ts';

const SHOWN_PORTAL_FIELDS = ['name', 'colour', 'contact'] as const;

const canRead = requireIntents(INTENTS.readSettings);
const canWrite = requireIntents(INTENTS.everything);

const PORTAL = {
  description: 'The settings.',
  headers: ['ETag'],
  body: portalSettings,
} as const;
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
};

const DISCORD = {
  description: 'The settings.',
  headers: ['ETag'],
  body: discordSettings,
} as const;
const GET_DISCORD: Operation = {
  operationId: 'getDiscordSettings',
  tag: 'Settings',
  summary: 'Get the settings of the application at Discord',
  description: 'Without the token of the bot. An extension.',
  success: DISCORD,
};
const UPDATE_DISCORD: Operation = {
  operationId: 'updateDiscordSettings',
  tag: 'Settings',
  summary: 'Change the settings of the application at Discord',
  description: '`licet discord setup` registers the commands, too. An extension.',
  success: DISCORD,
};

const TEST_DISCORD: Operation = {
  operationId: 'testDiscord',
  tag: 'Settings',
  summary: 'Test whether the bot can give the roles of the products',
  description:
    'Asks Discord with the stored token of the bot. `rolesFault` of the settings has the result afterwards. An extension.',
  success: { description: 'The result.', body: discordTest },
};

const portalResponse = (c: Context, stored: StoredSettings<PortalSettings>): Response =>
  objectResponse(c, stored, stored.value);

async function discordResponse(
  c: Context<AuthEnv>,
  stored: StoredSettings<DiscordSettings>,
): Promise<Response> {
  const publicUrl = publicUrlOf(c.env, c.req.url);
  return objectResponse(c, stored, await toDiscordSettings(databaseOf(c), stored.value, publicUrl));
}

const readPortal = (db: Database) => readSettings(db, 'portal', DEFAULT_PORTAL_SETTINGS);
const readDiscord = (db: Database) => readSettings(db, 'discord', NO_DISCORD);

/** Settings of the service, an extension (10). */
export const settingsRoutes = new Hono<AuthEnv>()
  .get('/portal', canRead(GET_PORTAL), async (c) =>
    portalResponse(c, await readPortal(databaseOf(c))),
  )
  .put('/portal', canWrite(UPDATE_PORTAL), ifMatch, body(portalSettingsUpdate), async (c) => {
    const stored = await optimisticWrite(c, {
      name: "The customer's page",
      read: readPortal,
      write: (sender, before) => {
        const value = { ...before.value, ...c.req.valid('json') };
        return writeSettings(sender, 'portal', before, value, SHOWN_PORTAL_FIELDS, ['logo']);
      },
    });
    servicesOf(c.env).portalSettings.forget();
    return portalResponse(c, stored);
  })
  .get('/discord', canRead(GET_DISCORD), async (c) =>
    discordResponse(c, await readDiscord(databaseOf(c))),
  )
  .put('/discord', canWrite(UPDATE_DISCORD), ifMatch, body(discordSettingsUpdate), async (c) => {
    const stored = await optimisticWrite(c, {
      name: 'The application at Discord',
      read: readDiscord,
      write: (sender, before) => {
        const value = withChanges(before.value, c.req.valid('json'));
        const waiting = value.rolesPausedUntil === null ? [giveWaiting(sender.db)] : [];
        return writeSettings(sender, 'discord', before, value, SHOWN_FIELDS, ['botToken'], waiting);
      },
    });
    servicesOf(c.env).discordSettings.forget();
    return discordResponse(c, stored);
  })
  .post('/discord/test', canWrite(TEST_DISCORD), body(discordAction), async (c) => {
    const db = databaseOf(c);
    const { value: settings } = await readDiscord(db);
    const { outbound } = servicesOf(c.env);
    return jsonResponse(c, await testRoles({ db, outbound, settings }));
  });
