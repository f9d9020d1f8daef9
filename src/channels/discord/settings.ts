import { DISCORD_PATH, type discordSettings } from '@licet/contract/discord-settings';
import { sql } from 'drizzle-orm';
import type * as z from 'zod';
import type { Database } from '../../db/client.ts';
import type { PublicUrl } from '../../lib/public-url.ts';
import { settings } from '../settings/schema.ts';

/** The application at Discord, as it is stored (10). */
export interface DiscordSettings {
  applicationId: string | null;
  publicKey: string | null;
  guildId: string | null;
  adminRoleId: string | null;
  /** Sent to Discord, so it is stored itself. */
  botToken: string | null;
  /** Why roles could not be given, and since when. */
  rolesFault: string | null;
  rolesFaultAt: number | null;
}

export const NO_DISCORD: DiscordSettings = {
  applicationId: null,
  publicKey: null,
  guildId: null,
  adminRoleId: null,
  botToken: null,
  rolesFault: null,
  rolesFaultAt: null,
};

/** Whether commands work. */
export const isSetUp = ({ applicationId, publicKey, guildId }: DiscordSettings): boolean =>
  applicationId !== null && publicKey !== null && guildId !== null;

/** The settings as responses show them. */
export const toDiscordSettings = (
  { botToken, rolesFaultAt, ...shown }: DiscordSettings,
  { origin, isPublic }: PublicUrl,
): z.infer<typeof discordSettings> => ({
  ...shown,
  hasBotToken: botToken !== null,
  interactionsUrl: origin + DISCORD_PATH,
  isPublic,
});

export const SHOWN_FIELDS = ['applicationId', 'publicKey', 'guildId', 'adminRoleId'] as const;

/** The settings after a PUT. Roles are tried again if it changes one of them, or sends the token of the bot. */
export function withChanges(
  before: DiscordSettings,
  changes: Partial<Pick<DiscordSettings, (typeof SHOWN_FIELDS)[number] | 'botToken'>>,
): DiscordSettings {
  const after = { ...before, ...changes };
  const isSame =
    changes.botToken === undefined && SHOWN_FIELDS.every((name) => after[name] === before[name]);
  return isSame ? after : { ...after, rolesFault: null, rolesFaultAt: null };
}

/**
 * Notes why roles cannot be given; null if they can. It is no change by a person, and makes no event.
 *
 * @param since when the pause begins in which no role is tried; null for none
 */
export async function noteRolesFault(
  db: Database,
  rolesFault: string | null,
  since: number | null,
): Promise<void> {
  const fault = JSON.stringify({ rolesFault, rolesFaultAt: since });
  await db
    .update(settings)
    .set({ value: sql`json_patch(value, ${fault})` })
    // Each refusal begins the pause again, also one in the same words.
    .where(sql`name = 'discord' and coalesce(${rolesFault}, value ->> 'rolesFault') is not null`);
}
