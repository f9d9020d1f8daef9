import * as z from 'zod/mini';

/** Parameters of an address. Invalid ones are ignored, because people edit addresses. */

/** The number of parameters that are given. */
export const countGiven = (search: object): number =>
  Object.values(search).filter((value) => value !== undefined).length;

/** An id, such as `productId=602`. */
export const id = z.catch(z.optional(z.int().check(z.gte(0))), undefined);

/**
 * A value of an address, such as `17` or `{"a":1}`. A number that JavaScript cannot hold exactly stays text, such as
 * the id of a chat account.
 */
export function parseValue(value: string): unknown {
  const parsed: unknown = JSON.parse(value);
  if (typeof parsed === 'number' && String(parsed) !== value) throw new Error('It is not exact');
  return parsed;
}

/** Text, such as `q=order`. The router reads `q=17` as a number. */
export const text = z.catch(
  z.optional(
    z.pipe(
      z.union([z.string(), z.number(), z.boolean()]),
      z.transform((value) => String(value).trim() || undefined),
    ),
  ),
  undefined,
);

/** A text in metadata, such as `metadata=plan:gold`. */
export const metadata = z.catch(
  z.optional(z.string().check(z.regex(/^[\w.-]{1,40}:./))),
  undefined,
);

/** An entitlement that counts, such as `entitlement=edition:gold`. */
export const entitlement = z.catch(
  z.optional(z.string().check(z.regex(/^[a-z][a-z0-9_.-]{0,39}(:|$)/))),
  undefined,
);

/** The id in a path, such as `/customers/17`. */
export const idParams = {
  parse: ({ id }: { id: string }) => ({ id: Number(id) }),
  stringify: ({ id }: { id: number }) => ({ id: String(id) }),
};

/** `open=new`: the dialog of a list for a new item. */
export const isNew = z.catch(z.optional(z.literal('new')), undefined);

/** The item in the dialog of a list: `open=17`, or `open=new`. */
export const open = z.catch(
  z.optional(z.union([z.literal('new'), z.int().check(z.gte(1))])),
  undefined,
);

/** One of some values, such as `type=license.created`. */
export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.catch(z.optional(z.enum(values)), undefined);

/** A day, such as `from=2035-12-31`. */
export const day = z.catch(
  z.optional(
    z.string().check(
      z.regex(/^\d{4}-\d\d-\d\d$/),
      // 31 February would become a day in March.
      z.refine((value) => new Date(`${value}T00:00:00Z`).toJSON()?.startsWith(value) === true),
    ),
  ),
  undefined,
);
