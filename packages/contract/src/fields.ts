import * as z from 'zod';
import { canonicalAddress, canonicalNetwork } from './addresses.ts';
import {
  API_INTENTS,
  DELIVERY_STATES,
  DISPUTE_ACTIONS,
  EVENT_RESOURCES,
  EVENT_TYPES,
  LICENSE_DATA_TYPES,
  LICENSE_PLATFORMS,
  LICENSE_STATUSES,
  LICENSE_TYPES,
  MARKET_KINDS,
  MARKET_STATES,
  NOTICE_EFFECTS,
  PRODUCT_TYPES,
  PURCHASE_STATES,
  QUANTITY_MEANINGS,
  REFUND_ACTIONS,
  REQUEST_TYPES,
  WEBHOOK_FORMATS,
} from './enums.ts';
import { isObject } from './json.ts';
import { MAX_DORMANT_DAYS, MAX_HWID_BYTES, MAX_LIMIT, MAX_TEXT_LENGTH } from './limits.ts';
import { RESPONSE_TYPES } from './outcomes.ts';
import { fitsHwid, isStorable } from './texts.ts';

/** The types of the fields of all bodies and queries. Those in a query have metadata: their checks are of text. */

/** Text that SQLite and UTF-8 store unchanged. */
export const text = (maxLength: number) =>
  z.string().max(maxLength).refine(isStorable, {
    error: 'must not contain NUL or unpaired surrogates',
  });

/** The name of an object: one line of text. */
export const nameText = text(MAX_TEXT_LENGTH).trim().min(1);

export const WEB_ADDRESS_MESSAGE = 'must be an address that begins with http:// or https://';

/** Whether text is empty or an address that a page may link to: no `javascript:` and no `data:`. */
export const isWebAddress = (value: string): boolean =>
  value === '' || (/^https?:\/\//i.test(value) && URL.canParse(value));

const ACCOUNT_ID_MESSAGE = 'must be a string, or a number that is an integer below 2^53';

/** The id of an account elsewhere. Text, because it can exceed the numbers that JSON holds exactly. */
export const accountId = z
  .union(
    [
      text(MAX_TEXT_LENGTH).trim(),
      z.number().refine(Number.isSafeInteger, { error: ACCOUNT_ID_MESSAGE }),
    ],
    { error: ACCOUNT_ID_MESSAGE },
  )
  .transform(String);

const LIMIT_MESSAGE = `must be 0 to ${MAX_LIMIT}; use -1 for unlimited`;

/** A limit of distinct values. -1 is unlimited. */
export const limit = z.int().min(-1, LIMIT_MESSAGE).max(MAX_LIMIT, LIMIT_MESSAGE);

export const id = z.int().min(1);

/** An integer from 1 to a maximum in a path or a query. */
export const integerText = (maximum: number, message = `must be an integer from 1 to ${maximum}`) =>
  z
    .string()
    .regex(/^[1-9]\d{0,15}$/, message)
    .transform(Number)
    .refine((value) => value <= maximum, message)
    .meta({ pattern: undefined, type: 'integer', minimum: 1, maximum });

/** An {@link id} in a path or a query. */
export const idText = integerText(Number.MAX_SAFE_INTEGER, 'must be a positive integer');

export const daysText = integerText(MAX_DORMANT_DAYS);

export const booleanText = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .meta({ enum: undefined, type: 'boolean' });

export const address = z.string().transform((value, context) => {
  const canonical = canonicalAddress(value);
  if (canonical !== null) return canonical;
  context.addIssue({ code: 'custom', message: 'must be an IP address' });
  return z.NEVER;
});

export const network = z.string().transform((value, context) => {
  const canonical = canonicalNetwork(value);
  if (canonical !== null) return canonical;
  context.addIssue({ code: 'custom', message: 'must be an IP address or a CIDR range' });
  return z.NEVER;
});

export const hardwareId = text(MAX_HWID_BYTES)
  .trim()
  .min(1)
  .refine(fitsHwid, `must be at most ${MAX_HWID_BYTES} bytes`);

/** The enumerations, by the names of the interface [2.6]. */
export const productType = z
  .enum(PRODUCT_TYPES)
  .meta({ id: 'ProductType', description: 'The kind of program.' });
export const licenseType = z
  .enum(LICENSE_TYPES)
  .meta({ id: 'LicenseType', description: 'Whether a license expires.' });
export const licenseStatus = z
  .enum(LICENSE_STATUSES)
  .meta({ id: 'LicenseStatus', description: 'The status of a license.' });
export const licensePlatform = z.enum(LICENSE_PLATFORMS).meta({
  id: 'LicensePlatform',
  description:
    'The platform or market where a license was bought. `GET /api/v2/platforms` shows their labels.',
});
export const licenseDataType = z
  .enum(LICENSE_DATA_TYPES)
  .meta({ id: 'LicenseDataType', description: 'The kind of value that a blacklist entry blocks.' });
export const apiIntent = z
  .enum(API_INTENTS)
  .meta({ id: 'ApiIntent', description: 'A permission that a token can hold [5].' });
export const requestType = z
  .enum(REQUEST_TYPES)
  .meta({ id: 'RequestType', description: 'The interface of a validation.' });
export const responseType = z
  .enum(RESPONSE_TYPES)
  .meta({ id: 'ResponseType', description: 'The outcome of a validation.' });
export const eventType = z
  .enum(EVENT_TYPES)
  .meta({ id: 'EventType', description: 'A kind of resource, and its change.' });
export const eventResource = z
  .enum(EVENT_RESOURCES)
  .meta({ id: 'EventResource', description: 'The kind of an object that an event is about.' });
export const webhookFormat = z.enum(WEBHOOK_FORMATS).meta({
  id: 'WebhookFormat',
  description: 'Standard Webhooks, or messages for a channel of Discord.',
});
export const deliveryState = z.enum(DELIVERY_STATES).meta({
  id: 'DeliveryState',
  description: 'Whether a delivery has arrived, or another attempt follows.',
});
export const marketKind = z
  .enum(MARKET_KINDS)
  .meta({ id: 'MarketKind', description: 'A market that sells keys.' });
export const refundAction = z.enum(REFUND_ACTIONS).meta({
  id: 'RefundAction',
  description: 'Whether a refund in full deactivates the license, or keeps it.',
});
export const disputeAction = z.enum(DISPUTE_ACTIONS).meta({
  id: 'DisputeAction',
  description:
    'Whether a dispute deactivates the license when it is opened, when it is lost (`wait`), or not at all.',
});
export const quantityMeaning = z.enum(QUANTITY_MEANINGS).meta({
  id: 'QuantityMeaning',
  description:
    'Whether a quantity makes so many licenses, or one license with its limits multiplied.',
});
export const noticeEffect = z.enum(NOTICE_EFFECTS).meta({
  id: 'NoticeEffect',
  description:
    'The effect of a request of a market: a purchase or a license changed, nothing was to do, or a person is needed.',
});
export const marketState = z.enum(MARKET_STATES).meta({
  id: 'MarketState',
  description: 'The state of a market. One that needs something, or fails, waits for a person.',
});
export const purchaseState = z.enum(PURCHASE_STATES).meta({
  id: 'PurchaseState',
  description: 'Whether a purchase has its license, has lost it, or waits for a product.',
});

const NOT_KEPT = '__proto__';

/** An object by names that rejects the one name which a record leaves out without a word. */
export const withKeptNames = <Names extends z.ZodType>(names: Names, message: string) =>
  z.preprocess((sent, context) => {
    if (isObject(sent) && Object.hasOwn(sent, NOT_KEPT)) {
      context.addIssue({ code: 'custom', path: [NOT_KEPT], message });
    }
    return sent;
  }, names);
