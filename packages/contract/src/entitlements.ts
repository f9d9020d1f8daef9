import * as z from 'zod';
import { withKeptNames } from './fields.ts';
import {
  ENTITLEMENT_NAME,
  ENTITLEMENT_NAME_MESSAGE,
  ENTITLEMENT_TEXT,
  MAX_ENTITLEMENT_BYTES,
  MAX_ENTITLEMENTS,
  RESERVED_ENTITLEMENTS,
} from './limits.ts';
import { optional, setByService } from './resource.ts';
import { timestamp, wireTimestamp } from './time.ts';

/** The names and values by which a program knows what a license allows (11). */

/** True, a number, of which -1 is unlimited, or a text. */
export type Entitlement = true | number | string;
export type Entitlements = Readonly<Record<string, Entitlement>>;
/** Those of a license. Null takes one of the product away. */
export type OwnEntitlements = Readonly<Record<string, Entitlement | null>>;
/** Milliseconds since 1970 by name. */
export type EntitlementEnds = Readonly<Record<string, number>>;

const VALUE_MESSAGE =
  'must be true, an integer, or a text of 1 to 40 letters, digits and signs "_", ".", ":", "+" and "-"';
const OWN_VALUE_MESSAGE = `${VALUE_MESSAGE}; null takes the one of the product away`;
const FILTER_MESSAGE = 'must be a name, or a name and a value, such as pro or edition:gold';

const name = z
  .string()
  .regex(ENTITLEMENT_NAME, ENTITLEMENT_NAME_MESSAGE)
  .refine((sent) => !RESERVED_ENTITLEMENTS.includes(sent), {
    error: `must not be named ${RESERVED_ENTITLEMENTS.join(', ')}`,
  });

const valueWith = (error: string) =>
  z.union(
    [
      z.literal(true, { error }),
      z.int({ error }),
      z.string({ error }).regex(ENTITLEMENT_TEXT, error),
    ],
    { error },
  );
const value = valueWith(VALUE_MESSAGE);
const ownValue = valueWith(OWN_VALUE_MESSAGE).nullable();

/** In the order of their names, so that equal objects are equal JSON. Null for an empty one. */
function inOrder<Value>(sent: Readonly<Record<string, Value>> | null) {
  const entries = Object.entries(sent ?? {});
  if (entries.length === 0) return null;
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** An object with such values by name; null or empty for none. */
function byName<Value extends z.ZodType>(schema: Value) {
  const values = z
    .record(name, schema)
    .refine((sent) => Object.keys(sent).length <= MAX_ENTITLEMENTS, {
      error: `must have at most ${MAX_ENTITLEMENTS} names`,
    })
    .refine((sent) => JSON.stringify(sent).length <= MAX_ENTITLEMENT_BYTES, {
      error: `must be at most ${MAX_ENTITLEMENT_BYTES} bytes of JSON`,
    })
    .nullable()
    .transform((sent) => inOrder(sent));
  return withKeptNames(values, ENTITLEMENT_NAME_MESSAGE);
}

const HOW_TO_CHANGE = 'A PUT replaces all of them; null leaves none.';
const SEEN_BY = 'Programs see them in signed responses and leases alone.';

const wireValue = z.union([z.literal(true), z.int(), z.string()]);
const defaults = byName(value);
/** The field of a product. */
export const productEntitlements = optional(
  defaults.default(null),
  defaults,
  z.record(z.string(), wireValue),
  `Entitlements of all licenses of the product, by name: true, an integer (-1 is unlimited) or a text. At most ${MAX_ENTITLEMENTS} names and ${MAX_ENTITLEMENT_BYTES} bytes. ${HOW_TO_CHANGE} ${SEEN_BY}`,
);

/** The field of a product of a market. One that was mapped before has none. */
export const mappedEntitlements = z
  .exactOptional(defaults.pipe(z.record(z.string(), wireValue).nullable()))
  .describe(
    '`entitlements` of the licenses, such as an edition that is sold. None if it is left out.',
  );

const own = byName(ownValue);
const ends = byName(timestamp);

/** The fields of a license. */
export const licenseEntitlements = {
  entitlements: optional(
    own.default(null),
    own,
    z.record(z.string(), wireValue.nullable()),
    `Entitlements of this license by name. A value counts in the place of the product's, and null takes that of the product away. ${HOW_TO_CHANGE} ${SEEN_BY}`,
  ),
  entitlementsExpire: optional(
    ends.default(null),
    ends,
    z.record(z.string(), wireTimestamp),
    `The ends of entitlements by name. From then on neither the value of the license nor that of the product counts. ${HOW_TO_CHANGE}`,
  ),
  effectiveEntitlements: setByService(
    z.record(z.string(), wireValue),
    'The entitlements that count now: those of the product and of the license together, without those that have ended.',
  ),
};

/** The query parameter that finds licenses by an entitlement that counts. */
export const entitlementFilter = z
  .string()
  .transform((sent, context) => {
    const [named = '', ...values] = sent.split(':');
    const wanted = values.length === 0 ? undefined : values.join(':');
    if (ENTITLEMENT_NAME.test(named) && (wanted === undefined || ENTITLEMENT_TEXT.test(wanted))) {
      return { name: named, value: wanted };
    }
    context.addIssue({ code: 'custom', message: FILTER_MESSAGE });
    return z.NEVER;
  })
  .optional()
  .meta({
    description:
      'Only licenses for which this entitlement counts: its name, or its name, a colon and its value.',
    type: 'string',
    example: 'edition:gold',
  });
export type EntitlementFilter = z.infer<typeof entitlementFilter>;
