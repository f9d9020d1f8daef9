import type { Delivery } from '@licet/client';
import { EVENT_RESOURCES, EVENT_TYPES, PING_TYPE } from '@licet/contract/enums';
import { keysOf } from '@licet/contract/objects';
import * as z from 'zod/mini';
import { screenTexts } from '../../screen-texts.ts';

/** The messages of deliveries, as they were sent. */

/** The event in a message of Standard Webhooks. */
const standard = z.object({
  data: z.object({
    type: z.enum(EVENT_TYPES),
    resourceType: z.enum(EVENT_RESOURCES),
    resourceId: z.nullable(z.int()),
    changes: z.nullable(
      z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
    ),
  }),
});

type SentEvent = z.output<typeof standard>['data'];

/** A message for a channel of Discord: the page of the object, if the console is public, and its names. */
const discord = z.object({
  embeds: z.array(
    z.object({
      url: z.optional(z.string()),
      fields: z.array(z.object({ name: z.string(), value: z.string() })),
    }),
  ),
});

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

const embedOf = ({ request }: Delivery) => discord.safeParse(parse(request)).data?.embeds[0];

/** The license, the product and the customer that a message in a channel names; empty if it names none. */
export const namedIn = (delivery: Delivery): string =>
  (embedOf(delivery)?.fields ?? [])
    // The last one is the sender.
    .slice(0, -1)
    // The message has a backslash before what Discord would take as formatting.
    .map(({ value }) => value.replaceAll(/\\([^a-z\d\s])/gi, '$1'))
    .join(', ');

const knownType = (type: string) => EVENT_TYPES.find((known) => known === type);

const PAGES = {
  licenses: 'license',
  products: 'product',
  customers: 'customer',
  tokens: 'token',
  webhooks: 'webhook',
} as const;

/** The event in a message for a channel, as far as it is known from the page to which the message links. */
function eventInChannel(delivery: Delivery): SentEvent | undefined {
  const type = knownType(delivery.type);
  const [, page, id] = /\/console\/(\w+)\/(\d+)$/.exec(embedOf(delivery)?.url ?? '') ?? [];
  const resource = keysOf(PAGES).find((known) => known === page);
  if (!type || !resource) return undefined;
  const name = { before: null, after: namedIn(delivery) };
  return { type, resourceType: PAGES[resource], resourceId: Number(id), changes: { name } };
}

/** The event that was sent; undefined if the message does not say what it is about. */
export const eventOf = (delivery: Delivery): SentEvent | undefined =>
  standard.safeParse(parse(delivery.request)).data?.data ?? eventInChannel(delivery);

/** The event of a delivery in words. */
export function titleOf({ type }: Pick<Delivery, 'type'>): string {
  if (type === PING_TYPE) return screenTexts.webhooks.ping;
  const known = knownType(type);
  return known ? screenTexts.eventTypes[known] : type;
}
