import { DISCORD_USER_AGENT } from '@licet/contract/discord';
import { DISCORD_PATH, type discordSettings } from '@licet/contract/discord-settings';
import { eq, sql } from 'drizzle-orm';
import type * as z from 'zod';
import type { Database } from '../../db/client.ts';
import type { PublicUrl } from '../../lib/public-url.ts';
import { settings } from '../settings/schema.ts';
import { describeFaults, type RoleFaults } from './role-faults.ts';

/** The application at Discord, as it is stored (10). */
export interface DiscordSettings {
  applicationId: string | null;
  publicKey: string | null;
  guildId: string | null;
  adminRoleId: string | null;
  /** Sent to Discord, so it is stored itself. */
  botToken: string | null;
  /** The roles that Discord refuses, until they are given. */
  roleFaults: RoleFaults;
  /** After a refusal or a limit, which concern the whole server, no role is tried before this time. */
  rolesPausedUntil: number | null;
}

export const NO_DISCORD: DiscordSettings = {
  applicationId: null,
  publicKey: null,
  guildId: null,
  adminRoleId: null,
  botToken: null,
  roleFaults: {},
  rolesPausedUntil: null,
};

/** Whether commands work. */
export const isSetUp = ({ applicationId, publicKey, guildId }: DiscordSettings): boolean =>
  applicationId !== null && publicKey !== null && guildId !== null;

/** The settings as responses show them. */
export const toDiscordSettings = async (
  db: Database,
  { applicationId, publicKey, guildId, adminRoleId, botToken, roleFaults }: DiscordSettings,
  { origin, isPublic }: PublicUrl,
): Promise<z.infer<typeof discordSettings>> => ({
  applicationId,
  publicKey,
  guildId,
  adminRoleId,
  hasBotToken: botToken !== null,
  rolesFault: (await describeFaults(db, roleFaults)).join('\n') || null,
  interactionsUrl: origin + DISCORD_PATH,
  isPublic,
});

export const SHOWN_FIELDS = ['applicationId', 'publicKey', 'guildId', 'adminRoleId'] as const;

/** The headers of a request of the bot. */
export const botHeaders = ({ botToken }: DiscordSettings) => ({
  Authorization: `Bot ${botToken}`,
  'User-Agent': DISCORD_USER_AGENT,
});

/** The fields on which roles depend, beside the token of the bot. */
const ROLE_FIELDS = ['applicationId', 'guildId'] as const;

/** The settings after a PUT. Roles are tried again if it changes one on which they depend, or sends the token. */
export function withChanges(
  before: DiscordSettings,
  changes: Partial<Pick<DiscordSettings, (typeof SHOWN_FIELDS)[number] | 'botToken'>>,
): DiscordSettings {
  const after = { ...before, ...changes };
  const isSame =
    changes.botToken === undefined && ROLE_FIELDS.every((name) => after[name] === before[name]);
  return isSame ? after : { ...after, roleFaults: {}, rolesPausedUntil: null };
}

/**
 * Notes what Discord has said about roles. It is no change by a person, and makes no event.
 *
 * @param news the roles that it refuses, with null for each that was given, and the end of a pause; null ends it
 */
export const noteRoles = (
  db: Database,
  news: { roleFaults?: Record<string, number | null>; rolesPausedUntil?: number | null },
) =>
  db
    .update(settings)
    .set({ value: sql`json_patch(value, ${JSON.stringify(news)})` })
    .where(eq(settings.name, 'discord'));
