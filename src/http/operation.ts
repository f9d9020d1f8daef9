import type * as z from 'zod';

/** The purpose of a route. It is declared beside the path, and read by the OpenAPI document alone. */

export type Tag =
  | 'Validation'
  | 'Service'
  | 'Products'
  | 'Licenses'
  | 'Blacklists'
  | 'Requests'
  | 'Statistics'
  | 'Customers'
  | 'Tokens'
  | 'Events'
  | 'Webhooks'
  | 'Markets'
  | 'Purchases'
  | 'Settings'
  | 'Mails'
  | 'Import';

export type ResponseHeader =
  | 'ETag'
  | 'Location'
  | 'Link'
  | 'X-Total-Count'
  | 'Warning'
  | 'Access-Control-Allow-Origin'
  | 'Access-Control-Allow-Methods'
  | 'Access-Control-Allow-Headers'
  | 'Access-Control-Max-Age';

/** The response to a request that succeeds. */
interface Success {
  status?: 200 | 201 | 204;
  description: string;
  headers?: readonly ResponseHeader[];
  /** A body, or a list of bodies; a constant text; an example of a text. None if all are absent. */
  body?: z.ZodType;
  text?: string;
  sample?: string;
}

export interface Operation {
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  /** Those of a validation, and of a request of a market, have several forms. */
  success: Success | 'validation' | 'market';
  /** True for the old name of a path, which only older clients use. */
  deprecated?: true;
  /** The errors that do not follow from the intents and the inputs of the route. */
  errors?: readonly (404 | 409 | 503)[];
}

const isDescribed = (handler: object): handler is { operation: Operation } =>
  'operation' in handler && handler.operation !== undefined;

/** The operation that a handler declares; undefined if it declares none. */
export const declaredOperation = (handler: object): Operation | undefined =>
  isDescribed(handler) ? handler.operation : undefined;

interface Resource {
  tag: Tag;
  /** As in the ids of operations. */
  names: readonly [one: string, many: string];
  one: string;
  many: string;
  section: string;
  body: z.ZodType;
  /** An object of the list, if it has other fields. */
  listed?: z.ZodType;
  listing?: string;
  /** False for a list without `X-Total-Count`. */
  isCounted?: boolean;
  creating?: string;
  /** The response to a creation, if it has other fields. */
  created?: z.ZodType;
  /** True if a stored object may do more than was meant, which `Warning` says. */
  warns?: boolean;
  deleting?: string;
}

/** The usual operations on a resource. */
export function operationsOn({
  tag,
  names: [name, names],
  one,
  many,
  section,
  body,
  listed = body,
  listing = 'All of them, sorted by id; with `limit` a page.',
  isCounted = true,
  creating = '',
  created = body,
  warns = false,
  deleting = '',
}: Resource) {
  const operation = (
    operationId: string,
    summary: string,
    description: string,
    success: Success,
    sections = section,
  ): Operation => ({
    operationId,
    tag,
    summary,
    description: `${description} ${sections}`,
    success,
  });
  const warning = warns ? (['Warning'] as const) : [];
  return {
    list: operation(`list${names}`, `List ${many}`, listing, {
      description: `The ${many}.`,
      headers: isCounted ? ['Link', 'X-Total-Count'] : ['Link'],
      body: listed.array(),
    }),
    get: {
      ...operation(`get${name}`, `Get ${one} by its id`, 'Its `ETag` is for `If-Match`.', {
        description: 'The object.',
        headers: ['ETag'],
        body,
      }),
      errors: [404] as const,
    },
    create: operation(`create${name}`, `Create ${one}`, creating, {
      status: 201,
      description: 'The new object.',
      headers: ['ETag', 'Location', ...warning],
      body: created,
    }),
    update: operation(
      `update${name}`,
      `Change ${one}`,
      'Accepts the object that GET returned, or only the fields that change.',
      { description: 'The changed object.', headers: ['ETag', ...warning], body },
      `${section} [4.8]`,
    ),
    remove: operation(`delete${name}`, `Delete ${one}`, deleting, {
      status: 204,
      description: 'It is deleted.',
    }),
  };
}
