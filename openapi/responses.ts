import { ERROR_CODES, errorResponse } from '@licet/contract/errors';
import { INTENTS } from '@licet/contract/intents';
import { invalidResponse, validResponse } from '@licet/contract/validation';
import * as z from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import type { Operation, ResponseHeader } from '../src/http/operation.ts';

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
    description: 'The field or parameter to blame, if it is one.',
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

type Responses = Readonly<Record<number, ZodOpenApiResponseObject>>;

const error = (id: string, description: string, message: string): ZodOpenApiResponseObject => ({
  id,
  description,
  headers: headers('Error-Code', 'Error-Field'),
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
    'The request conflicts with another object, or too many requests change the object at once.',
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
    headers: headers('Error-Code', 'Retry-After'),
  },
  500: error('InternalError', 'The service failed.', 'Internal server error'),
  503: error(
    'Unavailable',
    'The service could not store its last records, which may hold data to erase. The request can be repeated safely.',
    'The last records could not be stored: send the request again, without If-Match, to erase the history of customer 1',
  ),
};
export type ErrorStatus = keyof typeof ERRORS;

const errors = (...statuses: ErrorStatus[]): Responses =>
  Object.fromEntries(statuses.map((status) => [status, ERRORS[status]]));

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

/** Those of a validation with a token. */
const GUARDED_VALIDATION: Responses = {
  ...VALIDATION,
  ...errors(401, 403),
  429: {
    description: 'Over a rate limit, or a flood without a live token.',
    headers: headers('Retry-After'),
    content: json(z.union([invalidResponse, errorResponse]), {
      valid: false,
      message: 'Too many requests',
    }),
  },
};

/**
 * All responses of an operation. Pages of any site may read those of an operation that needs no token.
 *
 * @param statuses those of its errors
 */
export function responsesOf(
  { success }: Operation,
  isGuarded: boolean,
  statuses: readonly ErrorStatus[],
): Responses {
  if (success === 'validation') return isGuarded ? GUARDED_VALIDATION : forPages(VALIDATION);
  const { status = 200, description, body, text } = success;
  const content = body ? json(body) : text && plainText(text);
  const responses = {
    ...errors(...statuses),
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
