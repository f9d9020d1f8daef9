import * as z from 'zod';
import { request } from '../src/history/schema';
import { MAX_LIMIT, pageQuery } from '../src/http/pagination';
import { errorAnswer, refusal, validAnswer, validationRequest } from '../src/http/responses';
import { importAnswer, importRequest, importResult } from '../src/import/schema';
import {
  apiIntent,
  booleanText,
  idText,
  ignored,
  licenseDataType,
  licensePlatform,
  licenseStatus,
  licenseType,
  mustNotBeSent,
  productType,
  requestType,
  responseType,
} from '../src/lib/fields';
import { wireTimestamp } from '../src/lib/time';
import { blacklist, blacklistCreate, blacklistUpdate } from '../src/resources/blacklists/schema';
import { customer, customerUpdate } from '../src/resources/customers/schema';
import { license, licenseCreate, licenseUpdate } from '../src/resources/licenses/schema';
import { product, productCreate, productUpdate } from '../src/resources/products/schema';
import { createdToken, token, tokenCreate, tokenUpdate } from '../src/resources/tokens/schema';

/**
 * What the zod schemas do not say of themselves: a name, a description, what the fields mean, and an
 * example. It stands here and not in the schemas, because the Worker has no use for it.
 */

/** A field without a description does not compile. */
type Fields<Schema extends z.ZodType> = Record<keyof z.input<Schema>, string>;

const MADE_BY_SERVICE = 'Set by the service.';
const ACCOUNT = 'Account on the platform or market: its id.';
const ACCOUNT_NAME = 'Account on the platform or market: its name.';
const ALWAYS_NULL = 'Always null.';

/** What the fields mean, once for all bodies that have them. */

const PRODUCT: Fields<typeof product> = {
  id: 'Set by the service, and never used again. Programs are compiled with it.',
  name: 'Need not be unique.',
  description: 'Free text.',
  productType: 'What kind of program it is.',
  productTypeOther: 'Free text, for the product type `OTHER`.',
  createdDate: MADE_BY_SERVICE,
  updatedDate: MADE_BY_SERVICE,
  defaultMaxIPs: '`maxIPs` of licenses that name none; 5 unless set.',
  defaultMaxHWIDs: '`maxHWIDs` of licenses that name none; 5 unless set.',
  roleId: 'A role on the chat service.',
  purchaseRoleId: 'A role on the chat service, for buyers.',
  url: 'The page of the product.',
  imageUrl: 'The image of the product.',
};

const LICENSE: Fields<typeof license> = {
  id: MADE_BY_SERVICE,
  licenseKey: 'Made by the service, and compared without regard to case. It cannot be changed.',
  productId: 'The product that it is for.',
  productIdString: 'The same as text.',
  licenseType: '`TEMPORARY` needs an `expiryDate`, `PERMANENT` has none.',
  licensePlatform: 'Where it was bought.',
  licensePlatformOther: 'Free text, for the platform `OTHER`.',
  ownerPlatformId: 'The id of the owner there.',
  createdDate: MADE_BY_SERVICE,
  updatedDate: MADE_BY_SERVICE,
  expiryDate: 'From this millisecond on it is `EXPIRED`. Taken as ISO 8601, or as a date alone.',
  maxIPs: 'How many addresses may use it: -1 is unlimited, 0 none.',
  maxHWIDs: 'How many hardware IDs may use it: -1 is unlimited, 0 none.',
  totalRequests: 'How many validations were recorded.',
  ownerChatId: 'The id of the owner on the chat service.',
  ownerChatUsername: 'The name of the owner on the chat service.',
  licenseStatus: '`EXPIRED` follows from `expiryDate`; to write it is to write `ACTIVE`.',
  hwids: 'The bound hardware IDs, in the order in which they were bound. `[]` frees all.',
  ips: 'The bound addresses, in the order in which they were bound. `[]` frees all.',
  notes: 'For administrators.',
  customer: 'Who owns it, as the owner fields tell; set by the service.',
};

const BLACKLIST: Fields<typeof blacklist> = {
  id: MADE_BY_SERVICE,
  licenseDataType: 'What is blocked.',
  data: 'An address, a CIDR range, or a hardware ID. Addresses are kept in canonical form.',
  isForAllProducts: 'Whether it blocks all products, or only `productId`.',
  productId: 'The product that it is for; null where it is for all.',
  reason: 'For administrators: in the history, never in the answer to a program.',
  createdAt: MADE_BY_SERVICE,
  updatedAt: MADE_BY_SERVICE,
};

const REQUEST: Fields<typeof request> = {
  id: 'Grows with time.',
  licenseId: 'Null for a key that no license has.',
  licenseKey: 'As it was sent.',
  productId: 'As it was sent.',
  productVersion: 'As it was sent.',
  ip: 'The address that was checked: of the body, else of the connection.',
  hwid: 'As it was sent.',
  macAddress: 'As it was sent.',
  operatingSystem: 'As it was sent.',
  operatingSystemVersion: 'As it was sent.',
  operatingSystemArchitecture: 'As it was sent.',
  javaVersion: 'As it was sent.',
  requestDate: 'When it arrived.',
  requestType: 'Through which interface it came.',
  responseType: 'What it came to.',
  blockReason: 'The reason of the blacklist entry that blocked it.',
  notes: ALWAYS_NULL,
  remarks: 'What was wrong with the request, and the like.',
  valid: 'Whether the license was valid.',
  successful: 'False where the service itself failed.',
  rateLimited: 'Whether it was over a rate limit.',
  blocked: 'Whether a blacklist entry blocked it.',
  spam: 'Whether its address asked for too many unknown keys.',
};

const CUSTOMER: Fields<typeof customer> = {
  id: MADE_BY_SERVICE,
  firstName: 'First name.',
  lastName: 'Last name.',
  username: 'Name of the account.',
  email: 'Unique without regard to case.',
  phoneNumber: 'Free text.',
  profilePictureUrl: 'Address of a picture.',
  passwordHash: ALWAYS_NULL,
  role: 'Free text.',
  status: 'Free text.',
  createdAt: MADE_BY_SERVICE,
  lastLoginAt: ALWAYS_NULL,
  chatId: 'Account on the chat service: its id.',
  chatUsername: 'Account on the chat service: its name.',
  chatAvatarUrl: 'Account on the chat service: its picture.',
  chatAccessToken: ALWAYS_NULL,
  chatRefreshToken: ALWAYS_NULL,
  chatTokenExpiry: ALWAYS_NULL,
  platformAId: ACCOUNT,
  platformAUsername: ACCOUNT_NAME,
  platformBId: ACCOUNT,
  platformBUsername: ACCOUNT_NAME,
  platformCId: ACCOUNT,
  platformCUsername: ACCOUNT_NAME,
  marketAId: ACCOUNT,
  marketAUsername: ACCOUNT_NAME,
  marketBId: ACCOUNT,
  marketBUsername: ACCOUNT_NAME,
};

const TOKEN: Fields<typeof createdToken> = {
  id: MADE_BY_SERVICE,
  name: 'Whose it is.',
  intents: 'What it may do.',
  expiresAt: 'From this millisecond on it is refused; null for never.',
  lastUsedAt: 'To within five minutes.',
  createdAt: MADE_BY_SERVICE,
  updatedAt: MADE_BY_SERVICE,
  token: 'The secret, shown this once.',
};

const VALIDATION_REQUEST: Fields<typeof validationRequest> = {
  licenseKey: 'The key, compared without regard to case.',
  productId: 'The product that the program is.',
  productVersion: 'For the history.',
  hwid: 'The hardware ID to check and bind.',
  ip: 'The address to check and bind; without one, the connecting address.',
  operatingSystem: 'For the history.',
  osVersion: 'For the history.',
  osArchitecture: 'For the history.',
  javaVersion: 'For the history.',
  macAddress: 'For the history.',
  operatingSystemVersion: 'Another name of `osVersion`; it wins where both are sent.',
  operatingSystemArchitecture: 'Another name of `osArchitecture`; it wins where both are sent.',
};

const ANSWER: Fields<typeof validAnswer> & Fields<typeof refusal> = {
  valid: 'Whether the license is valid. So says the status: 200 and nothing else is yes.',
  message: 'Why.',
  hardwareLocked: 'Whether the license limits hardware IDs.',
  iPLocked: 'Whether the license limits addresses.',
  expiryDate: 'UTC without an offset; null for a license that never expires.',
  maxIPs: 'How many addresses may use it; -1 is unlimited.',
  maxHWIDs: 'How many hardware IDs may use it; -1 is unlimited.',
  totalRequests: 'Validations of this license with this one, as far as this location knows.',
};

const IMPORT_REQUEST: Fields<typeof importRequest> = {
  kind: 'What the items are. Products come before customers, licenses and blacklist entries.',
  items: 'At most 200, as GET shows them. A field that is left out, null or empty has its default.',
  dryRun: 'Checks everything and writes nothing.',
  assumedProductIds: 'Products that a dry run takes for existing, besides those that are there.',
};

const IMPORT_ANSWER: Fields<typeof importAnswer> = {
  results: 'In the order of the items.',
  ignoredFields: 'The fields of items that hold something and are not taken, each once.',
};

const IMPORT_RESULT: Fields<typeof importResult> = {
  outcome:
    '`created`; `unchanged` where it was there; `kept` where it was there with other values, which stay; or `refused`.',
  id: 'Its id here; null where it was refused, or would get a new one.',
  differences:
    'The fields in which what is stored differs from what was sent; `id` where that was taken.',
  reason: 'Why it was refused.',
};

const ERROR: Fields<typeof errorAnswer> = {
  message: 'What is wrong; for bad input it names the field.',
  accepted_intents: 'The intents that open the endpoint; any one of them does.',
};

const productExample = {
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
} as const satisfies z.input<typeof productCreate>;

const licenseExample = {
  productId: 602,
  licenseType: 'TEMPORARY',
  licensePlatform: 'MARKET_A',
  licensePlatformOther: '',
  ownerPlatformId: '48213',
  maxIPs: 2,
  maxHWIDs: -1,
  ownerChatId: '280497242714931202',
  ownerChatUsername: 'ada',
  notes: 'Bought in the summer sale',
} as const satisfies z.input<typeof licenseCreate>;

const blacklistExample = {
  licenseDataType: 'IP',
  data: '192.0.2.0/24',
  isForAllProducts: true,
  productId: null,
  reason: 'Leaked keys',
} as const satisfies z.input<typeof blacklistCreate>;

const CREATED = '2025-01-27T19:01:25.710+00:00';
const UPDATED = '2025-02-03T08:15:00.042+00:00';
const KEY = '7K2M-9QX4-B3TD-WJ8R-5HVN';

const customerExample: z.infer<typeof customer> = {
  id: 17,
  firstName: 'Ada',
  lastName: null,
  username: null,
  email: 'ada@shop.example',
  phoneNumber: null,
  profilePictureUrl: null,
  passwordHash: null,
  role: null,
  status: null,
  createdAt: CREATED,
  lastLoginAt: null,
  chatId: '280497242714931202',
  chatUsername: 'ada',
  chatAvatarUrl: null,
  chatAccessToken: null,
  chatRefreshToken: null,
  chatTokenExpiry: null,
  platformAId: null,
  platformAUsername: null,
  platformBId: null,
  platformBUsername: null,
  platformCId: null,
  platformCUsername: null,
  marketAId: '48213',
  marketAUsername: null,
  marketBId: null,
  marketBUsername: null,
};

const tokenExample: z.infer<typeof token> = {
  id: 3,
  name: 'Shop',
  intents: ['LICENSES_READ_WRITE'],
  expiresAt: null,
  lastUsedAt: UPDATED,
  createdAt: CREATED,
  updatedAt: CREATED,
};

const importExample: z.infer<typeof importResult> = {
  outcome: 'created',
  id: 5,
  differences: [],
  reason: null,
};

export interface Described {
  schema: z.ZodType;
  description: string;
  fields: Readonly<Record<string, string>>;
  example: unknown;
}

const described = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  fields: Fields<NoInfer<Schema>>,
  example: z.input<NoInfer<Schema>>,
): Described => ({ schema, description, fields, example });

/** The bodies, by their names in the document. */
export const BODIES = {
  Product: described(product, 'A product [2.1].', PRODUCT, {
    id: 602,
    ...productExample,
    createdDate: CREATED,
    updatedDate: UPDATED,
  }),
  ProductCreate: described(productCreate, 'A new product [4.2].', PRODUCT, productExample),
  ProductUpdate: described(
    productUpdate,
    'What is to change of a product: a field left out keeps its value [4.8].',
    PRODUCT,
    { name: 'Chunk Guard 2', defaultMaxIPs: 3 },
  ),
  License: described(license, 'A license [2.2].', LICENSE, {
    id: 7341,
    licenseKey: KEY,
    ...licenseExample,
    productIdString: '602',
    createdDate: CREATED,
    updatedDate: UPDATED,
    expiryDate: '2025-12-31T23:59:59.000+00:00',
    totalRequests: 128,
    licenseStatus: 'ACTIVE',
    hwids: [],
    ips: ['192.0.2.10'],
    customer: customerExample,
  }),
  LicenseCreate: described(licenseCreate, 'A new license [4.3].', LICENSE, {
    ...licenseExample,
    expiryDate: '2025-12-31T23:59:59Z',
  }),
  LicenseUpdate: described(
    licenseUpdate,
    'What is to change of a license: a field left out keeps its value [4.8].',
    LICENSE,
    { expiryDate: '2026-12-31', ips: [] },
  ),
  BlacklistEntry: described(blacklist, 'What is blocked [2.3].', BLACKLIST, {
    id: 5,
    ...blacklistExample,
    createdAt: CREATED,
    updatedAt: UPDATED,
  }),
  BlacklistEntryCreate: described(
    blacklistCreate,
    'What is to be blocked [4.4].',
    BLACKLIST,
    blacklistExample,
  ),
  BlacklistEntryUpdate: described(
    blacklistUpdate,
    'What is to change of an entry: a field left out keeps its value [4.8].',
    BLACKLIST,
    { reason: 'Charged back', isForAllProducts: false, productId: 602 },
  ),
  LicenseRequest: described(request, 'A validation in the history [2.4].', REQUEST, {
    id: 7251896140267520,
    licenseId: 7341,
    licenseKey: KEY,
    productId: 602,
    productVersion: '1.4.2',
    ip: '192.0.2.99',
    hwid: null,
    macAddress: null,
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.1.0',
    operatingSystemArchitecture: 'amd64',
    javaVersion: '21.0.5',
    requestDate: UPDATED,
    requestType: 'V1_VALIDATE',
    responseType: 'MAX_IPS_REACHED',
    blockReason: null,
    notes: null,
    remarks: null,
    valid: false,
    successful: true,
    rateLimited: false,
    blocked: false,
    spam: false,
  }),
  Customer: described(customer, 'Somebody who owns licenses [2.5].', CUSTOMER, customerExample),
  CustomerUpdate: described(
    customerUpdate,
    'What is to change of a customer: a field left out keeps its value [4.8].',
    CUSTOMER,
    { firstName: 'Ada', email: 'ada@shop.example' },
  ),
  Token: described(token, 'An API token, without its secret [5].', TOKEN, tokenExample),
  TokenCreate: described(tokenCreate, 'A new API token [5].', TOKEN, {
    name: 'Shop',
    intents: ['LICENSES_READ_WRITE'],
    expiresAt: null,
  }),
  TokenUpdate: described(
    tokenUpdate,
    'What is to change of a token: a field left out keeps its value [4.8].',
    TOKEN,
    { intents: ['LICENSES_READ'] },
  ),
  CreatedToken: described(createdToken, 'An API token, with its secret [5].', TOKEN, {
    ...tokenExample,
    lastUsedAt: null,
    token: 'licet_3q2-7wAAC1f4dKZkq0s8yX9pLmNvBcRtYuIoPaSdFgH',
  }),
  ValidationRequest: described(
    validationRequest,
    'What a program asks [4.7]. Fields that are not known are ignored, numbers are taken for text.',
    VALIDATION_REQUEST,
    {
      licenseKey: KEY,
      productId: 602,
      productVersion: '1.4.2',
      hwid: '4c4c4544-0051',
      ip: '192.0.2.10',
    },
  ),
  ValidAnswer: described(validAnswer, 'The license may run [4.7].', ANSWER, {
    valid: true,
    message: 'License is valid',
    hardwareLocked: true,
    iPLocked: true,
    expiryDate: '2025-12-31T23:59:59',
    maxIPs: 2,
    maxHWIDs: 5,
    totalRequests: 128,
  }),
  Refusal: described(refusal, 'It may not, and nothing but that is told [4.7].', ANSWER, {
    valid: false,
    message: 'Max IPs reached',
  }),
  ImportRequest: described(
    importRequest,
    'What another service has, of one kind.',
    IMPORT_REQUEST,
    {
      kind: 'blacklists',
      items: [{ id: 5, ...blacklistExample, createdAt: CREATED, updatedAt: UPDATED }],
      dryRun: true,
      assumedProductIds: [],
    },
  ),
  ImportAnswer: described(importAnswer, 'What became of the items.', IMPORT_ANSWER, {
    results: [importExample],
    ignoredFields: [],
  }),
  ImportResult: described(importResult, 'What became of an item.', IMPORT_RESULT, importExample),
  Error: described(errorAnswer, 'Why v2 refuses [7].', ERROR, {
    message: 'maxIPs must be at least -1',
    accepted_intents: ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  }),
};
export type BodyName = keyof typeof BODIES;

const isBodyName = (name: string): name is BodyName => name in BODIES;
export const BODY_NAMES = Object.keys(BODIES).filter(isBodyName);

/** The enumerations, by the names of the interface [2.6]. */
const ENUMERATIONS: Readonly<Record<string, readonly [schema: z.ZodType, description: string]>> = {
  ProductType: [productType, 'What kind of program a product is.'],
  LicenseType: [licenseType, 'Whether a license expires.'],
  LicenseStatus: [licenseStatus, 'Whether a license is good.'],
  LicensePlatform: [licensePlatform, 'Where a license was bought.'],
  LicenseDataType: [licenseDataType, 'What a blacklist entry blocks.'],
  ApiIntent: [apiIntent, 'A permission that a token can hold [5].'],
  RequestType: [requestType, 'Through which interface a validation came.'],
  ResponseType: [responseType, 'What a validation came to.'],
};

/** What the parameters of paths and queries mean. */
export const PARAMETERS: Readonly<Record<string, string>> = {
  id: 'The id of the object.',
  limit: 'How many to answer at most.',
  after: 'The id of the last object of the page before.',
  q: 'Text to find, such as `guard`, without regard to the case of A to Z.',
  productType: 'Only products of this type.',
  licenseStatus: 'Only licenses with this status. `DELETED` ones are in no list without it.',
  licenseType: 'Only licenses of this type.',
  licenseDataType: 'Only entries of this type.',
  productId: 'Only what is for this product.',
  licenseKey: 'A license key, without regard to case.',
  email: 'The e-mail of a customer, without regard to case.',
  platform: 'Where the licenses were bought.',
  platformId: 'The id of the owner there.',
  customerId: 'The id of a customer.',
  chatId: 'The id of the owner on the chat service.',
  ip: 'Only requests from this address, such as `192.0.2.10`.',
  hwid: 'Only requests with this hardware ID.',
  valid: 'Only requests that were valid, or only those that were not.',
  from: 'Only requests from this time on: ISO 8601, such as `2026-11-20T18:00:00Z`, or a date alone.',
  to: 'Only requests up to this time, itself included: ISO 8601, or a date alone, its first moment.',
};

/** What they look like, by the same names. */
export const PARAMETER_EXAMPLES: Readonly<Record<string, unknown>> = {
  id: 1,
  limit: 100,
  after: 602,
  q: 'guard',
  productId: 1,
  licenseKey: '7K2M-9QX4-B3TD-WJ8R-5HVN',
  email: 'ada@shop.example',
  platform: 'MARKET_A',
  platformId: '48213',
  customerId: 1,
  chatId: '280497242714931202',
  ip: '192.0.2.10',
  hwid: '1f0c3a5e-4b7d-4c1e-9a63-7d2f8e5b0c94',
  valid: false,
  from: '2026-11-20T18:00:00Z',
  to: '2026-11-21',
};

/** What the schemas of paths and queries, where all is text, stand for. */
const PARAMETER_TYPES: readonly (readonly [schema: z.ZodType, type: object])[] = [
  [idText, { type: 'integer', minimum: 1 }],
  [booleanText, { type: 'boolean' }],
  [pageQuery.limit.unwrap(), { type: 'integer', minimum: 1, maximum: MAX_LIMIT }],
  [pageQuery.after.unwrap(), { type: 'integer', minimum: 0 }],
];

/** Puts what the schemas do not say of themselves where zod-openapi looks for it. */
export function registerMetadata(): void {
  for (const [name, { schema, description }] of Object.entries(BODIES)) {
    z.globalRegistry.add(schema, { id: name, description });
  }
  for (const [name, [schema, description]] of Object.entries(ENUMERATIONS)) {
    z.globalRegistry.add(schema, { id: name, description });
  }
  for (const [schema, type] of PARAMETER_TYPES) {
    z.globalRegistry.add(schema, {
      override: ({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        delete jsonSchema.pattern;
        delete jsonSchema.enum;
        Object.assign(jsonSchema, type);
      },
    });
  }
  z.globalRegistry.add(wireTimestamp, { format: 'date-time' });
  z.globalRegistry.add(mustNotBeSent, { description: 'Set by the service: must not be sent.' });
  z.globalRegistry.add(ignored, { description: 'Set by the service: taken, and not changed.' });
}
