import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { id, idText, purchaseState } from './fields.ts';
import { marketId } from './markets.ts';
import { pageQuery, searchText } from './parameters.ts';
import { wireTimestamp } from './time.ts';

/** Purchases at markets, each with one license (9). */

export const purchase = named(
  'Purchase',
  'A purchase at a market, and its license.',
  z.strictObject({
    id: z.int().describe('Its id.'),
    marketId: z.int().describe('The market.'),
    item: z.string().describe('The id of the product at the market.'),
    reference: z
      .string()
      .describe(
        'The buyer, at BuiltByBit and Voxel Shop, else the order line: one purchase for each reference and item.',
      ),
    unit: z.int().describe('Counts the licenses of a quantity, from 0.'),
    order: z.string().nullable().describe('The id of the order; null without one.'),
    buyerId: z.string().nullable().describe('The id of the buyer at the market.'),
    buyerName: z.string().nullable().describe('The name of the buyer at the market.'),
    quantity: z.int().describe('The quantity that was bought.'),
    isTest: z.boolean().describe('Whether it is a test of the market.'),
    state: purchaseState.describe(
      'Whether it has its license, has lost it, or waits for a product.',
    ),
    reason: z.string().nullable().describe('Why it is not `GRANTED`; null if it is.'),
    licenseId: z.int().nullable().describe('Its license; null before it has one.'),
    productId: z.int().nullable().describe('The product of the license.'),
    createdAt: wireTimestamp.describe('When the service first heard of it.'),
    updatedAt: wireTimestamp.describe('When it last changed.'),
  }),
  {
    id: 12,
    marketId: 1,
    item: '62494',
    reference: '540773',
    unit: 0,
    order: null,
    buyerId: '540773',
    buyerName: 'kas',
    quantity: 1,
    isTest: false,
    state: 'GRANTED',
    reason: null,
    licenseId: 7341,
    productId: 1,
    createdAt: CREATED,
    updatedAt: UPDATED,
  },
);
export type Purchase = z.infer<typeof purchase>;

export const purchaseCreate = named(
  'PurchaseCreate',
  'A purchase from before, or for staff and gifts: the market then delivers the key of the license.',
  z.strictObject({
    marketId: id.describe('The market.'),
    item: marketId.describe('The id of the product at the market.'),
    reference: marketId.describe('The buyer, at BuiltByBit and Voxel Shop, else the order line.'),
    order: marketId.nullable().default(null).describe('The id of the order.'),
    buyerId: marketId.nullable().default(null).describe('The id of the buyer at the market.'),
    buyerName: marketId.nullable().default(null).describe('The name of the buyer at the market.'),
    licenseId: id.describe('The license.'),
  }),
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

/** The query of a list of purchases. */
export const purchaseQuery = z.strictObject({
  ...pageQuery,
  marketId: idText.optional().meta({ description: 'Only purchases at this market.', example: 1 }),
  licenseId: idText
    .optional()
    .meta({ description: 'Only the purchases of this license.', example: 7341 }),
  state: purchaseState.optional().describe('Only purchases in this state.'),
  q: searchText,
});
export type PurchaseQuery = z.infer<typeof purchaseQuery>;
