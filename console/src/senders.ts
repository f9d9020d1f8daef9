import type { Event } from '@licet/client';
import { screenTexts } from './screen-texts.ts';
import { texts } from './texts.ts';

/** The senders of changes. */

const words = screenTexts.events;

/** The name of the service as a sender. Without the id of a token, no token has it. */
const SERVICE_NAME = 'service';
const CUSTOMER_NAME = 'customer';
const PROGRAM_NAME = 'program';

/** Whether the service has made an event by itself. */
export const isOfService = ({ actor: { tokenId, tokenName } }: Pick<Event, 'actor'>): boolean =>
  tokenId === null && tokenName === SERVICE_NAME;

/** The beginning of the name of an administrator at Discord. */
const DISCORD = 'discord:';

/** The sender of a change in words. */
export function senderName({ tokenId, tokenName, customerId }: Event['actor']): string {
  if (tokenId !== null) return tokenName || words.deletedToken(tokenId);
  if (tokenName === SERVICE_NAME) return words.service;
  if (tokenName === CUSTOMER_NAME) {
    return words.oneObject(texts.resources.customer, customerId ?? 0).replace(/ 0$/, '');
  }
  if (tokenName === PROGRAM_NAME) return words.program;
  if (tokenName.startsWith(DISCORD)) return words.atDiscord(tokenName.slice(DISCORD.length));
  return texts.session.root;
}

/** Whether no token has made an event: the service, a customer, a program, or an administrator at Discord has. */
export const isWithoutToken = ({ actor: { tokenId, tokenName } }: Pick<Event, 'actor'>): boolean =>
  tokenId === null &&
  ([SERVICE_NAME, CUSTOMER_NAME, PROGRAM_NAME].includes(tokenName) ||
    tokenName.startsWith(DISCORD));
