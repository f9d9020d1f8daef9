import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { productEntitlements } from './entitlements.ts';
import { booleanText, limit, nameText, productType } from './fields.ts';
import {
  DEFAULT_CHECK_AFTER_HOURS,
  DEFAULT_LIMIT,
  MAX_CHECK_AFTER_HOURS,
  MAX_EXPIRES_AFTER_DAYS,
  MAX_IDLE_DAYS,
  MAX_LONG_TEXT_LENGTH,
  MAX_OFFLINE_DAYS,
  MAX_SELF_RESETS,
  MAX_TEXT_LENGTH,
} from './limits.ts';
import { pageQuery, searchText } from './parameters.ts';
import {
  accountOrNull,
  createBody,
  daysOrNull,
  objectId,
  optional,
  required,
  systemTime,
  textOrEmpty,
  updateBody,
  webAddressOrNull,
  wireBody,
  wireMapper,
} from './resource.ts';

const defaultLimit = (description: string) =>
  optional(
    limit.nullish().transform((value) => value ?? DEFAULT_LIMIT),
    limit,
    z.int(),
    description,
  );

const offlineDays = z.int().min(0).max(MAX_OFFLINE_DAYS);
const checkAfterHours = z.int().min(1).max(MAX_CHECK_AFTER_HOURS);
const selfResets = z.int().min(0).max(MAX_SELF_RESETS);

/** [2.1] */
export const productFields = {
  id: objectId('Set by the service, and never used again. Programs are compiled with it.'),
  name: required(nameText, z.string(), 'Need not be unique.'),
  description: textOrEmpty(MAX_LONG_TEXT_LENGTH, 'Free text.'),
  productType: required(productType, productType, 'The kind of program.'),
  productTypeOther: textOrEmpty(MAX_TEXT_LENGTH, 'Free text, for the product type `OTHER`.'),
  createdDate: systemTime,
  updatedDate: systemTime,
  defaultMaxIPs: defaultLimit(
    `\`maxIPs\` of licenses without their own; ${DEFAULT_LIMIT} unless set.`,
  ),
  defaultMaxHWIDs: defaultLimit(
    `\`maxHWIDs\` of licenses without their own; ${DEFAULT_LIMIT} unless set.`,
  ),
  roleId: accountOrNull('A role at Discord.'),
  purchaseRoleId: accountOrNull('A role at Discord, for buyers.'),
  url: webAddressOrNull('The page of the product.'),
  imageUrl: webAddressOrNull('The image of the product.'),
  offlineDays: optional(
    offlineDays.nullish().transform((value) => value ?? 0),
    offlineDays,
    z.int(),
    'Days that a lease lets a program run without the network. 0, the default, allows none.',
  ),
  checkAfterHours: optional(
    checkAfterHours.nullish().transform((value) => value ?? DEFAULT_CHECK_AFTER_HOURS),
    checkAfterHours,
    z.int(),
    `Hours after which a running program asks again: \`checkAfter\` in signed responses and leases. ${DEFAULT_CHECK_AFTER_HOURS} unless set.`,
  ),
  entitlements: productEntitlements,
  ipIdleDays: daysOrNull(
    MAX_IDLE_DAYS,
    'Days without a request after which a new address may take the slot of a bound one. Null, the default, is never.',
  ),
  hwidIdleDays: daysOrNull(
    MAX_IDLE_DAYS,
    'Days without a request after which a new hardware ID may take the slot of a bound one. Null, the default, is never.',
  ),
  defaultExpiresAfterDays: daysOrNull(
    MAX_EXPIRES_AFTER_DAYS,
    '`expiresAfterDays` of `TEMPORARY` licenses that are created without it and without an `expiryDate`.',
  ),
  selfResets: optional(
    selfResets.nullish().transform((value) => value ?? 0),
    selfResets,
    z.int(),
    'How often, in 30 days, the customer may free slots of a license without you, or move it by `takeOver` of the program. 0, the default, is never.',
  ),
  selfRotate: optional(
    z
      .boolean()
      .nullish()
      .transform((value) => value ?? false),
    z.boolean(),
    z.boolean(),
    'Whether the customer may replace a leaked key of a license without you, once a day. False unless set.',
  ),
};

const example = {
  name: 'Chunk Guard',
  description: 'Protects regions of a world',
  productType: 'GAME_JAVA_PLUGIN',
  productTypeOther: '',
  defaultMaxIPs: 2,
  defaultMaxHWIDs: -1,
  roleId: '1187492034471100416',
  purchaseRoleId: null,
  url: 'https://shop.example/chunk-guard',
  imageUrl: null,
} as const;

/** Picks the fields of a response. */
export const pickProduct = wireMapper(productFields);

export const product = named(
  'Product',
  'A product [2.1].',
  wireBody(productFields),
  pickProduct({
    ...example,
    id: 1,
    offlineDays: 0,
    checkAfterHours: DEFAULT_CHECK_AFTER_HOURS,
    entitlements: { edition: 'gold', max_players: 100 },
    ipIdleDays: 7,
    hwidIdleDays: null,
    defaultExpiresAfterDays: null,
    selfResets: 3,
    selfRotate: false,
    createdDate: CREATED,
    updatedDate: UPDATED,
  }),
);
export const productCreate = named(
  'ProductCreate',
  'A new product [4.2].',
  createBody(productFields),
  example,
);
export const productUpdate = named(
  'ProductUpdate',
  'Changes of a product: an omitted field keeps its value [4.8].',
  updateBody(productFields),
  { name: 'Chunk Guard 2', defaultMaxIPs: 3 },
);

/** The query of a list of products. */
export const productQuery = z.strictObject({
  ...pageQuery,
  productType: productType.optional().describe('Only products of this type.'),
  q: searchText,
});
export type ProductQuery = z.infer<typeof productQuery>;

/** The query of a deletion. */
export const productDelete = z.strictObject({
  evenIfSold: booleanText.optional().meta({
    description:
      'Whether the product is deleted although a market sells it. A later purchase of it waits for another product.',
    example: true,
  }),
});
