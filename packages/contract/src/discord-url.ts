import { originFault } from './hosts.ts';

/** `DISCORD_URL`: another Discord, on which the service and the command line can be tried (10). */

const DISCORD = 'https://discord.com';
const DISCORD_HOST = /^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/;

/** The end of a sentence that begins with DISCORD_URL; undefined for a right value, and for an empty one. */
export const discordUrlFault = (value: unknown): string | undefined => originFault(value, DISCORD);

const isOfDiscord = (address: string): boolean =>
  URL.canParse(address) && DISCORD_HOST.test(new URL(address).hostname);

/**
 * The address at the Discord of `DISCORD_URL` for an address of Discord; undefined for another one, and without another
 * Discord.
 */
export function atDiscord(address: string, discordUrl: string): string | undefined {
  if (discordUrl.trim() === '' || !isOfDiscord(address)) return undefined;
  const { pathname, search } = new URL(address);
  const origin = URL.canParse(discordUrl) ? new URL(discordUrl).origin : discordUrl;
  return origin + pathname + search;
}
