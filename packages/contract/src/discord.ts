/** Addresses of Discord. This module imports nothing: pages need it without zod. */

export const DISCORD_API = 'https://discord.com/api/v10';
/** Discord may block requests without such a name. */
export const DISCORD_USER_AGENT = 'DiscordBot (https://github.com/licet, 1)';

const WEBHOOK =
  /^https:\/\/(?:(?:ptb|canary)\.)?discord(?:app)?\.com(?::443)?\/+api\/+(?:v\d+\/+)?webhooks\/+\d+\/+([\w-]+|\*\*\*)/i;

/** Whether an address is that of a channel of Discord. */
export const isDiscordWebhook = (url: string): boolean => WEBHOOK.test(url);

/** Whether an address is one of Discord as responses show it, without its token. */
export const isShownDiscordWebhook = (url: string): boolean => WEBHOOK.exec(url)?.[1] === '***';

/** The address without the token in it, by which anybody could write into the channel. Other addresses stay. */
export function withoutToken(url: string): string {
  const token = WEBHOOK.exec(url)?.[1];
  return token === undefined ? url : url.replace(`/${token}`, '/***');
}
