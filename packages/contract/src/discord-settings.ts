import * as z from 'zod';
import { named } from './bodies.ts';
import { text } from './fields.ts';
import { setByService, setting, updateBody, wireBody, writeOnly } from './resource.ts';
import { isPublic } from './service-address.ts';

/** The settings of the service's application at Discord (10). */

export const DISCORD_PATH = '/discord/interactions';

const snowflake = z.string().regex(/^\d{15,21}$/, 'must be an id of Discord, of 17 to 20 digits');
const publicKey = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[0-9a-f]{64}$/, 'must be the public key of the application, of 64 hexadecimal digits');
const botToken = text(200)
  .trim()
  .regex(/^[\w.-]{20,}$/, 'must be the token of the bot');

const fields = {
  applicationId: setting(snowflake.nullable(), 'The id of the application; null switches it off.'),
  publicKey: setting(publicKey.nullable(), 'The public key of the application.'),
  guildId: setting(snowflake.nullable(), 'The server whose commands are obeyed.'),
  adminRoleId: setting(
    snowflake.nullable(),
    'The role that may use the commands of administrators; null for administrators of the server alone.',
  ),
  hasBotToken: setByService(z.boolean(), 'Whether there is a token, which only roles need.'),
  rolesFault: setByService(
    z.string().nullable(),
    'Why roles could not be given the last time, and the remedy; null if they could.',
  ),
  interactionsUrl: setByService(z.string(), 'The address to enter as *Interactions Endpoint URL*.'),
  isPublic: setByService(isPublic, isPublic.description),
};

export const discordSettings = named(
  'DiscordSettings',
  'The application at Discord.',
  wireBody(fields),
  {
    applicationId: '1100000000000000001',
    publicKey: '8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c',
    guildId: '1100000000000000002',
    adminRoleId: null,
    hasBotToken: false,
    rolesFault: null,
    interactionsUrl: 'https://license.example.com/discord/interactions',
    isPublic: true,
  },
);

export const discordSettingsUpdate = named(
  'DiscordSettingsUpdate',
  'Changes of the settings: an omitted field keeps its value [4.8].',
  updateBody({
    ...fields,
    botToken: writeOnly(
      botToken.nullable(),
      'The token of the bot, for roles alone. No response shows it; null removes it.',
    ),
  }),
  { adminRoleId: '1100000000000000003' },
);

export const discordAction = named(
  'DiscordAction',
  'No field, or no body at all.',
  z.strictObject({}).optional(),
  {},
);

export const discordTest = named(
  'DiscordTest',
  'Whether the bot can give the roles of the products.',
  z.strictObject({
    roles: z.int().describe('The number of roles that products give.'),
    faults: z.array(z.string()).describe('Why roles cannot be given, and the remedies.'),
  }),
  {
    roles: 2,
    faults: [
      'Role "Customer" of the product "ChunkGuard": The role of the bot stands below it. Move the role of the bot above.',
    ],
  },
);
