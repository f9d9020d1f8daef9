import * as z from 'zod';
import { CREATED, named } from './bodies.ts';
import { accountId, booleanText } from './fields.ts';
import { MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH } from './limits.ts';
import { metadata, metadataFilter } from './metadata.ts';
import { pageQuery, searchText } from './parameters.ts';
import {
  alwaysNull,
  createBody,
  objectId,
  optional,
  setByService,
  systemTime,
  textOrNull,
  updateBody,
  webAddressOrNull,
  wireBody,
  wireMapper,
} from './resource.ts';

/** An e-mail. */
export const emailAddress = z
  .string()
  .trim()
  .max(MAX_EMAIL_LENGTH)
  .regex(/^[^\s@\0]+@[^\s@\0]+$/, 'must be an e-mail address')
  .refine((value) => value.isWellFormed(), 'must be an e-mail address');

const email = emailAddress.nullable();

const account = accountId.nullable().transform((value) => value || null);

/** An account belongs to one customer at most: empty text is no account. */
const accountOf = (description: string) =>
  optional(account.default(null), account, z.string().nullable(), description);

const platformId = accountOf('Account on the platform or market: its id.');
const platformUsername = textOrNull(
  MAX_TEXT_LENGTH,
  'Account on the platform or market: its name.',
);

/** [2.5] A customer is created with a license too. */
export const customerFields = {
  id: objectId(),
  firstName: textOrNull(MAX_TEXT_LENGTH, 'First name.'),
  lastName: textOrNull(MAX_TEXT_LENGTH, 'Last name.'),
  username: textOrNull(MAX_TEXT_LENGTH, 'Name of the account.'),
  email: optional(
    email.default(null),
    email,
    z.string().nullable(),
    'Unique without regard to case.',
  ),
  phoneNumber: textOrNull(MAX_TEXT_LENGTH, 'Free text.'),
  profilePictureUrl: webAddressOrNull('Address of a picture.'),
  passwordHash: alwaysNull,
  role: textOrNull(MAX_TEXT_LENGTH, 'Free text.'),
  status: textOrNull(MAX_TEXT_LENGTH, 'Free text.'),
  createdAt: systemTime,
  lastLoginAt: alwaysNull,
  chatId: accountOf('Account at Discord: its id.'),
  chatUsername: textOrNull(MAX_TEXT_LENGTH, 'Account at Discord: its name.'),
  chatAvatarUrl: webAddressOrNull('Account at Discord: its picture.'),
  chatAccessToken: alwaysNull,
  chatRefreshToken: alwaysNull,
  chatTokenExpiry: alwaysNull,
  platformAId: platformId,
  platformAUsername: platformUsername,
  platformBId: platformId,
  platformBUsername: platformUsername,
  platformCId: platformId,
  platformCUsername: platformUsername,
  marketAId: platformId,
  marketAUsername: platformUsername,
  marketBId: platformId,
  marketBUsername: platformUsername,
  metadata,
};

/** Logins and their secrets are not stored. */
const UNSTORED = {
  passwordHash: null,
  lastLoginAt: null,
  chatAccessToken: null,
  chatRefreshToken: null,
  chatTokenExpiry: null,
};

const pick = wireMapper(customerFields);

/** Picks the fields of a response. */
export const pickCustomer = (values: Omit<Parameters<typeof pick>[0], keyof typeof UNSTORED>) =>
  pick({ ...values, ...UNSTORED });

/** The fields of a customer in a list. POST and PUT accept what a list returns. */
const listedFields = {
  ...customerFields,
  licenseCount: setByService(
    z.int().optional(),
    'The licenses of the customer that are not DELETED; only if asked for.',
  ),
};

const create = createBody(listedFields);

export const customerExample = pickCustomer({
  ...create.parse({
    firstName: 'Ada',
    email: 'ada@shop.example',
    chatId: '280497242714931202',
    chatUsername: 'ada',
    marketAId: '48213',
  }),
  id: 17,
  createdAt: CREATED,
  metadata: { crm: 'acct_417' },
});

export const customer = named(
  'Customer',
  'An owner of licenses [2.5].',
  wireBody(customerFields),
  customerExample,
);
export const customerCreate = named('CustomerCreate', 'A new customer.', create, {
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@shop.example',
});

export const customerUpdate = named(
  'CustomerUpdate',
  'Changes of a customer: an omitted field keeps its value [4.8].',
  updateBody(listedFields),
  { firstName: 'Ada', email: 'ada@shop.example' },
);

/** The query of a list of customers. */
export const customerQuery = z.strictObject({
  ...pageQuery,
  q: searchText,
  metadata: metadataFilter,
  licenseCount: booleanText.optional().meta({
    description: 'With the field `licenseCount` in each customer if true. An extension.',
    example: true,
  }),
});
export type CustomerQuery = z.infer<typeof customerQuery>;

export const listedCustomer = named(
  'ListedCustomer',
  'An owner of licenses in a list [2.5].',
  wireBody(listedFields),
  { ...customerExample, licenseCount: 2 },
);
