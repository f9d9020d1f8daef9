import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { id, idText, purchaseState } from './fields.ts';
import { marketId } from './markets.ts';
import { pageQuery, searchText } from './parameters.ts';
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
  quantity: setByService(z.int(), 'The quantity that was bought.'),
  isTest: setByService(z.boolean(), 'Whether it is a test of the market.'),
  state: setByService(
    purchaseState,
    'Whether it has its license, has lost it, or waits for a product.',
  ),
  reason: setByService(z.string().nullable(), 'Why it is not `GRANTED`; null if it is.'),
  licenseId: required(id, z.int().nullable(), 'Its license; null before it has one.'),
  productId: setByService(z.int().nullable(), 'The product of the license.'),
  createdAt: setByService(wireTimestamp, 'The time of the first notice about it.'),
  updatedAt: setByService(wireTimestamp, 'The time of its last change.'),
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
  quantity: 1,
  isTest: false,
  state: 'GRANTED' as const,
  reason: null,
  licenseId: 7341,
  productId: 1,
  createdAt: CREATED,
  updatedAt: UPDATED,
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
