import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { EVENT_GROUPS, EVENT_TYPES } from './enums.ts';
import { deliveryState, idText, integerText, text, webhookFormat } from './fields.ts';
import {
  MAX_PAGE_DELIVERIES,
  MAX_TEXT_LENGTH,
  MAX_WEB_ADDRESS_LENGTH,
  MAX_WEBHOOKS,
} from './limits.ts';
import { pageQuery } from './parameters.ts';
import {
  createBody,
  mustNotBeSent,
  objectId,
  optional,
  required,
  setByService,
  systemTime,
  textOrEmpty,
  updateBody,
  wireBody,
  wireMapper,
} from './resource.ts';
import { wireTimestamp } from './time.ts';

/** Webhooks and their deliveries (8). */

export const webhookType = z.enum([...EVENT_GROUPS, ...EVENT_TYPES]).meta({
  id: 'WebhookType',
  description: 'A type of events, or a group of them such as `license.*`.',
});

const types = z.array(webhookType).transform((sent) => [...new Set(sent)]);
const address = text(MAX_WEB_ADDRESS_LENGTH).trim().min(1);

const DESCRIBED_ADDRESS =
  'Where the events are sent, as `https` to a public host. Of an address of Discord, the token is shown as `***`; a PUT of the shown address keeps it.';

export const webhookFields = {
  id: objectId(),
  url: required(address, z.string(), DESCRIBED_ADDRESS),
  format: optional(
    webhookFormat.nullish(),
    webhookFormat,
    webhookFormat,
    'Unless set, `discord` for an address of Discord, else `standard`.',
  ),
  types: optional(
    types.nullish().transform((sent) => sent ?? []),
    types,
    z.array(webhookType),
    'The types of events that are sent. Empty, the default, for all.',
  ),
  enabled: optional(
    z
      .boolean()
      .nullish()
      .transform((sent) => sent ?? true),
    z.boolean(),
    z.boolean(),
    'Whether events are sent. Events from while it was off are not sent later.',
  ),
  description: textOrEmpty(MAX_TEXT_LENGTH, 'Free text.'),
  createdAt: systemTime,
  updatedAt: systemTime,
  lastSuccessAt: setByService(wireTimestamp.nullable(), 'To within five minutes.'),
  failingSince: setByService(
    wireTimestamp.nullable(),
    'The first failure since the last success. After five days the service switches the webhook off.',
  ),
  disabledReason: setByService(
    z.string().nullable(),
    'Why the service switched the webhook off; null unless it did.',
  ),
};

/** A webhook in the response to its creation and to a new secret: no other response shows the secret. */
const secretFields = {
  ...webhookFields,
  secret: {
    create: mustNotBeSent,
    update: mustNotBeSent,
    wire: z.string(),
    description: 'For the verification of signatures, shown this once.',
  },
};

/** Picks the fields of a response, without the secret. */
export const pickWebhook = wireMapper(webhookFields);

const example = {
  id: 2,
  url: 'https://shop.example/licet',
  format: 'standard' as const,
  types: ['license.*' as const],
  enabled: true,
  description: 'Shop',
  createdAt: CREATED,
  updatedAt: CREATED,
  lastSuccessAt: UPDATED,
  failingSince: null,
  disabledReason: null,
};

export const webhook = named(
  'Webhook',
  'A webhook: an address to which events are sent.',
  wireBody(webhookFields),
  example,
);
export const webhookCreate = named(
  'WebhookCreate',
  `A new webhook. There are at most ${MAX_WEBHOOKS}.`,
  createBody(secretFields),
  { url: example.url, types: ['license.*'] },
);
export const webhookUpdate = named(
  'WebhookUpdate',
  'Changes of a webhook: an omitted field keeps its value [4.8].',
  updateBody(secretFields),
  { enabled: false },
);
export const webhookWithSecret = named(
  'WebhookWithSecret',
  'A webhook, with its secret.',
  wireBody(secretFields),
  { ...example, lastSuccessAt: null, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
);

/** A new secret, a test, and sending again: the service knows the rest. */
export const webhookAction = named(
  'WebhookAction',
  'No field, or no body at all.',
  z.strictObject({}).optional(),
  {},
);

export const delivery = named(
  'Delivery',
  'The delivery of an event to a webhook.',
  z.strictObject({
    id: z
      .int()
      .describe('The id of the event. Its messages have the `webhook-id` `msg_` and this.'),
    type: z.string().describe('The type of the event; `ping` for a test.'),
    time: wireTimestamp.describe('The time of the event.'),
    state: deliveryState.describe('Whether it has arrived, or another attempt follows.'),
    attempts: z.int().describe('The number of attempts until now.'),
    attemptedAt: wireTimestamp.nullable().describe('The time of the last attempt.'),
    status: z
      .int()
      .nullable()
      .describe('The HTTP status of the last attempt; null without a response.'),
    error: z.string().nullable().describe('Why the last attempt failed; null if it did not.'),
    durationMs: z.int().nullable().describe('The duration of the last attempt, in milliseconds.'),
    nextAttemptAt: wireTimestamp
      .nullable()
      .describe('The time of the next attempt at the earliest; null without one.'),
    request: z
      .string()
      .nullable()
      .describe('The body that is sent; null if the event is no longer kept.'),
    response: z
      .string()
      .nullable()
      .describe(
        'The first 4 KB of the response to the last attempt. Only a token with `ALL_READ_WRITE` sees it.',
      ),
  }),
  {
    id: 11800166572032,
    type: 'license.updated',
    time: UPDATED,
    state: 'PENDING',
    attempts: 1,
    attemptedAt: UPDATED,
    status: 503,
    error: 'The receiver returned 503',
    durationMs: 41,
    nextAttemptAt: UPDATED,
    request: '{"type":"license.updated"}',
    response: 'Down for maintenance',
  },
);
export type Delivery = z.infer<typeof delivery>;

/** The query of a list of webhooks. */
export const webhookQuery = z.strictObject(pageQuery);

/** The path of a delivery. */
export const deliveryPath = {
  deliveryId: idText.meta({ description: 'The id of the delivery.', example: 11800166572032 }),
};

/** The query of a list of deliveries. */
export const deliveryQuery = z.strictObject({
  limit: integerText(MAX_PAGE_DELIVERIES).optional().meta({
    description: 'The number of deliveries on a page.',
    example: 50,
  }),
  after: idText.optional().meta({
    description: 'The id of the last delivery of the page before.',
    example: 11800166572032,
  }),
  state: deliveryState.optional().describe('Only deliveries in this state.'),
});
export type DeliveryQuery = z.infer<typeof deliveryQuery>;
