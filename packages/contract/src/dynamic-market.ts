import * as z from 'zod';
import { text } from './fields.ts';

/** The settings of a shop that asks for a key and waits (9). */

const name = text(100)
  .trim()
  .regex(/^[\w-]+$/, 'must be the name of a header');
/** A path into a JSON body, such as `item.product.id`. Alternatives are separated by `|`; the first that is there counts. */
const path = text(200)
  .trim()
  .regex(/^[\w-]+([.|][\w-]+)*$/, 'must be a path such as item.product.id');
/** Paths that are joined by `+`: the first is required. */
const joinedPaths = text(300)
  .trim()
  .regex(/^[\w-]+([.|+][\w-]+)*$/, 'must be a path such as item.id, or several joined by +');
const optionalPath = path.nullable().default(null);

/** How a request shows that it comes from the shop. */
const hmacSignature = z
  .strictObject({
    kind: z.literal('hmac').describe('HMAC-SHA256 of a message, in a header.'),
    header: name.describe('The header with the signature.'),
    encoding: z.enum(['hex', 'base64']).default('hex').describe('The encoding of the signature.'),
    prefix: text(20).default('').describe('Text before the signature, such as `sha256=`.'),
    part: text(20)
      .nullable()
      .default(null)
      .describe('For a header such as `t=1,v1=ab`: the name of the part with the signature.'),
    message: text(100)
      .default('{body}')
      .describe('The signed text, of `{body}`, `{time}` and `{id}`, such as `{time}.{body}`.')
      .refine((value) => value.includes('{body}'), { error: 'must contain {body}' }),
    timeHeader: name.nullable().default(null).describe('The header with `{time}`, in seconds.'),
    idHeader: name.nullable().default(null).describe('The header with `{id}`.'),
  })
  .refine(({ message, timeHeader }) => !message.includes('{time}') || timeHeader !== null, {
    error: 'is required for {time}',
    path: ['timeHeader'],
  })
  .refine(({ message, idHeader }) => !message.includes('{id}') || idHeader !== null, {
    error: 'is required for {id}',
    path: ['idHeader'],
  })
  .meta({ id: 'HmacSignature', description: 'A signature by HMAC-SHA256.' });

const sentSecret = z
  .strictObject({
    kind: z.literal('secret').describe('The secret itself.'),
    header: name.nullable().default(null).describe('The header with the secret.'),
    field: optionalPath.describe('The field of the body with the secret.'),
  })
  .refine(({ header, field }) => header !== null || field !== null, {
    error: 'is required without field',
    path: ['header'],
  })
  .meta({ id: 'SentSecret', description: 'The secret itself, in a header or in the body.' });

const signatureSettings = z.union([hmacSignature, sentSecret]);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const dynamicSettings = z
  .strictObject({
    signature: signatureSettings.describe('How a request shows that it comes from the shop.'),
    item: path.describe('The path of the id of the product.'),
    line: joinedPaths.describe(
      'The path of the id of the order line, or of the order: one license each. Where a line has no id, join more with `+`, such as `order_id+variant_id`.',
    ),
    order: optionalPath.describe('The path of the id of the order.'),
    buyer: optionalPath.describe('The path of the id of the buyer.'),
    buyerName: optionalPath.describe('The path of the name of the buyer.'),
    email: optionalPath.describe('The path of the e-mail of the buyer.'),
    quantity: optionalPath.describe('The path of the quantity; 1 without one.'),
    event: optionalPath.describe('The path of the type of event.'),
    deliverOn: z
      .array(text(100))
      .max(20)
      .default([])
      .describe(
        'The types of event that ask for a key; empty for all. Others are accepted and ignored.',
      ),
    response: z
      .string()
      .max(2_000)
      .refine(isJson, { error: 'must be JSON, such as {"key":"{keys}"}' })
      .nullable()
      .default(null)
      .describe(
        'The response as JSON, in which `{keys}` stands for the keys, one a line, and `"{count}"` for their number. Null for the keys as text.',
      ),
  })
  .meta({ id: 'DynamicSettings', description: 'How the requests of a shop are signed and read.' });
export type DynamicSettings = z.output<typeof dynamicSettings>;
/** The settings with their defaults left out. */
export type SentSettings = z.input<typeof dynamicSettings>;
