import { LABELLED_PLATFORMS } from '@licet/contract/enums';
import { wireTimestamp } from '@licet/contract/time';
import * as z from 'zod';
import { MAX_LIMIT, pageQuery } from '../src/http/pagination.ts';
import { errorResponse } from '../src/http/responses.ts';
import { customerItem } from '../src/import/items.ts';
import { importRequest, importResponse, importResult } from '../src/import/schema.ts';
import {
  apiIntent,
  booleanText,
  daysText,
  eventResource,
  eventType,
  idText,
  ignored,
  licenseDataType,
  licensePlatform,
  licenseStatus,
  licenseType,
  MAX_DAYS,
  mustNotBeSent,
  productType,
  requestType,
  responseType,
} from '../src/lib/fields.ts';
import { ecPublicKey, keySet, rsaPublicKey } from '../src/lib/signing-keys.ts';
import { firstIdAt } from '../src/lib/time-id.ts';
import { installation } from '../src/requests/installations.ts';
import { request } from '../src/requests/schema.ts';
import { signingKeyUse } from '../src/requests/signing-key-uses.ts';
import {
  expiryStatistics,
  gap,
  licenseStatistics,
  productStatistics,
  statistics,
  statisticsStep,
  versionStatistics,
} from '../src/requests/statistics-schema.ts';
import {
  entry,
  entryCreate,
  entryFields,
  entryUpdate,
  toEntry,
} from '../src/resources/blacklists/schema.ts';
import {
  customer,
  customerCreate,
  customerFields,
  customerUpdate,
  toCustomer,
} from '../src/resources/customers/schema.ts';
import { event, eventActor, eventChange } from '../src/resources/events/schema.ts';
import type { Fields } from '../src/resources/fields.ts';
import {
  license,
  licenseBatch,
  licenseBatchFields,
  licenseBodyFields,
  licenseCreate,
  licenseFields,
  licenseUpdate,
} from '../src/resources/licenses/schema.ts';
import {
  product,
  productCreate,
  productFields,
  productUpdate,
  toProduct,
} from '../src/resources/products/schema.ts';
import {
  createdToken,
  createdTokenFields,
  ownToken,
  token,
  tokenCreate,
  tokenUpdate,
} from '../src/resources/tokens/schema.ts';
import { invalidResponse, validResponse } from '../src/validation/response.ts';

/**
 * The bodies of the OpenAPI document: their names, descriptions and examples. The fields of a resource have
 * their descriptions in `src/resources`; those of all other bodies are here.
 */

/** The description of each field; a field without one does not compile. */
type Descriptions<Schema extends z.ZodType> = Record<keyof z.input<Schema>, string>;

/** The fields of the bodies that belong to no resource. */

const REQUEST: Descriptions<typeof request> = {
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
  requestType: 'The interface of the request.',
  responseType: 'The outcome.',
  blockReason: 'The reason of the blacklist entry that blocked it.',
  notes: 'Always null.',
  remarks: 'Remarks, such as the error in the request.',
  valid: 'Whether the license was valid.',
  successful: 'False if the service failed.',
  rateLimited: 'Whether it was over a rate limit.',
  blocked: 'Whether a blacklist entry blocked it.',
  spam: 'Whether its address sent too many unknown keys.',
};

const INSTALLATION: Descriptions<typeof installation> = {
  id: 'For `after`.',
  ip: 'The address that was checked.',
  hwid: 'As it was sent.',
  productVersion: 'As it was sent.',
  operatingSystem: 'As it was sent.',
  operatingSystemVersion: 'As it was sent.',
  operatingSystemArchitecture: 'As it was sent.',
  javaVersion: 'As it was sent.',
  macAddress: 'As it was sent.',
  firstSeen: 'When it asked for the first time.',
  lastSeen: 'When it asked for the last time.',
  requests: 'Number of its recorded validations, without those over a rate limit.',
};

const CREATED = '2025-01-27T19:01:25.710+00:00';
const UPDATED = '2025-02-03T08:15:00.042+00:00';

const STATISTICS: Descriptions<typeof statistics> = {
  from: 'The first millisecond of the first step.',
  to: 'The last millisecond of the last step.',
  step: 'The length of a step.',
  series: 'All steps, the oldest first.',
  products: 'The 10 products with the most active licenses, or the one that was asked for.',
  licenses: 'The licenses by status.',
  versions: 'The 20 most frequent versions of each of these products.',
  expiries: 'The licenses that expire in the next 26 weeks, by day in UTC.',
  gaps: 'Hours in which requests of any product are missing in the history and in `series`; usually empty.',
};

const OF_OUTCOME = 'Validations with this outcome; absent if there are none.';

const STATISTICS_STEP: Descriptions<typeof statisticsStep> = {
  time: 'The first millisecond of the step.',
  INVALID_REQUEST: OF_OUTCOME,
  RATE_LIMITED: OF_OUTCOME,
  IP_BLACKLISTED: OF_OUTCOME,
  HWID_BLACKLISTED: OF_OUTCOME,
  LICENSE_NOT_FOUND: OF_OUTCOME,
  PRODUCT_MISMATCH: OF_OUTCOME,
  LICENSE_DELETED: OF_OUTCOME,
  LICENSE_DEACTIVATED: OF_OUTCOME,
  LICENSE_EXPIRED: OF_OUTCOME,
  MAX_IPS_REACHED: OF_OUTCOME,
  MAX_HWIDS_REACHED: OF_OUTCOME,
  VALID: OF_OUTCOME,
  ERROR: OF_OUTCOME,
};

const PRODUCT_STATISTICS: Descriptions<typeof productStatistics> = {
  productId: 'The id of the product.',
  productName: 'The name of the product.',
  active: 'Its active licenses.',
  validations: 'The validations of its licenses in the period, whatever their outcome.',
};

const LICENSE_STATISTICS: Descriptions<typeof licenseStatistics> = {
  countedAt: 'When the licenses were counted.',
  active: 'Licenses that are `ACTIVE`.',
  activeBefore: 'Those that were active on the first day of the period; null if unknown.',
  deactivated: 'Licenses that are `DEACTIVATED`.',
  expired: 'Licenses that are `EXPIRED`.',
};

const VERSION_STATISTICS: Descriptions<typeof versionStatistics> = {
  productId: 'The id of the product.',
  productVersion: 'As programs sent it; null for those that sent none.',
  installations: 'The installations of this version.',
};

const EXPIRY_STATISTICS: Descriptions<typeof expiryStatistics> = {
  date: 'The day, in UTC.',
  licenses: 'The licenses that expire on it.',
};

const GAP: Descriptions<typeof gap> = {
  time: 'The first millisecond of the hour.',
  requests: 'The requests that were given up, because the database did not store their records.',
};

const stepExample: z.infer<typeof statisticsStep> = {
  time: '2025-02-03T08:00:00.000+00:00',
  VALID: 120,
  LICENSE_EXPIRED: 3,
};
const productStatisticsExample = {
  productId: 1,
  productName: 'Chunk Guard',
  active: 210,
  validations: 123,
};
const licenseStatisticsExample = {
  countedAt: UPDATED,
  active: 210,
  activeBefore: 204,
  deactivated: 4,
  expired: 17,
};
const versionExample = { productId: 1, productVersion: '1.4.2', installations: 180 };
const expiryExample = { date: '2025-02-14', licenses: 6 };
const gapExample = { time: '2025-02-03T08:00:00.000+00:00', requests: 250 };

/** The documented body of a validation [4.7]. Decision 1.2 has the values that are accepted beyond it. */
export const validationRequest = z.object({
  licenseKey: z.string().min(1),
  productId: z.int(),
  productVersion: z.string().nullish(),
  hwid: z.string().max(512).nullish(),
  ip: z.string().nullish(),
  operatingSystem: z.string().nullish(),
  osVersion: z.string().nullish(),
  osArchitecture: z.string().nullish(),
  javaVersion: z.string().nullish(),
  macAddress: z.string().nullish(),
  operatingSystemVersion: z.string().nullish(),
  operatingSystemArchitecture: z.string().nullish(),
  nonce: z
    .string()
    .regex(/^[\w-]{16,128}$/)
    .nullish(),
  kid: z.string().nullish(),
  lease: z.boolean().nullish(),
});

const VALIDATION_REQUEST: Descriptions<typeof validationRequest> = {
  licenseKey: 'The key, compared without regard to case.',
  productId: 'The id of the product that the program belongs to.',
  productVersion: 'For the history.',
  hwid: 'The hardware ID to check and bind.',
  ip: 'The address to check and bind; without one, the connecting address.',
  operatingSystem: 'For the history.',
  osVersion: 'For the history.',
  osArchitecture: 'For the history.',
  javaVersion: 'For the history.',
  macAddress: 'For the history.',
  operatingSystemVersion: 'Another name of `osVersion`, and used if both are sent.',
  operatingSystemArchitecture: 'Another name of `osArchitecture`, and used if both are sent.',
  nonce:
    'At least 128 random bits as base64url: asks for a signed response. Ignored by a service without signing keys.',
  kid: 'With a nonce: the signing key that the program knows; without one, the default key.',
  lease: 'With a nonce and a hardware ID: true asks for a lease.',
};

const OWN_TOKEN: Descriptions<typeof ownToken> = {
  id: 'Null for ROOT_TOKEN.',
  name: 'The name of the user or program; `root` for ROOT_TOKEN.',
  intents: 'The permissions.',
  expiresAt: 'From this millisecond on it is refused; null for never.',
};

const RESPONSE: Descriptions<typeof validResponse> & Descriptions<typeof invalidResponse> = {
  valid:
    'Whether the license is valid, as the status says: 200 means valid, any other status invalid.',
  message: 'Why.',
  hardwareLocked: 'Whether the license limits hardware IDs.',
  iPLocked: 'Whether the license limits addresses.',
  expiryDate: 'UTC without an offset; null for a license that never expires.',
  maxIPs: 'Maximum number of addresses; -1 is unlimited.',
  maxHWIDs: 'Maximum number of hardware IDs; -1 is unlimited.',
  totalRequests: 'Validations of this license, including this one, as far as this location knows.',
  signed:
    'With a nonce, and unless the request itself was rejected: a JWS in compact form (`docs/signing.md`).',
  lease:
    'On request, if the product has offline days: a JWS to start with while the network is down.',
};

const PUBLIC_KEY = {
  kty: 'The type of the key.',
  kid: 'Its name, which a program sends.',
  alg: 'The algorithm of its signatures.',
  use: 'Always `sig`.',
};

const SIGNING_KEY_USE: Descriptions<typeof signingKeyUse> = {
  kid: 'The name of the key.',
  callers: 'Machines and program versions that have asked for it.',
  lastSeen: 'When one of them was seen last, as of the last fold: up to a day ago.',
};

const EC_PUBLIC_KEY: Descriptions<typeof ecPublicKey> = {
  ...PUBLIC_KEY,
  crv: 'The curve.',
  x: 'As base64url.',
  y: 'As base64url.',
};

const RSA_PUBLIC_KEY: Descriptions<typeof rsaPublicKey> = {
  ...PUBLIC_KEY,
  n: 'The modulus of 2,048 bits, as base64url.',
  e: 'The exponent, 65537.',
};

const EC_KEY_EXAMPLE = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  kid: 'es-1',
  alg: 'ES256',
  use: 'sig',
} as const;

const KEY_SET: Descriptions<typeof keySet> = {
  keys: 'Public keys as JWK, the default key first. Empty for a service that does not sign.',
};

const IMPORT_REQUEST: Descriptions<typeof importRequest> = {
  kind: 'The kind of the items. Products come before customers, licenses and blacklist entries.',
  items: 'At most 200, as GET shows them. A field that is omitted, null or empty has its default.',
  dryRun: 'Checks everything and writes nothing.',
  assumedProductIds: 'Products that a dry run assumes to exist.',
};

const IMPORT_RESPONSE: Descriptions<typeof importResponse> = {
  results: 'In the order of the items.',
  ignoredFields: 'The ignored fields that have a value, each once.',
  createdOwners:
    'The customers that were created as owners of licenses. A dry run counts them again in each request.',
};

const EVENT: Descriptions<typeof event> = {
  id: 'Its id, which grows with the time.',
  time: 'The time of the change.',
  type: 'The resource and its change. `license.slots_freed`: fewer addresses or hardware IDs are bound.',
  actor: 'The sender of the change.',
  ip: 'The address from which the request came; null if it is unknown.',
  resourceType: 'The kind of object.',
  resourceId: 'Its id; null for many objects at once, and for a session.',
  changes:
    'The fields that changed, with `customerId` for the owner of a license, and `count` for the objects of a batch or an import. A license key is cut to its last group; a secret is never shown. Long values are shortened. Null without fields.',
};

const EVENT_ACTOR: Descriptions<typeof eventActor> = {
  tokenId: 'The id of the token; null for `ROOT_TOKEN`.',
  tokenName: 'The name of the token, `root` for `ROOT_TOKEN`.',
  isConsole: 'Whether the change was made in the console.',
};

const EVENT_CHANGE: Descriptions<typeof eventChange> = {
  before: 'The value before; null for a new object.',
  after: 'The value after; null for a deleted object.',
};

const IMPORT_RESULT: Descriptions<typeof importResult> = {
  outcome:
    '`created`; `unchanged` if it existed; `kept` if it existed with other values, which stay; or `refused`.',
  id: 'Its id; null if it was refused, or would get a new one.',
  differences:
    'The fields in which the stored object differs from the item; `id` if that was in use.',
  reason: 'The reason, if it was refused.',
};

const platformLabel = z.strictObject({ platform: z.enum(LABELLED_PLATFORMS), label: z.string() });

const PLATFORM_LABEL: Descriptions<typeof platformLabel> = {
  platform: 'The name, which all other endpoints take and return.',
  label: 'The label that people see: the name, if none is set.',
};

const ERROR: Descriptions<typeof errorResponse> = {
  message: 'The error; for bad input with the name of the field.',
  accepted_intents: 'The intents that open the endpoint. One of them is enough.',
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
} satisfies z.input<typeof productCreate>;

const licenseExample = {
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
} as const satisfies z.input<typeof licenseCreate>;

const entryExample = {
  licenseDataType: 'IP',
  data: '192.0.2.0/24',
  isForAllProducts: true,
  productId: null,
  reason: 'Leaked keys',
} as const satisfies z.input<typeof entryCreate>;

const KEY = '7K2M-9QX4-B3TD-WJ8R-5HVN';

const eventChangeExample = { before: CREATED, after: UPDATED };
const eventActorExample = { tokenId: 3, tokenName: 'Support', isConsole: true };

const STORED = {
  createdAt: Date.parse(CREATED),
  updatedAt: Date.parse(UPDATED),
  revision: 1,
};

const customerExample = toCustomer({
  ...customerItem.parse({
    firstName: 'Ada',
    email: 'ada@shop.example',
    chatId: '280497242714931202',
    chatUsername: 'ada',
    marketAId: '48213',
  }),
  ...STORED,
  id: 17,
  emailNormalized: null,
  otherAccountId: null,
});

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

/** A body of a resource, whose fields describe themselves. */
const ofResource = <Schema extends z.ZodType>(
  fields: Fields,
  schema: Schema,
  description: string,
  example: z.input<NoInfer<Schema>>,
): Described => ({
  schema,
  description,
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, field.description]),
  ),
  example,
});

const described = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  fields: Descriptions<NoInfer<Schema>>,
  example: z.input<NoInfer<Schema>>,
): Described => ({ schema, description, fields, example });

/** The bodies, by their names in the document. */
export const BODIES = {
  Product: ofResource(
    productFields,
    product,
    'A product [2.1].',
    toProduct({ ...productCreate.parse(productExample), ...STORED, id: 1 }),
  ),
  ProductCreate: ofResource(productFields, productCreate, 'A new product [4.2].', productExample),
  ProductUpdate: ofResource(
    productFields,
    productUpdate,
    'Changes of a product: an omitted field keeps its value [4.8].',
    { name: 'Chunk Guard 2', defaultMaxIPs: 3 },
  ),
  License: ofResource(licenseFields, license, 'A license [2.2].', {
    id: 7341,
    licenseKey: KEY,
    ...licenseExample,
    productIdString: '1',
    createdDate: CREATED,
    updatedDate: UPDATED,
    expiryDate: '2035-12-31T23:59:59.000+00:00',
    totalRequests: 128,
    licenseStatus: 'ACTIVE',
    hwids: [],
    ips: ['192.0.2.10'],
    customer: customerExample,
  }),
  LicenseCreate: ofResource(licenseBodyFields, licenseCreate, 'A new license [4.3].', {
    ...licenseExample,
    expiryDate: '2035-12-31T23:59:59Z',
  }),
  LicenseBatch: ofResource(
    licenseBatchFields,
    licenseBatch,
    'New licenses that differ in their ids and keys alone.',
    { ...licenseExample, expiryDate: '2035-12-31T23:59:59Z', count: 100 },
  ),
  LicenseUpdate: ofResource(
    licenseBodyFields,
    licenseUpdate,
    'Changes of a license: an omitted field keeps its value [4.8].',
    { expiryDate: '2036-12-31', ips: [] },
  ),
  BlacklistEntry: ofResource(
    entryFields,
    entry,
    'A blacklist entry [2.3].',
    toEntry({ ...entryCreate.parse(entryExample), ...STORED, id: 5 }),
  ),
  BlacklistEntryCreate: ofResource(
    entryFields,
    entryCreate,
    'A new blacklist entry [4.4].',
    entryExample,
  ),
  BlacklistEntryUpdate: ofResource(
    entryFields,
    entryUpdate,
    'Changes of an entry: an omitted field keeps its value [4.8].',
    { reason: 'Charged back', isForAllProducts: false, productId: 1 },
  ),
  LicenseRequest: described(request, 'A validation in the history [2.4].', REQUEST, {
    id: 7251896140267520,
    licenseId: 7341,
    licenseKey: KEY,
    productId: 1,
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
  Statistics: described(statistics, 'The statistics of a period.', STATISTICS, {
    from: '2025-02-03T08:00:00.000+00:00',
    to: '2025-02-03T08:59:59.999+00:00',
    step: 'hour',
    series: [stepExample],
    products: [productStatisticsExample],
    licenses: licenseStatisticsExample,
    versions: [versionExample],
    expiries: [expiryExample],
    gaps: [gapExample],
  }),
  StatisticsStep: described(
    statisticsStep,
    'The validations of an hour or a day by outcome.',
    STATISTICS_STEP,
    stepExample,
  ),
  ProductStatistics: described(
    productStatistics,
    'The statistics of a product.',
    PRODUCT_STATISTICS,
    productStatisticsExample,
  ),
  LicenseStatistics: described(
    licenseStatistics,
    'The number of licenses.',
    LICENSE_STATISTICS,
    licenseStatisticsExample,
  ),
  VersionStatistics: described(
    versionStatistics,
    'The installations of a version.',
    VERSION_STATISTICS,
    versionExample,
  ),
  ExpiryStatistics: described(
    expiryStatistics,
    'The licenses that expire on a day.',
    EXPIRY_STATISTICS,
    expiryExample,
  ),
  Gap: described(gap, 'Requests that are missing in the history.', GAP, gapExample),
  Installation: described(
    installation,
    'A machine that asked with the key of a license: one combination of all that its program sent.',
    INSTALLATION,
    {
      id: 210,
      ip: '192.0.2.10',
      hwid: '4c4c4544-0051',
      productVersion: '1.4.2',
      operatingSystem: 'Linux',
      operatingSystemVersion: '6.1.0',
      operatingSystemArchitecture: 'amd64',
      javaVersion: '21.0.5',
      macAddress: null,
      firstSeen: CREATED,
      lastSeen: UPDATED,
      requests: 128,
    },
  ),
  Customer: ofResource(customerFields, customer, 'An owner of licenses [2.5].', customerExample),
  CustomerCreate: ofResource(customerFields, customerCreate, 'A new customer.', {
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@shop.example',
  }),
  CustomerUpdate: ofResource(
    customerFields,
    customerUpdate,
    'Changes of a customer: an omitted field keeps its value [4.8].',
    { firstName: 'Ada', email: 'ada@shop.example' },
  ),
  Token: ofResource(
    createdTokenFields,
    token,
    'An API token, without its secret [5].',
    tokenExample,
  ),
  TokenCreate: ofResource(createdTokenFields, tokenCreate, 'A new API token [5].', {
    name: 'Shop',
    intents: ['LICENSES_READ_WRITE'],
    expiresAt: null,
  }),
  TokenUpdate: ofResource(
    createdTokenFields,
    tokenUpdate,
    'Changes of a token: an omitted field keeps its value [4.8].',
    { intents: ['LICENSES_READ'] },
  ),
  CreatedToken: ofResource(createdTokenFields, createdToken, 'An API token, with its secret [5].', {
    ...tokenExample,
    lastUsedAt: null,
    token: 'licet_3q2-7wAAC1f4dKZkq0s8yX9pLmNvBcRtYuIoPaSdFgH',
  }),
  PlatformLabel: described(platformLabel, 'The label of a platform.', PLATFORM_LABEL, {
    platform: 'MARKET_A',
    label: 'SpigotMC',
  }),
  OwnToken: described(ownToken, 'The token of the request [5].', OWN_TOKEN, {
    id: 3,
    name: 'Shop',
    intents: ['LICENSES_READ_WRITE'],
    expiresAt: null,
  }),
  ValidationRequest: described(
    validationRequest,
    'The request of a program [4.7]. Unknown fields are ignored, and numbers are accepted as text.',
    VALIDATION_REQUEST,
    {
      licenseKey: KEY,
      productId: 1,
      productVersion: '1.4.2',
      hwid: '4c4c4544-0051',
      ip: '192.0.2.10',
    },
  ),
  ValidResponse: described(validResponse, 'The license is valid [4.7].', RESPONSE, {
    valid: true,
    message: 'License is valid',
    hardwareLocked: true,
    iPLocked: true,
    expiryDate: '2035-12-31T23:59:59',
    maxIPs: 2,
    maxHWIDs: 5,
    totalRequests: 128,
  }),
  InvalidResponse: described(
    invalidResponse,
    'The license is not valid, or the request was rejected [4.7].',
    RESPONSE,
    {
      valid: false,
      message: 'Max IPs reached',
    },
  ),
  EcPublicKey: described(ecPublicKey, 'A public key of ES256.', EC_PUBLIC_KEY, EC_KEY_EXAMPLE),
  RsaPublicKey: described(rsaPublicKey, 'A public key of RS256.', RSA_PUBLIC_KEY, {
    kty: 'RSA',
    kid: 'rs-1',
    n: `w${'A'.repeat(340)}Q`,
    e: 'AQAB',
    alg: 'RS256',
    use: 'sig',
  }),
  SigningKeyUse: described(
    signingKeyUse,
    'The number of callers that ask for a signing key.',
    SIGNING_KEY_USE,
    { kid: 'es-1', callers: 128, lastSeen: UPDATED },
  ),
  KeySet: described(keySet, 'The public halves of the signing keys (RFC 7517).', KEY_SET, {
    keys: [EC_KEY_EXAMPLE],
  }),
  ImportRequest: described(
    importRequest,
    'Objects of another service, of one kind.',
    IMPORT_REQUEST,
    {
      kind: 'blacklists',
      items: [{ id: 5, ...entryExample, createdAt: CREATED, updatedAt: UPDATED }],
      dryRun: true,
      assumedProductIds: [],
    },
  ),
  ImportResponse: described(importResponse, 'The results of an import.', IMPORT_RESPONSE, {
    results: [importExample],
    ignoredFields: [],
    createdOwners: 0,
  }),
  ImportResult: described(importResult, 'The result of one item.', IMPORT_RESULT, importExample),
  Event: described(event, 'An event: a change, and its sender [6].', EVENT, {
    id: firstIdAt(Date.parse(UPDATED)),
    time: UPDATED,
    type: 'license.updated',
    actor: eventActorExample,
    ip: '192.0.2.10',
    resourceType: 'license',
    resourceId: 50,
    changes: { expiryDate: eventChangeExample },
  }),
  EventActor: described(eventActor, 'The sender of a change.', EVENT_ACTOR, eventActorExample),
  EventChange: described(
    eventChange,
    'A field of a changed object.',
    EVENT_CHANGE,
    eventChangeExample,
  ),
  Error: described(errorResponse, 'An error of v2 [7].', ERROR, {
    message: 'maxIPs must be 0 to 1000; use -1 for unlimited',
    accepted_intents: ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  }),
};
export type BodyName = keyof typeof BODIES;

const isBodyName = (name: string): name is BodyName => name in BODIES;
export const BODY_NAMES = Object.keys(BODIES).filter(isBodyName);

/** The enumerations, by the names of the interface [2.6]. */
const ENUMERATIONS: Readonly<Record<string, readonly [schema: z.ZodType, description: string]>> = {
  ProductType: [productType, 'The kind of program.'],
  LicenseType: [licenseType, 'Whether a license expires.'],
  LicenseStatus: [licenseStatus, 'The status of a license.'],
  LicensePlatform: [
    licensePlatform,
    'The platform or market where a license was bought. `GET /api/v2/platforms` shows their labels.',
  ],
  LicenseDataType: [licenseDataType, 'The kind of value that a blacklist entry blocks.'],
  ApiIntent: [apiIntent, 'A permission that a token can hold [5].'],
  RequestType: [requestType, 'The interface of a validation.'],
  ResponseType: [responseType, 'The outcome of a validation.'],
  EventType: [eventType, 'A kind of resource, and its change.'],
  EventResource: [eventResource, 'The kind of an object that an event is about.'],
};

/** The descriptions of the parameters of paths and queries. */
export const PARAMETERS: Readonly<Record<string, string>> = {
  id: 'The id of the object.',
  limit: 'Maximum number of objects.',
  after: 'The id of the last object of the page before.',
  q: 'Text to find, such as `guard`, without regard to the case of A to Z.',
  productType: 'Only products of this type.',
  licenseStatus: 'Only licenses with this status. `DELETED` ones are in no list without it.',
  licenseType: 'Only licenses of this type.',
  licenseDataType: 'Only entries of this type.',
  productId: 'Only objects of this product.',
  licenseKey: 'A license key, without regard to case.',
  email: 'The e-mail of a customer, without regard to case.',
  platform: 'Where the licenses were bought.',
  platformId: 'The id of the owner there.',
  customerId: 'The id of a customer.',
  chatId: 'The id of the owner on the chat service.',
  ip: 'Only requests from this address, such as `192.0.2.10`.',
  hwid: 'Only requests with this hardware ID.',
  valid: 'Only requests that were valid, or only those that were not.',
  expiresFrom: 'Only licenses that expire at this time or later: ISO 8601, or a date alone.',
  expiresTo: 'Only licenses that expire at this time or earlier.',
  unused: 'Only licenses without a validation, or only those with one.',
  dormantDays: 'Only licenses that were used before, and not within this number of days.',
  full: 'Only licenses without a free slot for an address or a hardware ID, or only the others.',
  sort: 'The order; `-` is descending. `expiryDate` lists only licenses that expire, and is the default with `expiresFrom` or `expiresTo`. Otherwise `id` is the default.',
  step: 'The length of a step.',
  total: 'Without `X-Total-Count` if false: a page of a large list then takes less time.',
  type: 'Only events of this type.',
  resourceType: 'Only events of this kind of object.',
  resourceId: 'Only events of the object with this id; needs `resourceType` to be found fast.',
  tokenId: 'Only changes that came with this token.',
  from: 'Only from this time on: ISO 8601, such as `2026-11-20T18:00:00Z`, or a date alone.',
  to: 'Only up to this time, inclusive: ISO 8601, or a date alone, which is its first millisecond.',
};

/** Examples of these parameters. */
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
  type: 'license.updated',
  resourceType: 'license',
  resourceId: 50,
  tokenId: 3,
  from: '2026-11-20T18:00:00Z',
  to: '2026-11-21',
  expiresFrom: '2026-11-20T18:00:00Z',
  expiresTo: '2026-12-20T18:00:00Z',
  unused: true,
  dormantDays: 90,
  full: true,
  sort: 'id',
  step: 'day',
  total: false,
};

/** The types of parameters, which their schemas check as text. */
const PARAMETER_TYPES: readonly (readonly [schema: z.ZodType, type: object])[] = [
  [idText, { type: 'integer', minimum: 1 }],
  [booleanText, { type: 'boolean' }],
  [daysText, { type: 'integer', minimum: 1, maximum: MAX_DAYS }],
  [pageQuery.limit.unwrap(), { type: 'integer', minimum: 1, maximum: MAX_LIMIT }],
  [pageQuery.after.unwrap(), { type: 'integer', minimum: 0 }],
];

/** Registers names and descriptions of schemas where zod-openapi looks for them. */
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
  z.globalRegistry.add(ignored, { description: 'Set by the service: accepted and ignored.' });
}
