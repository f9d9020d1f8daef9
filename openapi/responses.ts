import { API_INTENTS, type ApiIntent } from '@licet/contract/enums';
import { ERROR_CODES, errorResponse } from '@licet/contract/errors';
import { INTENTS } from '@licet/contract/intents';
import { MAX_MARKET_BODY_BYTES } from '@licet/contract/limits';
import { invalidResponse, validResponse } from '@licet/contract/validation';
import * as z from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { TOO_LATE, tooLarge } from '../src/http/connection.ts';
import { TOO_MANY_REJECTED } from '../src/http/errors.ts';
import type { Input } from '../src/http/input.ts';
import type { Operation, ResponseHeader, Tag } from '../src/http/operation.ts';
import { describeError, parseFields } from '../src/lib/issues.ts';

/** The responses of the OpenAPI document, and their headers. They are made of what the routes declare. */

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
    description:
      'The next page, if more objects follow; without `limit` only in lists that are not complete then, such as the history.',
    schema: { type: 'string' },
    example: '<https://licet.example/api/v2/products?limit=100&after=602>; rel="next"',
  },
  'X-Total-Count': {
    description: 'Number of objects on all pages; only with `limit`.',
    schema: { type: 'integer' },
    example: 128,
  },
  Warning: {
    description:
      'The object is stored, but may do more than was meant: a blocked hardware ID is one that many machines share.',
    schema: { type: 'string' },
    example: '299 - "Many machines share data: it is the hash of an empty text"',
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
  'Error-Code': {
    description: `The kind of the error, for programs:

${Object.entries(ERROR_CODES)
  .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
  .join('\n')}`,
    required: true,
    schema: { $ref: '#/components/schemas/ErrorCode' },
    example: 'INVALID_VALUE',
  },
  'Error-Field': {
    description: 'The invalid field or parameter, if there is exactly one.',
    schema: { type: 'string' },
    example: 'maxIPs',
  },
} as const satisfies Record<ResponseHeader | 'Retry-After' | 'Error-Code' | 'Error-Field', object>;

const headers = (...names: (keyof typeof HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

function exampleOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodType) {
    return [exampleOf(schema.element)];
  }
  return z.globalRegistry.get(schema)?.example;
}

/** A body with an example. */
export const json = (schema: z.ZodType, example = exampleOf(schema)) => ({
  'application/json': { schema, example },
});

const plainText = (text: string) => ({
  'text/plain': { schema: { type: 'string', const: text }, example: text } as const,
});

const anyText = (example: string) => ({
  'text/plain': { schema: { type: 'string' }, example } as const,
});

type Responses = Readonly<Record<number, ZodOpenApiResponseObject>>;

/** The errors of v2, the same for all operations but for their intents and their messages [7]. */
const ERRORS = {
  400: ['BadRequest', 'Bad input; the message names the field.', 'Malformed JSON in request body'],
  401: ['Unauthorized', 'No live token.', 'Token is missing, unknown, expired or revoked'],
  403: ['Forbidden', 'The token lacks a required intent.', 'Token lacks a required intent'],
  404: ['NotFound', 'There is no such object.', 'Not found'],
  409: [
    'Conflict',
    'The request conflicts with another object, or too many requests change the object at once.',
    'A request with this Idempotency-Key has succeeded, but what it created was deleted since: use a new key to create it again',
  ],
  412: [
    'PreconditionFailed',
    '`If-Match` does not match: the object has changed. The request changed nothing.',
    'The object has changed since it was read',
  ],
  408: [
    'BodyTimeout',
    'The body did not arrive within 10 seconds.',
    'Body must arrive within 10 seconds',
  ],
  413: ['TooLarge', 'The body is over 1 MiB.', 'Body must be at most 1048576 bytes'],
  415: [
    'UnsupportedEncoding',
    'The body has another `Content-Encoding` than gzip or deflate.',
    'Content-Encoding must be gzip or deflate, not "br": send the body uncompressed',
  ],
  422: [
    'KeyOfAnotherRequest',
    'The `Idempotency-Key` was sent with another request.',
    'Idempotency-Key was sent with another request: use a new key',
  ],
  429: [
    'TooManyRequests',
    'Too many requests without a live token.',
    'Too many requests without a live token',
  ],
  500: ['InternalError', 'The service failed.', 'Internal server error'],
  503: [
    'Unavailable',
    'The service could not store its last records, which may hold data to erase. The request can be repeated safely.',
    'The last records could not be stored: send the request again, without If-Match, to erase the history of customer 1',
  ],
} as const;
export type ErrorStatus = keyof typeof ERRORS;

/** The names of objects in messages. */
const NAMES: Partial<Record<Tag, string>> = {
  Products: 'Product',
  Licenses: 'License',
  Blacklists: 'Blacklist entry',
  Requests: 'License request',
  Customers: 'Customer',
  Tokens: 'Token',
  Webhooks: 'Webhook',
  Markets: 'Market',
  Purchases: 'Purchase',
};

const OF_ANOTHER_CUSTOMER = 'The e-mail or an account belongs to another customer';
const EXISTS = 'The same entry exists already';

/** The conflicts of single operations. */
const CONFLICTS: Readonly<Record<string, string>> = {
  deleteProduct: 'Product has licenses, cannot delete',
  createBlacklistEntry: EXISTS,
  updateBlacklistEntry: EXISTS,
  createCustomer: OF_ANOTHER_CUSTOMER,
  updateCustomer: OF_ANOTHER_CUSTOMER,
  forgetCustomer:
    'The history of customer 1 is too long for one request: send the request again, without If-Match, to erase the rest',
  createPurchase: 'The purchase is known: change its license',
  resendDelivery: 'An attempt is under way: see its outcome in a minute',
  updatePortalSettings: "The customer's page is being changed by others, try again",
  updateDiscordSettings: 'The application at Discord is being changed by others, try again',
  importItems: 'Another import is changing the same objects; try again',
};

/** The part of a route that its errors depend on. */
interface Source {
  operation: Operation;
  /** Undefined if no token is needed. */
  intents: readonly ApiIntent[] | undefined;
  inputs: readonly Input[];
}

const shapeOf = (schema: z.ZodType): object =>
  schema instanceof z.ZodObject
    ? schema.shape
    : schema instanceof z.ZodPipe && schema.in instanceof z.ZodType
      ? shapeOf(schema.in)
      : {};

const TARGETS = ['json', 'query', 'param', 'header'] as const;

/** A message about an input: that of an empty one, or of the first field for which a value is wrong. */
function inputMessage(inputs: readonly Input[]): string | undefined {
  for (const target of TARGETS) {
    for (const { schema } of inputs.filter((input) => input.target === target)) {
      const names = Object.keys(shapeOf(schema)).filter(
        (name) => target !== 'json' || name !== 'id',
      );
      const wrong = names.map((name) => ({ [name]: target === 'json' ? {} : '0' }));
      for (const value of target === 'json' ? [{}, ...wrong] : wrong) {
        const { error } = parseFields(schema, value);
        if (error) return describeError(error);
      }
    }
  }
  return undefined;
}

/** A message that an operation can return with an error; undefined if all operations return the same. */
function messageOf(status: ErrorStatus, { operation, inputs }: Source): string | undefined {
  const name = NAMES[operation.tag];
  const isCreation = inputs.some(
    ({ target, schema }) => target === 'header' && 'Idempotency-Key' in shapeOf(schema),
  );
  switch (status) {
    case 400:
      return inputMessage(inputs);
    case 404:
      return name && `${name} not found`;
    case 409:
      return (
        CONFLICTS[operation.operationId] ??
        (name && !isCreation ? `${name} is being changed by others, try again` : undefined)
      );
    default:
      return undefined;
  }
}

/** The name of the intents that open an operation. */
const nameOfIntents = (intents: readonly ApiIntent[]): string =>
  Object.entries(INTENTS).find(([, known]) => known.join() === intents.join())?.[0] ?? 'none';

/** The responses that several operations have. */
const shared = new Map<string, ZodOpenApiResponseObject>();

function errorOf(status: ErrorStatus, source: Source): ZodOpenApiResponseObject {
  const [name, description, message] = ERRORS[status];
  const { intents = [] } = source;
  const own = messageOf(status, source);
  const response = {
    description,
    headers: headers('Error-Code', status === 429 ? 'Retry-After' : 'Error-Field'),
    content: json(errorResponse, { message: own ?? message, accepted_intents: intents }),
  };
  if (own !== undefined) return response;
  const id = `${name}.${nameOfIntents(intents)}`;
  const known = shared.get(id) ?? { id, ...response };
  shared.set(id, known);
  return known;
}

/** The intents of an operation in words. */
export function accessText(intents: readonly ApiIntent[] | undefined): string {
  if (!intents) return 'Needs no token.';
  if (intents.length === API_INTENTS.length) return 'Needs a token with any intent.';
  const names = intents.map((intent) => `\`${intent}\``);
  return `Needs ${names.join(', ').replace(/, ([^,]*)$/, ' or $1')}.`;
}

const errors = (source: Source, statuses: readonly ErrorStatus[]): Responses =>
  Object.fromEntries(statuses.map((status) => [status, errorOf(status, source)]));

const refused = (description: string, message: string): ZodOpenApiResponseObject => ({
  description,
  content: json(invalidResponse, { valid: false, message }),
});

/** The responses of a validation under v1 and v2 [4.7]. */
const VALIDATION: Responses = {
  200: { description: 'The license is valid.', content: json(validResponse) },
  400: {
    ...refused('The license is not valid, or the request is not.', 'License has expired'),
    headers: {
      'Error-Code': {
        description:
          'The request is not valid, so nothing was decided. A refusal has no such header.',
        schema: { type: 'string', const: 'INVALID_REQUEST' },
      },
    },
  },
  413: {
    ...refused('The body is over 16 KiB.', 'Body must be at most 16384 bytes'),
    headers: headers('Error-Code'),
  },
  429: {
    ...refused('Over a rate limit.', 'Too many requests'),
    headers: headers('Error-Code', 'Retry-After'),
  },
  503: {
    ...refused('The service failed.', 'Service temporarily unavailable'),
    headers: headers('Error-Code'),
  },
};

/** Those of a validation with a token. */
const guardedValidation = (source: Source): Responses => ({
  ...VALIDATION,
  ...errors(source, [401, 403]),
  415: {
    ...refused(ERRORS[415][1], ERRORS[415][2]),
    headers: headers('Error-Code'),
  },
  429: {
    description: 'Over a rate limit, or a flood without a live token.',
    headers: headers('Error-Code', 'Retry-After'),
    content: json(z.union([invalidResponse, errorResponse]), {
      valid: false,
      message: 'Too many requests',
    }),
  },
});

const forMarkets = (description: string, example: string): ZodOpenApiResponseObject => ({
  description,
  content: {
    ...anyText(example),
    'application/json': { schema: {}, example: { value: '7K2M-9QX4-B3TD-WJ8R-5HVN' } },
  },
});

/** The responses to a market. It shows them to nobody, or writes the key where it belongs. */
const MARKET: Responses = {
  200: forMarkets('It is done, or was done before. For a download: the key.', 'OK'),
  400: forMarkets('The request cannot be read.', 'The body has no user_id'),
  401: forMarkets(
    'The signature or the secret is wrong.',
    'The secret is wrong: store the secret of the market in Licet again',
  ),
  403: forMarkets('The market is off, or the purchase is revoked.', 'Already revoked'),
  404: forMarkets(
    'There is no market at this address, or no product is chosen.',
    'No product is chosen for 62494: add it to the products of the market',
  ),
  422: forMarkets('The kind of event cannot be used.', 'Choose snapshot events'),
  408: forMarkets('The body did not arrive in time.', TOO_LATE),
  413: forMarkets('The body is too large.', tooLarge(MAX_MARKET_BODY_BYTES)),
  429: {
    ...forMarkets(
      'Too many requests of this client were rejected, or the service is busy: the market sends it again.',
      TOO_MANY_REJECTED.message,
    ),
    headers: headers('Retry-After'),
  },
  503: {
    ...forMarkets('The service failed: the market sends it again.', 'Try again'),
    headers: headers('Retry-After'),
  },
};

/**
 * All responses of an operation. Pages of any site may read those of an operation that needs no token.
 *
 * @param statuses those of its errors
 */
export function responsesOf(source: Source, statuses: readonly ErrorStatus[]): Responses {
  const { success } = source.operation;
  const isGuarded = source.intents !== undefined;
  if (success === 'validation') return isGuarded ? guardedValidation(source) : forPages(VALIDATION);
  if (success === 'market') return { ...errors(source, [500]), ...MARKET };
  const { status = 200, description, body, text, sample } = success;
  const content = body ? json(body) : text ? plainText(text) : sample && anyText(sample);
  const responses = {
    ...errors(source, statuses),
    [status]: {
      description,
      ...(success.headers && { headers: headers(...success.headers) }),
      ...(content && { content }),
    },
  };
  return isGuarded ? responses : forPages(responses);
}

const forPages = (responses: Responses): Responses =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, headers: { ...response.headers, ...headers('Access-Control-Allow-Origin') } },
    ]),
  );
