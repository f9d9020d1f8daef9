import { entry } from '@licet/contract/blacklists';
import { customer } from '@licet/contract/customers';
import { errorResponse } from '@licet/contract/errors';
import { event } from '@licet/contract/events';
import { importResponse } from '@licet/contract/import';
import { INTENTS } from '@licet/contract/intents';
import { license } from '@licet/contract/licenses';
import { platformLabel } from '@licet/contract/platforms';
import { product } from '@licet/contract/products';
import { installation, request, signingKeyUse } from '@licet/contract/requests';
import { keySet } from '@licet/contract/signing';
import { statistics } from '@licet/contract/statistics';
import { createdToken, ownToken, token } from '@licet/contract/tokens';
import { invalidResponse, validationRequest, validResponse } from '@licet/contract/validation';
import * as z from 'zod';
import type { ZodOpenApiParameterObject, ZodOpenApiResponseObject } from 'zod-openapi';
/** The operations of the OpenAPI document: the purpose and the responses of each route. */

export interface Operation {
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  /** The responses of this operation, without those of every guarded or checked route. */
  responses: Responses;
  /** The body of an operation whose route declares no schema. */
  body?: z.ZodType;
}

type Responses = Readonly<Record<number, ZodOpenApiResponseObject>>;

export const TAGS = {
  Validation: 'The requests of programs [4.6, 4.7].',
  Service: 'Checks of the service and of a token [4.1].',
  Products: 'The programs that are sold [4.2].',
  Licenses: 'Permissions to run a product [4.3].',
  Blacklists: 'Blocked addresses and hardware IDs [4.4].',
  Requests: 'The history of validations [4.5].',
  Statistics: 'Counts of validations, licenses and installations; an extension.',
  Customers: 'The owners of licenses [4.5].',
  Tokens: 'API tokens and their intents; an extension [5].',
  Events: 'The log of changes; an extension.',
  Import: 'Moving here from another service; an extension.',
};
export type Tag = keyof typeof TAGS;

export const HEADERS = {
  ETag: {
    description: 'The revision of the object, for `If-Match`.',
    required: true,
    schema: { type: 'string' },
    example: '"3"',
  },
  Location: {
    description: 'The path of the new object.',
    required: true,
    schema: { type: 'string' },
    example: '/api/v2/products/1',
  },
  Link: {
    description: 'The next page, if there is one; only with `limit`, except for events.',
    schema: { type: 'string' },
    example: '<https://licet.example/api/v2/products?limit=100&after=602>; rel="next"',
  },
  'X-Total-Count': {
    description: 'Number of objects on all pages; only with `limit`.',
    schema: { type: 'integer' },
    example: 128,
  },
  'Access-Control-Allow-Origin': {
    description: 'Pages of any site may read the response.',
    required: true,
    schema: { type: 'string', const: '*' },
    example: '*',
  },
  'Access-Control-Allow-Methods': {
    description: 'The method that pages may send.',
    required: true,
    schema: { type: 'string' },
    example: 'POST',
  },
  'Access-Control-Allow-Headers': {
    description: 'The headers that pages may send: those that the preflight names.',
    schema: { type: 'string' },
    example: 'content-type',
  },
  'Access-Control-Max-Age': {
    description: 'Seconds for which a browser may remember this.',
    required: true,
    schema: { type: 'integer' },
    example: 86_400,
  },
  'Retry-After': {
    description: 'Seconds to wait.',
    required: true,
    schema: { type: 'integer' },
    example: 60,
  },
} as const;

export const headers = (...names: (keyof typeof HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/**
 * The optional headers of requests. Their examples belong to their schemas, because the page `/docs` would send
 * examples of the headers themselves with every request.
 */
export const REQUEST_HEADERS = {
  IfMatch: {
    in: 'header',
    name: 'If-Match',
    description:
      'The `ETag` of the object as it was read, such as `"3"`: 412 if it has changed since.',
    schema: { type: 'string', examples: ['"3"'] },
  },
  IdempotencyKey: {
    in: 'header',
    name: 'Idempotency-Key',
    description:
      'Up to 255 characters, such as `order-4711`. The same request with the same key gets the same response for 24 hours, and creates nothing again: 422 for another request. A repetition gets 409 if the response is not kept: the secret of a token is shown once.',
    schema: { type: 'string', minLength: 1, maxLength: 255, examples: ['order-4711'] },
  },
} satisfies Record<string, ZodOpenApiParameterObject>;

/** One of the {@link REQUEST_HEADERS}, by the name of the header. */
export const requestHeader = (name: string) => ({
  $ref: `#/components/parameters/${name.replace('-', '')}`,
});

const exampleOf = (schema: z.ZodType): unknown => z.globalRegistry.get(schema)?.example;

/** A body with an example. */
export const json = (schema: z.ZodType, example = exampleOf(schema)) => ({
  'application/json': { schema, example },
});

const jsonList = (schema: z.ZodType) => ({
  'application/json': { schema: schema.array(), example: [exampleOf(schema)] },
});

const plainText = (text: string) => ({
  'text/plain': { schema: { type: 'string', const: text }, example: text } as const,
});

const error = (id: string, description: string, message: string): ZodOpenApiResponseObject => ({
  id,
  description,
  content: json(errorResponse, { message, accepted_intents: INTENTS.writeProducts }),
});

/** The errors of v2, the same for all operations [7]. */
const ERRORS = {
  400: error('BadRequest', 'Bad input; the message names the field.', 'name must not be empty'),
  401: error('Unauthorized', 'No live token.', 'Token is missing, unknown, expired or revoked'),
  403: error('Forbidden', 'The token lacks a required intent.', 'Token lacks a required intent'),
  404: error('NotFound', 'There is no such object.', 'Product not found'),
  409: error(
    'Conflict',
    'It conflicts with another object, or too many requests change it at once.',
    'Product has licenses, cannot delete',
  ),
  412: error(
    'PreconditionFailed',
    '`If-Match` does not match: the object has changed. The request changed nothing.',
    'The object has changed since it was read',
  ),
  408: error(
    'BodyTimeout',
    'The body did not arrive within 10 seconds.',
    'Body must arrive within 10 seconds',
  ),
  413: error('TooLarge', 'The body is over 1 MiB.', 'Body must be at most 1048576 bytes'),
  422: error(
    'KeyOfAnotherRequest',
    'The `Idempotency-Key` was sent with another request.',
    'Idempotency-Key was sent with another request: use a new key',
  ),
  429: {
    ...error(
      'TooManyRequests',
      'Too many requests without a live token.',
      'Too many requests without a live token',
    ),
    headers: headers('Retry-After'),
  },
  500: error('InternalError', 'The service failed.', 'Internal server error'),
  503: error(
    'Unavailable',
    'The database does not take the last requests, which may hold data to erase. A repetition is safe.',
    'The database does not take the last requests: send it again, without If-Match, to erase the history of customer 1',
  ),
};
type ErrorStatus = keyof typeof ERRORS;

const errors = (...statuses: ErrorStatus[]): Responses =>
  Object.fromEntries(statuses.map((status) => [status, ERRORS[status]]));

/** The errors of every route with intents. */
export const GUARDED = errors(401, 403, 429);
/** The errors of every route that checks a part of the request. */
export const CHECKED = errors(400);
/** The errors of every route of v2 that reads a body, except validations. */
export const WITH_BODY = errors(408, 413);

interface Resource {
  tag: Tag;
  body: z.ZodType;
  one: string;
  many: string;
  section: string;
}

const PRODUCTS: Resource = {
  tag: 'Products',
  body: product,
  one: 'a product',
  many: 'products',
  section: '[4.2]',
};
const LICENSES: Resource = {
  tag: 'Licenses',
  body: license,
  one: 'a license',
  many: 'licenses',
  section: '[4.3]',
};
const BLACKLISTS: Resource = {
  tag: 'Blacklists',
  body: entry,
  one: 'a blacklist entry',
  many: 'blacklist entries',
  section: '[4.4]',
};
const REQUESTS: Resource = {
  tag: 'Requests',
  body: request,
  one: 'a license request',
  many: 'license requests',
  section: '[4.5]',
};
const CUSTOMERS: Resource = {
  tag: 'Customers',
  body: customer,
  one: 'a customer',
  many: 'customers',
  section: '[4.5]',
};
const TOKENS: Resource = {
  tag: 'Tokens',
  body: token,
  one: 'a token',
  many: 'tokens',
  section: '[5]',
};

const EVENTS: Resource = {
  tag: 'Events',
  body: event,
  one: 'an event',
  many: 'events',
  section: '[6]',
};

const list = (
  operationId: string,
  { tag, body, many, section }: Resource,
  whose = '',
  description = 'All of them, sorted by id; with `limit` a page.',
  pageHeaders = headers('Link', 'X-Total-Count'),
): Operation => ({
  operationId,
  tag,
  summary: `List ${many}${whose}`,
  description: `${description} ${section}`,
  responses: {
    200: {
      description: `The ${many}.`,
      headers: pageHeaders,
      content: jsonList(body),
    },
    ...errors(500),
  },
});

const get = (operationId: string, { tag, body, one, section }: Resource, by = 'id'): Operation => ({
  operationId,
  tag,
  summary: `Get ${one} by its ${by}`,
  description: `Its \`ETag\` is for \`If-Match\`. ${section}`,
  responses: {
    200: { description: 'The object.', headers: headers('ETag'), content: json(body) },
    ...errors(404, 500),
  },
});

const create = (
  operationId: string,
  { tag, body, one, section }: Resource,
  description: string,
  created: z.ZodType = body,
): Operation => ({
  operationId,
  tag,
  summary: `Create ${one}`,
  description: `${description} ${section}`,
  responses: {
    201: {
      description: 'The new object.',
      headers: headers('ETag', 'Location'),
      content: json(created),
    },
    ...errors(409, 422, 500),
  },
});

const update = (operationId: string, { tag, body, one, section }: Resource): Operation => ({
  operationId,
  tag,
  summary: `Change ${one}`,
  description: `Takes what GET returns, or only the fields that change. ${section} [4.8]`,
  responses: {
    200: { description: 'The changed object.', headers: headers('ETag'), content: json(body) },
    ...errors(404, 409, 412, 500),
  },
});

const remove = (
  operationId: string,
  { tag, one, section }: Resource,
  description: string,
): Operation => ({
  operationId,
  tag,
  summary: `Delete ${one}`,
  description: `${description} ${section}`,
  responses: {
    204: { description: 'It is deleted.' },
    ...errors(404, 409, 412, 500),
  },
});

const FORGET = remove(
  'forgetCustomer',
  CUSTOMERS,
  'Erases the fields of the customer, the owner fields of the licenses that repeat them, and keys, addresses and hardware IDs in the history of these licenses. The licenses stay as they are, with their bindings and counts. 409 if a part of a long history remains: send it again.',
);

const refused = (description: string, message: string): ZodOpenApiResponseObject => ({
  description,
  content: json(invalidResponse, { valid: false, message }),
});

/** The responses of a validation under v1 and v2 [4.7]. */
const VALIDATION: Responses = {
  200: { description: 'The license is valid.', content: json(validResponse) },
  400: refused('The license is not valid, or the request is not.', 'License has expired'),
  413: refused('The body is over 16 KiB.', 'Body must be at most 16384 bytes'),
  429: {
    ...refused('Over a rate limit.', 'Too many requests'),
    headers: headers('Retry-After'),
  },
  503: refused('The service failed.', 'Service temporarily unavailable'),
};

/** The same responses, which pages of any site may read. */
const forPages = (responses: Responses): Responses =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, headers: { ...response.headers, ...headers('Access-Control-Allow-Origin') } },
    ]),
  );

const preflight = (operationId: string, method: 'GET' | 'POST'): Operation => ({
  operationId,
  tag: method === 'POST' ? 'Validation' : 'Service',
  summary: 'Allow requests from a page in a browser',
  description: 'The preflight of CORS. Pages of any site may send requests, without credentials.',
  responses: {
    204: {
      description: `Pages may send ${method}.`,
      headers: headers(
        'Access-Control-Allow-Origin',
        'Access-Control-Allow-Methods',
        'Access-Control-Allow-Headers',
        'Access-Control-Max-Age',
      ),
    },
  },
});

/** By method and path, as Hono has them. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /api/v1/validate': {
    operationId: 'validateLicense',
    tag: 'Validation',
    summary: 'Validate a license',
    description:
      'Exactly 200 means valid. `//api/v1/validate` and `/api/v1/validate/` respond in the same way, without a redirect, to any content type. [4.6]',
    body: validationRequest,
    responses: forPages(VALIDATION),
  },
  'OPTIONS /api/v1/validate': preflight('allowValidation', 'POST'),
  'POST /api/v2/validate': {
    operationId: 'validateLicenseWithToken',
    tag: 'Validation',
    summary: 'Validate a license, with a token',
    description: 'The same as under v1, with a token. [4.6]',
    body: validationRequest,
    responses: {
      ...VALIDATION,
      429: {
        description: 'Over a rate limit, or a flood without a live token.',
        headers: headers('Retry-After'),
        content: {
          'application/json': {
            schema: z.union([invalidResponse, errorResponse]),
            example: { valid: false, message: 'Too many requests' },
          },
        },
      },
    },
  },
  'GET /api/v2/healthy': {
    operationId: 'getHealth',
    tag: 'Service',
    summary: 'Check that the service runs',
    description: 'Needs no token. [4.1]',
    responses: forPages({
      200: { description: 'The service runs.', content: plainText('healthy') },
    }),
  },
  'OPTIONS /api/v2/healthy': preflight('allowHealth', 'GET'),
  'GET /.well-known/jwks.json': {
    operationId: 'getSigningKeys',
    tag: 'Validation',
    summary: 'List the public keys of signed responses',
    description:
      'Needs no token. For tools: a program has its keys built in, because whoever pretends to be this service would list their own. An extension.',
    responses: forPages({
      200: { description: 'The keys.', content: json(keySet) },
    }),
  },
  'OPTIONS /.well-known/jwks.json': {
    ...preflight('allowSigningKeys', 'GET'),
    tag: 'Validation',
  },
  'GET /api/v2/signing-keys': {
    operationId: 'listSigningKeyUses',
    tag: 'Requests',
    summary: 'Count the callers of each signing key',
    description:
      'Before a key is retired: who still asks for it. Also keys that are retired already. An extension.',
    responses: {
      200: { description: 'The keys, the last used first.', content: jsonList(signingKeyUse) },
      ...errors(500),
    },
  },
  'GET /api/v2/ping': {
    operationId: 'ping',
    tag: 'Service',
    summary: 'Check that a token is live',
    description: 'Any intent is enough. [4.1]',
    responses: {
      200: { description: 'The token is live.', content: plainText('pong') },
      ...errors(500),
    },
  },

  'GET /api/v2/platforms': {
    operationId: 'listPlatforms',
    tag: 'Service',
    summary: 'List the labels of platforms',
    description:
      'The variable `PLATFORM_LABELS` sets them, for people. All other endpoints take and return the names. Any intent is enough; an extension.',
    responses: {
      200: {
        description: 'The platforms, each with its label.',
        content: jsonList(platformLabel),
      },
      ...errors(500),
    },
  },

  'GET /api/v2/products': list('listProducts', PRODUCTS),
  'GET /api/v2/products/:id': get('getProduct', PRODUCTS),
  'POST /api/v2/products': create('createProduct', PRODUCTS, 'Omitted fields have a default.'),
  'PUT /api/v2/products/:id': update('updateProduct', PRODUCTS),
  'DELETE /api/v2/products/:id': remove(
    'deleteProduct',
    PRODUCTS,
    'All of its licenses must be `DELETED`. They are deleted with it.',
  ),

  'GET /api/v2/licenses': list('listLicenses', LICENSES),
  'GET /api/v2/licenses/:id': get('getLicense', LICENSES),
  'GET /api/v2/licenses/:id/installations': {
    operationId: 'listInstallations',
    tag: 'Licenses',
    summary: 'List the installations of a license',
    description:
      'The machines that have asked with its key, the most recently seen first: at most 1,000, with `limit` a page. Machines without a record in the history are left out. An extension.',
    responses: {
      200: {
        description: 'The installations.',
        headers: headers('Link'),
        content: jsonList(installation),
      },
      ...errors(404, 500),
    },
  },
  'POST /api/v2/licenses': create(
    'createLicense',
    LICENSES,
    'The service makes the key. Omitted limits are those of the product.',
  ),
  'POST /api/v2/licenses/batch': {
    operationId: 'createLicenses',
    tag: 'Licenses',
    summary: 'Create up to 500 licenses at once',
    description:
      'Creates `count` licenses with the same fields, each with a key of its own: all of them or none. An extension.',
    responses: {
      201: { description: 'The new licenses, sorted by id.', content: jsonList(license) },
      ...errors(409, 422, 500),
    },
  },
  'GET /api/v2/licenses/by-license-key/:licenseKey': get('getLicenseByKey', LICENSES, 'key'),
  'GET /api/v2/licenses/by-customer-email/:email': list(
    'findLicensesByCustomerEmail',
    LICENSES,
    ' of the customer with an e-mail',
  ),
  'GET /api/v2/licenses/by-platform/:platform/:platformId': list(
    'findLicensesByPlatform',
    LICENSES,
    ' of an owner on a platform',
  ),
  'GET /api/v2/licenses/by-customer-id/:customerId': list(
    'findLicensesByCustomerId',
    LICENSES,
    ' of a customer',
  ),
  'GET /api/v2/licenses/by-product-id/:productId': list(
    'findLicensesByProductId',
    LICENSES,
    ' for a product',
  ),
  'GET /api/v2/licenses/by-chat-id/:chatId': list(
    'findLicensesByChatId',
    LICENSES,
    ' of an owner on the chat service',
  ),
  'PUT /api/v2/licenses/:id': update('updateLicense', LICENSES),
  'DELETE /api/v2/licenses/:id': remove(
    'deleteLicense',
    LICENSES,
    'It is marked `DELETED`, and stays readable; a PUT with another status restores it.',
  ),

  'GET /api/v2/blacklists': list('listBlacklistEntries', BLACKLISTS),
  'GET /api/v2/blacklists/:id': get('getBlacklistEntry', BLACKLISTS),
  'POST /api/v2/blacklists': create(
    'createBlacklistEntry',
    BLACKLISTS,
    'An entry that exists already returns 409.',
  ),
  'PUT /api/v2/blacklists/:id': update('updateBlacklistEntry', BLACKLISTS),
  'DELETE /api/v2/blacklists/:id': remove(
    'deleteBlacklistEntry',
    BLACKLISTS,
    'It no longer blocks.',
  ),

  'GET /api/v2/requests': list(
    'listRequests',
    REQUESTS,
    '',
    'Newest first, at most 1,000 without `limit`. The total is not counted.',
    headers('Link'),
  ),
  'GET /api/v2/requests/:id': get('getRequest', REQUESTS),

  'GET /api/v2/statistics': {
    operationId: 'getStatistics',
    tag: 'Statistics',
    summary: 'Get the statistics of a period',
    description:
      'Validations by outcome in steps of an hour or a day, in UTC, for all products or one; without `from` and `to` the last 24 hours or 30 days. Also the licenses, the installations by version, and the licenses that expire in the next 26 weeks. The counts of licenses and installations are up to 60 seconds old. At most 90 days by hour, or 1,100 by day.',
    responses: {
      200: { description: 'The statistics.', content: json(statistics) },
      ...errors(500),
    },
  },

  'GET /api/v2/customers': list('listCustomers', CUSTOMERS),
  'GET /api/v2/customers/:id': get('getCustomer', CUSTOMERS),
  'POST /api/v2/customers': create(
    'createCustomer',
    CUSTOMERS,
    'A license creates its customer too. An e-mail or account of another customer returns 409.',
  ),
  'PUT /api/v2/customers/:id': update('updateCustomer', CUSTOMERS),
  'DELETE /api/v2/customers/:id': {
    ...FORGET,
    summary: 'Forget a customer',
    responses: { ...FORGET.responses, ...errors(503) },
  },

  'GET /api/v2/tokens': list('listTokens', TOKENS),
  'GET /api/v2/tokens/self': {
    operationId: 'getOwnToken',
    tag: 'Tokens',
    summary: 'Get the token of the request',
    description: 'Any intent is enough. An extension. [5]',
    responses: {
      200: { description: 'The token.', content: json(ownToken) },
      ...errors(500),
    },
  },
  'GET /api/v2/tokens/:id': get('getToken', TOKENS),
  'POST /api/v2/tokens': create(
    'createToken',
    TOKENS,
    'Only this response shows the secret.',
    createdToken,
  ),
  'PUT /api/v2/tokens/:id': update('updateToken', TOKENS),
  'DELETE /api/v2/tokens/:id': remove('deleteToken', TOKENS, 'It is revoked at once.'),

  'GET /api/v2/events': list(
    'listEvents',
    EVENTS,
    '',
    'The changes and their senders, newest first, at most 1,000 without `limit`. The total is not counted.',
    headers('Link'),
  ),

  'POST /api/v2/import': {
    operationId: 'importItems',
    tag: 'Import',
    summary: 'Import objects of another service',
    description:
      'Products, customers, licenses or blacklist entries, as GET shows them in any service of this interface, with their ids, keys, bindings, dates and states. Existing objects are not overwritten, so that an import can be repeated. Ids are kept if they are free; only the same object can return under the id of a deleted one. `docs/import.md` has the steps of a move.',
    responses: {
      200: { description: 'The result of each item.', content: json(importResponse) },
      ...errors(409, 500),
    },
  },
};
