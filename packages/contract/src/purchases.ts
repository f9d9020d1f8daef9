import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { booleanText, id, idText, purchaseState } from './fields.ts';
import { marketId } from './markets.ts';
import { pageQuery, period, searchText } from './parameters.ts';
import { createBody, objectId, optional, required, setByService, wireBody } from './resource.ts';
import { wireTimestamp } from './time.ts';

/** Purchases at markets, each with one license (9). */

const textAtMarket = (description: string) => required(marketId, z.string(), description);

const textOrNullAtMarket = (description: string) =>
  optional(
    marketId.nullable().default(null),
    marketId.nullable(),
    z.string().nullable(),
    description,
  );

const purchaseFields = {
  id: objectId(),
  marketId: required(id, z.int(), 'The market.'),
  item: textAtMarket('The id of the product at the market.'),
  reference: textAtMarket(
    'The buyer, at BuiltByBit and Voxel Shop, else the order line: one purchase for each reference and item.',
  ),
  unit: setByService(z.int(), 'Counts the licenses of a quantity, from 0.'),
  order: textOrNullAtMarket('The id of the order; null without one.'),
  buyerId: textOrNullAtMarket('The id of the buyer at the market.'),
  buyerName: textOrNullAtMarket('The name of the buyer at the market.'),
  email: setByService(
    z.string().nullable(),
    'The e-mail of a buyer whose purchase has no license yet, where the market gives one. After that, the customer of the license has it.',
  ),
  amount: setByService(
    z.string().nullable(),
    'The amount that was paid for all its licenses, in whole units such as `9.99`, as the market says it: of a subscription the first payment. Null if the market does not say it, and for `unit` above 0.',
  ),
  currency: setByService(
    z.string().nullable(),
    'The currency of the amount, by ISO 4217; null if the market does not say it.',
  ),
  quantity: setByService(z.int(), 'The quantity that was bought.'),
  isTest: setByService(z.boolean(), 'Whether it is a test of the market.'),
  state: setByService(
    purchaseState,
    'Whether it has its license, has lost it, or waits for a product.',
  ),
  reason: setByService(z.string().nullable(), 'Why it is not `GRANTED`; null if it is.'),
  isIgnored: setByService(
    z.boolean(),
    'Whether a person decided that it needs no license. It gets none, and is not reported again.',
  ),
  marketName: setByService(z.string().nullable(), 'The name of the market; null if it is deleted.'),
  licenseId: required(id, z.int().nullable(), 'Its license; null before it has one.'),
  licenseKey: setByService(z.string().nullable(), 'The key of the license.'),
  customerId: setByService(z.int().nullable(), 'The customer of the license.'),
  productId: setByService(z.int().nullable(), 'The product of the license.'),
  productName: setByService(z.string().nullable(), 'The name of this product.'),
  createdAt: setByService(wireTimestamp, 'The time of the first notice about it.'),
  updatedAt: setByService(wireTimestamp, 'The time of its last change.'),
  revokedAt: setByService(
    wireTimestamp.nullable(),
    'Since when it is `REVOKED`; null if it is not, or was revoked before this was stored.',
  ),
};

export const purchaseExample = {
  id: 12,
  marketId: 1,
  item: '62494',
  reference: '540773',
  unit: 0,
  order: null,
  buyerId: '540773',
  buyerName: 'kas',
  email: null,
  amount: '9.99',
  currency: null,
  quantity: 1,
  isTest: false,
  state: 'GRANTED' as const,
  reason: null,
  isIgnored: false,
  marketName: 'BuiltByBit',
  licenseId: 7341,
  licenseKey: '7K3M-9QWX-B2NP-4TRV-H8YD',
  customerId: 311,
  productId: 1,
  productName: 'Chunk Guard',
  createdAt: CREATED,
  updatedAt: UPDATED,
  revokedAt: null,
};

export const purchase = named(
  'Purchase',
  'A purchase at a market, and its license.',
  wireBody(purchaseFields),
  purchaseExample,
);
export type Purchase = z.infer<typeof purchase>;

export const purchaseCreate = named(
  'PurchaseCreate',
  'A purchase from before, or for staff and gifts: the market then delivers the key of the license.',
  createBody(purchaseFields),
  { marketId: 1, item: '62494', reference: '540773', licenseId: 7341 },
);

export const purchaseGrant = named(
  'PurchaseGrant',
  'The license of a purchase: an existing one, a new one of a product, or, without a field, a new one as the market maps the product.',
  z
    .strictObject({
      licenseId: z.exactOptional(id).describe('An existing license.'),
      productId: z.exactOptional(id).describe('The product of a new license.'),
    })
    .refine((sent) => sent.licenseId === undefined || sent.productId === undefined, {
      error: 'must not be sent beside licenseId',
      path: ['productId'],
    }),
  { productId: 1 },
);

export const purchaseIgnore = named(
  'PurchaseIgnore',
  'Whether a purchase that waits for a product needs no license.',
  z.strictObject({
    isIgnored: z.boolean().default(true).describe('False takes the decision back.'),
  }),
  { isIgnored: true },
);

const amountExample = { currency: 'EUR', amount: '119.88' };
const purchaseAmount = named(
  'PurchaseAmount',
  'The sum of the amounts in a currency.',
  z.strictObject({
    currency: z.string().nullable().describe('By ISO 4217; null for those that no market named.'),
    amount: z.string().describe('In whole units.'),
  }),
  amountExample,
);

export const purchaseStatistics = named(
  'PurchaseStatistics',
  'The sales of a period.',
  z.strictObject({
    from: wireTimestamp.describe('The start of the period.'),
    to: wireTimestamp.describe('Its last millisecond.'),
    sold: z
      .int()
      .describe(
        'The purchases, without tests and those that a person entered. A quantity is one purchase.',
      ),
    amounts: z
      .array(purchaseAmount)
      .describe('What was paid for them, where the market says it, by currency.'),
    refunded: z.int().describe('Purchases of any time that were revoked for a refund.'),
    disputed: z.int().describe('Those that were revoked for a dispute or chargeback.'),
  }),
  {
    from: CREATED,
    to: UPDATED,
    sold: 12,
    amounts: [amountExample],
    refunded: 1,
    disputed: 0,
  },
);
export type PurchaseStatistics = z.infer<typeof purchaseStatistics>;

export const purchaseStatisticsQuery = z.strictObject(period);

/** The query of a list of purchases. */
export const purchaseQuery = z.strictObject({
  ...pageQuery,
  marketId: idText.optional().meta({ description: 'Only purchases at this market.', example: 1 }),
  licenseId: idText
    .optional()
    .meta({ description: 'Only the purchases of this license.', example: 7341 }),
  customerId: idText
    .optional()
    .meta({ description: 'Only purchases whose license is of this customer.', example: 311 }),
  state: purchaseState.optional().describe('Only purchases in this state.'),
  isIgnored: booleanText.optional().meta({
    description: 'Whether a person decided that they need no license.',
    example: false,
  }),
  q: searchText.describe(
    'Text to find in order, reference, buyer, e-mail or item, without regard to the case of A to Z; or the whole id of a payment or invoice of the order.',
  ),
  sort: z.enum(['id', '-id']).optional().meta({
    description: 'The order of the list: `-id` has the newest purchase first. Default: `id`.',
    example: '-id',
  }),
});
export type PurchaseQuery = z.infer<typeof purchaseQuery>;
