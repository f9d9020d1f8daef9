import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { dynamicSettings } from './dynamic-market.ts';
import { mappedEntitlements } from './entitlements.ts';
import {
  disputeAction,
  id,
  idText,
  integerText,
  licenseType,
  limit,
  marketKind,
  marketState,
  nameText,
  noticeEffect,
  quantityMeaning,
  refundAction,
  text,
} from './fields.ts';
import {
  MAX_EXPIRES_AFTER_DAYS,
  MAX_MARKET_ID_LENGTH,
  MAX_MARKET_PRODUCTS,
  MAX_MARKET_SECRETS,
  MAX_MARKETS,
  MAX_PAGE_DELIVERIES,
  MAX_TEXT_LENGTH,
  MIN_CHOSEN_SECRET_LENGTH,
  MIN_SECRET_LENGTH,
} from './limits.ts';
import { pageQuery } from './parameters.ts';
import {
  createBody,
  objectId,
  optional,
  required,
  setByService,
  systemTime,
  updateBody,
  wireBody,
  wireMapper,
  writeOnly,
} from './resource.ts';
import { isPublic } from './service-address.ts';
import { wireTimestamp } from './time.ts';

/** Markets that sell keys, and the notices that arrived from them (9). */

/** An id at a market. Markets send it as text or as a number. */
export const marketId = z
  .union([text(MAX_MARKET_ID_LENGTH).trim().min(1), z.int()], {
    error: 'must be a string or an integer',
  })
  .transform(String)
  .pipe(z.string());

/** A product of a market, the product that it stands for, and the licenses that are made for it. */
export const marketProduct = z
  .strictObject({
    item: marketId.describe('The id of the product at the market.'),
    productId: id.describe('The product of the licenses.'),
    licenseType: licenseType
      .default('PERMANENT')
      .describe('`TEMPORARY` needs `expiresAfterDays`, here or at the product.'),
    expiresAfterDays: z
      .int()
      .min(1)
      .max(MAX_EXPIRES_AFTER_DAYS)
      .nullable()
      .default(null)
      .describe('For `TEMPORARY`: the days from the first use. Null for that of the product.'),
    maxIPs: limit.nullable().default(null).describe('Null for that of the product.'),
    maxHWIDs: limit.nullable().default(null).describe('Null for that of the product.'),
    entitlements: mappedEntitlements,
    quantity: quantityMeaning
      .default('licenses')
      .describe(
        'Whether a quantity above one makes one license each, or one license with larger limits.',
      ),
  })
  .meta({
    id: 'MarketProduct',
    description:
      'A product of a market, the product that it stands for, and the licenses that are made for it.',
  });
export type MarketProduct = z.output<typeof marketProduct>;

const products = z
  .array(marketProduct)
  .max(MAX_MARKET_PRODUCTS)
  .refine((list) => new Set(list.map(({ item }) => item)).size === list.length, {
    error: 'must have each item once',
  });

const secret = text(MAX_TEXT_LENGTH)
  .trim()
  .min(MIN_SECRET_LENGTH, `must have at least ${MIN_SECRET_LENGTH} characters`)
  .refine((value) => /^[!-~]+$/.test(value), {
    error: 'must be visible characters without blanks',
  });
const secrets = z.array(secret).max(MAX_MARKET_SECRETS);

export const marketFields = {
  id: objectId(),
  kind: {
    create: marketKind,
    update: z.exactOptional(marketKind),
    wire: marketKind,
    description: 'Does not change.',
  },
  name: required(nameText, z.string(), 'For people.'),
  enabled: optional(
    z.boolean().default(true),
    z.boolean(),
    z.boolean(),
    'Whether its requests are accepted.',
  ),
  products: optional(
    products.default([]),
    products,
    z.array(marketProduct),
    'The products of the market, and the licenses that a purchase of each makes.',
  ),
  onRefund: optional(
    refundAction.default('deactivate'),
    refundAction,
    refundAction,
    'The effect of a refund in full. A partial refund has none.',
  ),
  onDispute: optional(
    disputeAction.default('deactivate'),
    disputeAction,
    disputeAction,
    'The effect of a dispute or chargeback. A dispute that ends without a loss restores the license.',
  ),
  settings: optional(
    dynamicSettings.nullable().default(null),
    dynamicSettings.nullable(),
    dynamicSettings.nullable(),
    'For `dynamic` only, which needs it: how its requests are signed and read.',
  ),
  mailsKey: {
    create: z.exactOptional(z.boolean()),
    update: z.exactOptional(z.boolean()),
    wire: z.boolean(),
    description:
      'Whether buyers get the key by e-mail, once mails of the kind `key` are switched on (13). By default where the market shows them nothing of the response: `stripe`, `tebex` and `paynow`.',
  },
  addresses: setByService(
    z.array(z.string()),
    'The addresses to paste into the market. The first takes everything that the market sends. Each is a secret.',
  ),
  isPublic: setByService(isPublic, isPublic.description),
  secretCount: setByService(
    z.int(),
    'The number of `secrets`. Without one, every request is rejected.',
  ),
  hasApiToken: setByService(z.boolean(), 'Whether there is an `apiToken`.'),
  createdAt: systemTime,
  updatedAt: systemTime,
  state: setByService(
    marketState,
    'By its settings and the last request that arrived: `NEEDS_SECRET` without a secret, `FAILING` if that request was rejected or the service failed, `NEEDS_PRODUCT` without products, with one that is deleted, or with a purchase that waits for one, `WAITING` before the first request, else `WORKS`.',
  ),
  sales: setByService(
    z.int(),
    'The purchases of 30 days that got their licenses, without tests and those that a person entered.',
  ),
  lastSaleAt: setByService(wireTimestamp.nullable(), 'The time of the last one; null without.'),
  reconciledAt: setByService(
    wireTimestamp.nullable(),
    'When the purchases were last compared with those of the market, which needs an `apiToken`. A failure is an event `market.failing`.',
  ),
};

const sentFields = {
  ...marketFields,
  secrets: writeOnly(
    secrets,
    `The secrets that the market sends or signs with: one is enough for a request. A secret that you choose, for \`builtbybit\` and for \`dynamic\` with a sent secret, needs at least ${MIN_CHOSEN_SECRET_LENGTH} characters. A PUT replaces all of them. No response shows them.`,
  ),
  apiToken: writeOnly(
    text(MAX_TEXT_LENGTH).trim().nullable(),
    'For `builtbybit` and `voxel`: a token of their API, with which purchases are compared. For `stripe`: a restricted key, with which the lines of a session are read. Null or empty for none. No response shows it.',
  ),
};

/** Picks the fields of a response, without the secrets. */
export const pickMarket = wireMapper(marketFields);

const product = {
  item: '62494',
  productId: 1,
  licenseType: 'PERMANENT' as const,
  expiresAfterDays: null,
  maxIPs: 2,
  maxHWIDs: null,
  quantity: 'licenses' as const,
};

export const market = named(
  'Market',
  'A market: purchases there make licenses, and refunds deactivate them.',
  wireBody(marketFields),
  {
    id: 1,
    kind: 'builtbybit',
    name: 'BuiltByBit',
    enabled: true,
    products: [product],
    onRefund: 'deactivate',
    onDispute: 'deactivate',
    settings: null,
    mailsKey: false,
    addresses: ['https://license.example.com/markets/0JZ6c1P7s1x2g3u4Q5w6E7r8T9y0U1i2'],
    isPublic: true,
    secretCount: 1,
    hasApiToken: false,
    createdAt: CREATED,
    updatedAt: UPDATED,
    state: 'WORKS',
    sales: 12,
    lastSaleAt: UPDATED,
    reconciledAt: null,
  },
);
export const marketCreate = named(
  'MarketCreate',
  `A new market. There are at most ${MAX_MARKETS}.`,
  createBody(sentFields),
  {
    kind: 'builtbybit',
    name: 'BuiltByBit',
    products: [{ item: 62494, productId: 1, maxIPs: 2 }],
    secrets: ['f3b9c2d1e0a45b6c7d8e9f00'],
  },
);
export const marketUpdate = named(
  'MarketUpdate',
  'Changes of a market: an omitted field keeps its value [4.8].',
  updateBody(sentFields),
  { enabled: false },
);

/** The paths of the requests of markets. Any text: what is unknown is not found. */
export const marketPath = {
  path: z.string().meta({
    description: 'The end of the address of the market: a secret.',
    example: '0JZ6c1P7s1x2g3u4Q5w6E7r8T9y0U1i2',
  }),
};
export const oldMarketPath = {
  productId: z.string().meta({ description: 'The id of the product.', example: '1' }),
};

/** The query of a list of markets. */
export const marketQuery = z.strictObject(pageQuery);

export const marketDelivery = named(
  'MarketDelivery',
  'A request that arrived from a market.',
  z.strictObject({
    id: z.int().describe('Its id, which grows with the time.'),
    time: wireTimestamp.describe('When it arrived.'),
    type: z.string().nullable().describe('The type of event at the market; null if it is unknown.'),
    eventId: z.string().nullable().describe('The id that the market gave it; null without one.'),
    isFromMarket: z
      .boolean()
      .describe('Whether its signature or secret was right: it comes from the market.'),
    isAccepted: z.boolean().describe('Whether it comes from the market, and was understood.'),
    status: z
      .int()
      .describe('The HTTP status of the response: below 400 if it got what it asked for.'),
    effect: noticeEffect
      .nullable()
      .describe(
        'Whether a purchase or a license changed, nothing was to do, or a person is needed. Null if it does not come from the market, and if the service failed: the market then sends it again.',
      ),
    result: z.string().describe('The effect in words, or why it was not accepted.'),
    item: z
      .string()
      .nullable()
      .describe('The product of the market that it is about; null if it names none.'),
    order: z
      .string()
      .nullable()
      .describe(
        'The order, payment or subscription that it is about, else the reference of the purchase: `q` of purchases finds it. Null without one, and once the buyer is forgotten.',
      ),
    body: z
      .string()
      .nullable()
      .describe(
        'The first 4 KB of the body, without secrets, e-mail addresses, names and IP addresses. Null if it does not come from the market; empty once the buyer is forgotten.',
      ),
  }),
  {
    id: 11800166572032,
    time: UPDATED,
    type: 'payment.completed',
    eventId: '173c9b8f',
    isFromMarket: true,
    isAccepted: true,
    status: 200,
    effect: 'CHANGED',
    result: 'Granted a license',
    item: '127',
    order: 'tbx-42621624a26579-8a531b',
    body: '{"type":"payment.completed"}',
  },
);
export type MarketDelivery = z.infer<typeof marketDelivery>;

/** The query of a list of what arrived. */
export const marketDeliveryQuery = z.strictObject({
  limit: integerText(MAX_PAGE_DELIVERIES).optional().meta({
    description: 'The number of requests on a page.',
    example: 50,
  }),
  after: idText.optional().meta({
    description: 'The id of the last request of the page before.',
    example: 11800166572032,
  }),
});
