import * as z from 'zod';
import { CREATED, KEY, named, UPDATED } from './bodies.ts';
import { customer, customerExample, emailAddress } from './customers.ts';
import { entitlementFilter, licenseEntitlements } from './entitlements.ts';
import {
  address,
  booleanText,
  daysText,
  hardwareId,
  id,
  idText,
  licenseDataType,
  licensePlatform,
  licenseStatus,
  licenseType,
  limit,
  network,
  text,
} from './fields.ts';
import {
  MAX_BATCH_LICENSES,
  MAX_EXPIRES_AFTER_DAYS,
  MAX_LIMIT,
  MAX_LONG_TEXT_LENGTH,
  MAX_TEXT_LENGTH,
} from './limits.ts';
import { metadata, metadataFilter } from './metadata.ts';
import { pageQuery, productId, searchText } from './parameters.ts';
import {
  accountOrEmpty,
  createBody,
  daysOrNull,
  ignored,
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
import { timestamp, timestampText, wireTimestamp } from './time.ts';

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

const limitOfProduct = (description: string) =>
  optional(limit.nullable().default(null), limit, z.int(), description);

function boundValues(value: z.ZodType<string>, description: string) {
  const schema = z.array(value).max(MAX_LIMIT).transform(distinct);
  return optional(schema.default([]), schema, z.array(z.string()), description);
}

/** [2.2] */
export const licenseFields = {
  id: objectId(),
  licenseKey: {
    create: mustNotBeSent,
    update: z.exactOptional(text(MAX_TEXT_LENGTH)),
    wire: z.string(),
    description:
      'Made by the service, and compared without regard to case. Only the operations for a new key and a new owner change it.',
  },
  productId: required(id, z.int(), 'The product of the license.'),
  productIdString: {
    create: ignored,
    update: ignored,
    wire: z.string(),
    description: '`productId` as text.',
  },
  licenseType: required(
    licenseType,
    licenseType,
    '`TEMPORARY` needs an `expiryDate` or `expiresAfterDays`, `PERMANENT` has neither.',
  ),
  licensePlatform: optional(
    licensePlatform.nullable().default(null),
    licensePlatform.nullable(),
    licensePlatform.nullable(),
    'The platform or market where it was bought.',
  ),
  licensePlatformOther: textOrEmpty(MAX_TEXT_LENGTH, 'Free text, for the platform `OTHER`.'),
  ownerPlatformId: accountOrEmpty('The id of the owner there.'),
  createdDate: systemTime,
  updatedDate: systemTime,
  expiryDate: optional(
    timestamp.nullable().default(null),
    timestamp.nullable(),
    wireTimestamp.nullable(),
    'From this millisecond on the license is `EXPIRED`; with a date in the past it is so at once. ISO 8601, or a date alone.',
  ),
  expiresAfterDays: daysOrNull(
    MAX_EXPIRES_AFTER_DAYS,
    'In the place of `expiryDate`, for `TEMPORARY`: the first valid validation sets `expiryDate` to this many days later, and this to null.',
  ),
  maxIPs: limitOfProduct('Maximum number of addresses: -1 is unlimited, 0 none.'),
  maxHWIDs: limitOfProduct('Maximum number of hardware IDs: -1 is unlimited, 0 none.'),
  totalRequests: {
    create: ignored,
    update: ignored,
    wire: z.int(),
    description: 'Number of recorded validations.',
  },
  ownerChatId: accountOrEmpty('The id of the owner at Discord.'),
  ownerChatUsername: textOrEmpty(MAX_TEXT_LENGTH, 'The name of the owner at Discord.'),
  licenseStatus: optional(
    licenseStatus.default('ACTIVE'),
    licenseStatus,
    licenseStatus,
    '`EXPIRED` follows from `expiryDate`. On write `EXPIRED` means `ACTIVE`, and expires nothing: set `expiryDate`, or `DEACTIVATED`.',
  ),
  hwids: boundValues(
    hardwareId,
    'The bound hardware IDs, in the order in which they were bound. `[]` frees all.',
  ),
  ips: boundValues(
    address,
    'The bound addresses, in the order in which they were bound. `[]` frees all. IPv6 addresses of one /64 share a slot, which shows the first. New ones that are private or reserved are rejected.',
  ),
  notes: textOrEmpty(MAX_LONG_TEXT_LENGTH, 'For administrators.'),
  metadata,
  ...licenseEntitlements,
  customer: setByService(
    customer.nullable(),
    'The owner, according to `customerId`, `customerEmail` or the owner fields; set by the service.',
  ),
};

/** A field that no response has. */
function writeOnly<Schema extends z.ZodType>(schema: Schema, description: string) {
  const sent = z.exactOptional(schema);
  return { create: sent, update: sent, wire: schema, description };
}

/** The fields of a body: those of a response, and the customer to whom the license belongs (3). */
const licenseBodyFields = {
  ...licenseFields,
  customerId: writeOnly(
    id.nullable(),
    'The customer to whom the license belongs, in place of the owner fields. A token that may not read customers names only a customer with a license. In a PUT, null is nobody.',
  ),
  customerEmail: writeOnly(
    emailAddress.nullable(),
    'The e-mail of the customer to whom the license belongs. A customer with a new one is created.',
  ),
};

/** The fields of a batch: those of a create, and how many. */
const licenseBatchFields = {
  ...licenseBodyFields,
  count: required(
    z.int().min(1).max(MAX_BATCH_LICENSES),
    z.int(),
    'The number of licenses, each with a key of its own.',
  ),
};

/** Picks the fields of a response. */
export const pickLicense = wireMapper(licenseFields);

const example = {
  productId: 1,
  licenseType: 'TEMPORARY',
  licensePlatform: 'MARKET_A',
  licensePlatformOther: '',
  ownerPlatformId: '48213',
  maxIPs: 2,
  maxHWIDs: -1,
  ownerChatId: '280497242714931202',
  ownerChatUsername: 'ada',
  notes: 'Bought in the summer sale',
  metadata: { plan: 'gold', order: '4711' },
  entitlements: { max_players: 200 },
  entitlementsExpire: {},
} as const;
const newExample = { ...example, expiryDate: '2035-12-31T23:59:59Z' };

export const license = named('License', 'A license [2.2].', wireBody(licenseFields), {
  id: 7341,
  licenseKey: KEY,
  ...example,
  productIdString: '1',
  createdDate: CREATED,
  updatedDate: UPDATED,
  expiryDate: '2035-12-31T23:59:59.000+00:00',
  expiresAfterDays: null,
  totalRequests: 128,
  licenseStatus: 'ACTIVE',
  hwids: [],
  ips: ['192.0.2.10'],
  effectiveEntitlements: { edition: 'gold', max_players: 200 },
  customer: customerExample,
});
export const licenseCreate = named(
  'LicenseCreate',
  'A new license [4.3].',
  createBody(licenseBodyFields),
  newExample,
);
export const licenseBatch = named(
  'LicenseBatch',
  'New licenses that differ in their ids and keys alone.',
  createBody(licenseBatchFields),
  { ...newExample, count: 100 },
);
export const licenseUpdate = named(
  'LicenseUpdate',
  'Changes of a license: an omitted field keeps its value [4.8].',
  updateBody(licenseBodyFields),
  { expiryDate: '2036-12-31', ips: [] },
);

export const licenseRotate = named(
  'LicenseRotate',
  'No field, or no body at all.',
  z.strictObject({}).optional(),
  {},
);

/** Names the new owner by exactly one of the fields. */
export const licenseTransfer = named(
  'LicenseTransfer',
  'The new owner of a license: one of the fields.',
  z
    .strictObject({
      customerId: z
        .exactOptional(id)
        .describe(
          'The new owner. A token that may not read customers names only a customer with a license.',
        ),
      customerEmail: z
        .exactOptional(emailAddress)
        .describe('The e-mail of the new owner. A customer with a new one is created.'),
    })
    .superRefine(({ customerId, customerEmail }, { addIssue }) => {
      if (customerId === undefined && customerEmail === undefined) {
        addIssue({ code: 'custom', path: ['customerId'], message: 'or customerEmail is required' });
      } else if (customerId !== undefined && customerEmail !== undefined) {
        const message = 'must not be sent beside customerId';
        addIssue({ code: 'custom', path: ['customerEmail'], message });
      }
    }),
  { customerEmail: 'grace@shop.example' },
);

/** The query of a list of licenses: `expiresFrom` and `expiresTo` are both inclusive. */
export const licenseQuery = z.strictObject({
  ...pageQuery,
  licenseStatus: licenseStatus
    .optional()
    .describe('Only licenses with this status. `DELETED` ones are in no list without it.'),
  licenseType: licenseType.optional().describe('Only licenses of this type.'),
  productId: productId.optional(),
  q: searchText,
  metadata: metadataFilter,
  entitlement: entitlementFilter,
  expiresFrom: timestampText.optional().meta({
    description: 'Only licenses that expire at this time or later: ISO 8601, or a date alone.',
    example: '2026-11-20T18:00:00Z',
  }),
  expiresTo: timestampText.optional().meta({
    description: 'Only licenses that expire at this time or earlier.',
    example: '2026-12-20T18:00:00Z',
  }),
  unused: booleanText.optional().meta({
    description: '`true`: only licenses without a validation. `false`: only licenses with one.',
    example: true,
  }),
  dormantDays: daysText.optional().meta({
    description: 'Only licenses that were used before, and not within this number of days.',
    example: 90,
  }),
  full: booleanText.optional().meta({
    description:
      '`true`: only licenses without a free slot for an address or a hardware ID. `false`: only the others.',
    example: true,
  }),
  idleSlots: booleanText.optional().meta({
    description:
      '`true`: only licenses with a slot that is idle, which a new value may take. `false`: only the others.',
    example: true,
  }),
  ip: network.optional().meta({
    description:
      'Only licenses whose programs asked from this address or CIDR range, as far as the history goes back.',
    example: '192.0.2.0/24',
  }),
  sort: z.enum(['id', '-id', 'expiryDate', '-expiryDate']).optional().meta({
    description:
      'The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default.',
    example: 'id',
  }),
  total: booleanText.optional().meta({
    description: 'Without `X-Total-Count` if false: a page of a large list then takes less time.',
    example: false,
  }),
});
export type LicenseQuery = z.infer<typeof licenseQuery>;

/** A bound value. */
export const slot = named(
  'Slot',
  'A slot of a license: a bound address or hardware ID, with its last use.',
  z.strictObject({
    type: licenseDataType.describe('Whether it is bound to an address or a hardware ID.'),
    value: z.string().describe('The bound value.'),
    lastUsed: wireTimestamp.describe(
      'When a program last asked with it, or when it was bound if that is later.',
    ),
    idleDate: wireTimestamp
      .nullable()
      .describe(
        'From then on a new value may take the slot, unless the value is used meanwhile. Null without `ipIdleDays` or `hwidIdleDays` of the product.',
      ),
  }),
  {
    type: 'IP',
    value: '192.0.2.10',
    lastUsed: UPDATED,
    idleDate: '2026-11-27T19:01:25.710+00:00',
  },
);
export type Slot = z.infer<typeof slot>;

/** The query of a list of installations. */
export const installationQuery = z.strictObject(pageQuery);

/** The parameters of the paths that find licenses. */
export const licensePaths = {
  key: {
    licenseKey: z.string().meta({
      description: 'A license key, as in a validation.',
      example: KEY,
    }),
  },
  email: {
    email: z.string().meta({
      description: 'The e-mail of a customer, without regard to case.',
      example: 'ada@shop.example',
    }),
  },
  owner: {
    platform: licensePlatform.meta({
      description: 'Where the licenses were bought.',
      example: 'MARKET_A',
    }),
    platformId: text(MAX_TEXT_LENGTH).meta({
      description: 'The id of the owner there.',
      example: '48213',
    }),
  },
  customer: { customerId: idText.meta({ description: 'The id of a customer.', example: 1 }) },
  product: { productId },
  chat: {
    chatId: z.string().meta({
      description: 'The id of the owner at Discord.',
      example: '280497242714931202',
    }),
  },
};
