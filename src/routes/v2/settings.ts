import { discordSettings, discordSettingsUpdate } from '@licet/contract/discord-settings';
import { INTENTS } from '@licet/contract/intents';
import {
  DEFAULT_PORTAL_SETTINGS,
  portalSettings,
  portalSettingsUpdate,
} from '@licet/contract/portal';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents, senderOf } from '../../auth/middleware.ts';
import { body } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import type { Operation } from '../../http/operation.ts';
import { isolateOf } from '../../isolate.ts';
import { publicUrlOf } from '../../lib/public-url.ts';
import {
  type DiscordSettings,
  NO_DISCORD,
  toDiscordSettings,
} from '../../resources/discord/settings.ts';
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

const DISCORD = { description: 'The settings.', body: discordSettings };
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
  errors: [409],
};

const DISCORD_FIELDS = ['applicationId', 'publicKey', 'guildId', 'adminRoleId'] as const;

const discordResponse = (c: Context<AuthEnv>, value: DiscordSettings): Response =>
  jsonResponse(c, toDiscordSettings(value, publicUrlOf(c.env, c.req.url)));

/** Settings of the service, an extension (10). */
export const settingsRoutes = new Hono<AuthEnv>()
  .get('/portal', canRead(GET_PORTAL), async (c) =>
    jsonResponse(c, (await readSettings(databaseOf(c), 'portal', DEFAULT_PORTAL_SETTINGS)).value),
  )
  .put('/portal', canWrite(UPDATE_PORTAL), body(portalSettingsUpdate), async (c) => {
    const before = await readSettings(databaseOf(c), 'portal', DEFAULT_PORTAL_SETTINGS);
    const value = { ...before.value, ...c.req.valid('json') };
    await writeSettings(
      senderOf(c),
      'portal',
      before,
      value,
      ['name', 'colour', 'contact'],
      ['logo'],
    );
    isolateOf(c.env).portalSettings.forget();
    return jsonResponse(c, value);
  })
  .get('/discord', canRead(GET_DISCORD), async (c) =>
    discordResponse(c, (await readSettings(databaseOf(c), 'discord', NO_DISCORD)).value),
  )
  .put('/discord', canWrite(UPDATE_DISCORD), body(discordSettingsUpdate), async (c) => {
    const before = await readSettings(databaseOf(c), 'discord', NO_DISCORD);
    // Roles are tried again after each change.
    const value = { ...before.value, ...c.req.valid('json'), rolesFault: null, rolesFaultAt: null };
    await writeSettings(senderOf(c), 'discord', before, value, DISCORD_FIELDS, ['botToken']);
    isolateOf(c.env).discordSettings.forget();
    return discordResponse(c, value);
  });
