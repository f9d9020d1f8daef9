import * as z from 'zod';
import { idText, integerText } from './fields.ts';
import { MAX_PAGE_OBJECTS, MAX_SEARCH_LENGTH, MAX_TEXT_LENGTH } from './limits.ts';
import { timestampText } from './time.ts';

/** The parameters that several routes have: of paths, queries and headers. */

/** The id in a path. */
export const objectPath = {
  id: idText.meta({ description: 'The id of the object.', example: 1 }),
};

/** The query parameters of every list. */
export const pageQuery = {
  limit: integerText(MAX_PAGE_OBJECTS).optional().meta({
    description: 'The number of objects on a page. A page has fewer only if it is the last one.',
    example: 100,
  }),
  after: z
    .union([z.literal('0').transform(Number), idText], {
      error: 'must be the id of the last object of the page before',
    })
    .optional()
    .meta({
      description: 'The id of the last object of the page before.',
      anyOf: undefined,
      type: 'integer',
      minimum: 0,
      example: 602,
    }),
};
export type PageQuery = z.infer<z.ZodObject<typeof pageQuery>>;

/** Text to search for, without regard to case. */
export const searchText = z.string().trim().min(1).max(MAX_SEARCH_LENGTH).optional().meta({
  description: 'Text to find, such as `guard`, without regard to the case of A to Z.',
  example: 'guard',
});

export const productId = idText.meta({
  description: 'Only objects of this product.',
  example: 1,
});

/** A period; both ends are inclusive. */
export const period = {
  from: timestampText.optional().meta({
    description:
      'Only from this time on: ISO 8601, such as `2026-11-20T18:00:00Z`, or a date alone.',
    example: '2026-11-20T18:00:00Z',
  }),
  to: timestampText.optional().meta({
    description:
      'Only up to this time, inclusive: ISO 8601, or a date alone, which is its first millisecond.',
    example: '2026-11-21',
  }),
};

/** The revision on which a change depends. */
export const conditionHeader = {
  'If-Match': z
    .string()
    .optional()
    .meta({
      description:
        'The `ETag` of the object as it was read, such as `"3"`: 412 if it has changed since.',
      example: '"3"',
      param: { id: 'IfMatch' },
    }),
};

const KEY_LENGTH = 'must have 1 to 255 characters';

export const repetitionHeader = {
  'Idempotency-Key': z
    .string()
    .min(1, KEY_LENGTH)
    .max(MAX_TEXT_LENGTH, KEY_LENGTH)
    .optional()
    .meta({
      description:
        'Up to 255 characters, such as `order-4711`. For 24 hours, a repetition of the request with this key creates nothing again and gets the objects as they are now. It gets 409 if one of them was deleted, or if the response held a secret, which is shown once. Another request with this key gets 422.',
      example: 'order-4711',
      param: { id: 'IdempotencyKey' },
    }),
};
