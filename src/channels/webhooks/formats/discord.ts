import { DISCORD_USER_AGENT, isDiscordWebhook } from '@licet/contract/discord';
import type { EventType } from '@licet/contract/enums';
import type { EventChanges } from '../../../db/events.ts';
import { escapeMarkdown, limitMs } from '../../../lib/discord.ts';
import type { Format } from './format.ts';

/** Messages for a channel of Discord: one embed for each event (8). */

const TITLES: Readonly<Record<EventType, string>> = {
  'product.created': 'Product created',
  'product.updated': 'Product changed',
  'product.deleted': 'Product deleted',
  'license.created': 'License created',
  'license.updated': 'License changed',
  'license.slots_freed': 'Slots freed',
  'license.rotated': 'License got a new key',
  'license.transferred': 'License got a new owner',
  'license.redeemed': 'License linked to an account at Discord',
  'license.deleted': 'License deleted',
  'license.first_used': 'License used for the first time',
  'license.limit_reached': 'No free slot',
  'license.expiring': 'License expires soon',
  'license.expired': 'License has expired',
  'license.many_addresses': 'License used from many addresses',
  'customer.created': 'Customer created',
  'customer.updated': 'Customer changed',
  'customer.deleted': 'Customer forgotten',
  'customer.link_created': "Link to the customer's page made",
  'blacklist.created': 'Value blocked',
  'blacklist.updated': 'Blacklist entry changed',
  'blacklist.deleted': 'Value unblocked',
  'blacklist.hit': 'Request of a blocked program',
  'token.created': 'Token created',
  'token.updated': 'Token changed',
  'token.deleted': 'Token revoked',
  'webhook.created': 'Webhook created',
  'webhook.updated': 'Webhook changed',
  'webhook.deleted': 'Webhook deleted',
  'webhook.disabled': 'Webhook switched off',
  'market.created': 'Market created',
  'market.updated': 'Market changed',
  'market.deleted': 'Market deleted',
  'market.failing': 'Requests of a market are rejected',
  'market.guessed': 'Many wrong secrets at a market',
  'purchase.granted': 'Sold',
  'purchase.revoked': 'Purchase revoked',
  'purchase.restored': 'Purchase restored',
  'purchase.extended': 'Paid time of a purchase changed',
  'purchase.updated': 'Purchase changed',
  'purchase.unmatched': 'Purchase needs a product',
  'session.created': 'Log-in to the console',
  'settings.updated': 'Settings changed',
  'mail.failed': 'Mail to a customer failed',
};

const COLORS = { good: 0x2f9e61, plain: 0x5b6b7b, warning: 0xd98a0b, bad: 0xc93a3a } as const;
const WARNINGS: ReadonlySet<EventType> = new Set([
  'license.limit_reached',
  'license.expiring',
  'license.many_addresses',
  'purchase.unmatched',
]);
const BAD: ReadonlySet<EventType> = new Set([
  'license.expired',
  'blacklist.hit',
  'webhook.disabled',
  'market.failing',
  'market.guessed',
  'purchase.revoked',
  'mail.failed',
]);

const GOOD: ReadonlySet<EventType> = new Set([
  'license.first_used',
  'purchase.granted',
  'purchase.restored',
]);

/** The fields that can be about a person, or let a reader use or enter something. A channel has many readers. */
const HIDDEN: ReadonlySet<string> = new Set([
  // Their names are beside the changes.
  'customerId',
  'productId',
  'data',
  'email',
  'hwid',
  'hwids',
  'ip',
  'ips',
  'licenseKey',
  'metadata',
  'notes',
  'chatId',
  'chatUsername',
  'ownerChatId',
  'ownerChatUsername',
  'ownerPlatformId',
  'phoneNumber',
  'secret',
  'url',
]);

/** The limit of Discord is 1,024 characters, with those that escape others. */
const MAX_VALUE_LENGTH = 200;
const MAX_CHANGES = 5;

const plain = (text: string): string => {
  const short = text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
  return escapeMarkdown(short.toWellFormed().replace(/\s+/g, ' '));
};

const shown = (value: unknown): string =>
  value === null || value === '' ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

function describeChanges(changes: EventChanges): string {
  const visible = Object.entries(changes).filter(([name]) => !HIDDEN.has(name));
  return visible
    .slice(0, MAX_CHANGES)
    .map(([name, { before, after }]) =>
      before === null
        ? `${name}: ${plain(shown(after))}`
        : `${name}: ${plain(shown(before))} → ${plain(shown(after))}`,
    )
    .join('\n');
}

const withEmbed = (embed: object): string =>
  JSON.stringify({ embeds: [embed], allowed_mentions: { parse: [] } });

function colorOf(type: EventType): number {
  if (BAD.has(type) || type.endsWith('.deleted')) return COLORS.bad;
  if (WARNINGS.has(type)) return COLORS.warning;
  return type.endsWith('.created') || GOOD.has(type) ? COLORS.good : COLORS.plain;
}

/** The milliseconds until Discord takes another message; 0 if it takes one now. */
function resetMs(headers: Headers): number {
  if (headers.get('X-RateLimit-Remaining') !== '0') return 0;
  const seconds = Number(headers.get('X-RateLimit-Reset-After'));
  return seconds > 0 && seconds < 60 ? seconds * 1000 : 0;
}

export const discord: Format = {
  isFor: isDiscordWebhook,
  // Discord counts them.
  atOnce: 1,
  hasNames: true,
  message({ event: { type, time, actor, changes }, names, link }) {
    const named = [
      ['License', names.licenseKey && `…${names.licenseKey}`],
      ['Product', names.product],
      ['Customer', names.customer],
      ['By', actor.isMcp ? `${actor.tokenName} (mcp)` : actor.tokenName],
    ] as const;
    return withEmbed({
      title: TITLES[type],
      color: colorOf(type),
      timestamp: time,
      ...(link && { url: link }),
      ...(changes && { description: describeChanges(changes) }),
      fields: named.flatMap(([name, value]) =>
        value ? { name, value: plain(value), inline: true } : [],
      ),
    });
  },
  ping: (_, timestamp) =>
    withEmbed({
      title: 'Licet can write into this channel',
      description: 'This is a test. Events will look like this message.',
      color: COLORS.good,
      timestamp,
    }),
  async request({ url }) {
    const withWait = new URL(url);
    // Without it, Discord reports no error for a message that it does not save.
    withWait.searchParams.set('wait', 'true');
    return { url: withWait.href, headers: { 'User-Agent': DISCORD_USER_AGENT } };
  },
  limit: (response, now) => ({
    pauseMs: limitMs(response, now),
    closedMs: resetMs(response.headers),
    isLimited: response.status === 429,
  }),
  isGone(status) {
    if (status === 404) return 'The webhook was deleted at Discord: make a new one there';
    const isDenied = status === 401 || status === 403;
    return isDenied ? `Discord denies access (${status}): make a new webhook there` : null;
  },
  // A message that Discord rejects.
  isFinal: (status) => status === 400,
};
