import * as z from 'zod';
import { CREATED, KEY, named, UPDATED } from './bodies.ts';
import { customer, customerExample } from './customers.ts';
import { event } from './events.ts';
import { license } from './licenses.ts';
import { mail } from './mail.ts';
import { marketDelivery } from './markets.ts';
import { keysOf } from './objects.ts';
import { purchase } from './purchases.ts';
import { installationFields, request } from './requests.ts';
import { wireTimestamp } from './time.ts';

/** The export of a person (6). Each list but that of the licenses is of data that forgetting the person erases. */

const licenseId = z.int().describe('The license.');
const chatId = z.string().describe('The account at Discord.');

const replacedKey = named(
  'ReplacedKey',
  'A key that a license had before.',
  z.strictObject({
    licenseId,
    licenseKey: z.string().describe('The key, in upper case.'),
    replacedAt: wireTimestamp.describe('When the license got another key.'),
  }),
  { licenseId: 7341, licenseKey: KEY, replacedAt: UPDATED },
);

const exportedInstallation = named(
  'ExportedInstallation',
  'A machine that asked with the key of a license, also without a record in the history.',
  z.strictObject({
    id: z.int().describe('Its id.'),
    licenseId,
    ...installationFields.shape,
    firstSeen: wireTimestamp.describe('When it asked for the first time.'),
    lastSeen: wireTimestamp.describe(
      'When it asked for the last time, as of the last aggregation: up to a day before.',
    ),
  }),
  {
    id: 210,
    licenseId: 7341,
    licenseKey: KEY,
    productId: 1,
    productVersion: '1.4.2',
    ip: '192.0.2.10',
    hwid: '4c4c4544-0051',
    macAddress: null,
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.1.0',
    operatingSystemArchitecture: 'amd64',
    javaVersion: '21.0.5',
    firstSeen: CREATED,
    lastSeen: UPDATED,
  },
);

const exportedOrder = named(
  'ExportedOrder',
  'An order, a payment or a subscription at a market that has the e-mail of the buyer.',
  z.strictObject({
    marketId: z.int().describe('The market.'),
    order: z.string().describe('Its id at the market.'),
    email: z.string().describe('The e-mail of the buyer.'),
  }),
  { marketId: 1, order: 'cs_1', email: 'ada@shop.example' },
);

const exportedMarketDelivery = named(
  'ExportedMarketDelivery',
  'A request that arrived from a market about a purchase of the person.',
  z.strictObject({ marketId: z.int().describe('The market.'), ...marketDelivery.shape }),
  {
    marketId: 1,
    id: 11800166572032,
    time: UPDATED,
    type: 'checkout.session.completed',
    eventId: 'evt_1',
    isFromMarket: true,
    isAccepted: true,
    status: 200,
    effect: 'CHANGED',
    result: 'License #7341 created',
    item: 'pro',
    order: 'cs_1',
    body: '{"id":"evt_1"}',
  },
);

const receiverResponse = named(
  'ReceiverResponse',
  'The response of a receiver of webhooks to an event about the person.',
  z.strictObject({
    webhookId: z.int().describe('The webhook.'),
    eventId: z.int().describe('The event.'),
    response: z.string().describe('The beginning of the response.'),
  }),
  { webhookId: 1, eventId: 11800166572032, response: '{"ok":true}' },
);

const pageAccess = named(
  'PageAccess',
  "A link to the customer's page, a session of it, or a code that links an account. Its secret is not stored.",
  z.strictObject({
    chatId: chatId.nullable().describe('The account that it belongs to; null for the customer.'),
    expiresAt: wireTimestamp.describe('Until when it works.'),
    usedAt: wireTimestamp.nullable().describe('When the link was used; null for others.'),
  }),
  { chatId: null, expiresAt: UPDATED, usedAt: CREATED },
);

const discordRole = named(
  'DiscordRole',
  'A role of an account of the person at Discord.',
  z.strictObject({
    chatId,
    roleId: z.string().describe('The role.'),
    isGiven: z.boolean().describe('False if it could not be given yet.'),
  }),
  { chatId: '280497242714931202', roleId: '901', isGiven: true },
);

/** The parts of an export in their order. */
const lists = {
  licenses: license
    .array()
    .describe(
      'The licenses of the customer or of an account of the customer, also `DELETED` ones.',
    ),
  replacedKeys: replacedKey.array().describe('The keys that these licenses had before.'),
  requests: request
    .array()
    .describe('The history of the licenses of the customer, the newest first.'),
  installations: exportedInstallation.array().describe('The machines that asked with the keys.'),
  events: event
    .array()
    .describe('The events about the customer and the licenses, the newest first.'),
  responses: receiverResponse.array().describe('The responses of receivers to these events.'),
  purchases: purchase.array().describe('The purchases at markets.'),
  marketDeliveries: exportedMarketDelivery
    .array()
    .describe('The requests of markets about the purchases, of 30 days.'),
  orders: exportedOrder.array().describe('The orders of the purchases.'),
  links: pageAccess.array().describe("The links to the customer's page."),
  sessions: pageAccess.array().describe("The sessions of the customer's page."),
  mails: mail.array().describe('The mails of 30 days, without their texts, which are not stored.'),
  linkCodes: pageAccess.array().describe('The codes that link an account at Discord.'),
  roles: discordRole.array().describe('The roles at Discord.'),
};

/** A list of an export. */
export type ExportedList = keyof typeof lists;

export const customerExport = named(
  'CustomerExport',
  'All that the service holds about a person.',
  z.strictObject({
    customer: customer.describe('The customer.'),
    ...lists,
    cut: z
      .enum(keysOf(lists))
      .array()
      .describe('The lists that have a part of their entries, because there are too many.'),
  }),
  {
    customer: customerExample,
    licenses: [],
    replacedKeys: [],
    requests: [],
    installations: [],
    events: [],
    responses: [],
    purchases: [],
    marketDeliveries: [],
    orders: [],
    links: [{ chatId: null, expiresAt: UPDATED, usedAt: CREATED }],
    sessions: [],
    mails: [],
    linkCodes: [],
    roles: [],
    cut: [],
  },
);
