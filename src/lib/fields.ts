import {
  API_INTENTS,
  EVENT_RESOURCES,
  EVENT_TYPES,
  LICENSE_DATA_TYPES,
  LICENSE_PLATFORMS,
  LICENSE_STATUSES,
  LICENSE_TYPES,
  PRODUCT_TYPES,
  REQUEST_TYPES,
  RESPONSE_TYPES,
} from '@licet/contract/enums';
import * as z from 'zod';
import { canonicalAddress } from './ip.ts';
import { fitsHwid, isStorable, MAX_HWID_BYTES } from './text.ts';

/** The types of the fields of all resources, and the messages about invalid ones. */

/** Parses a value. The message of an issue continues the name of its field: `id is required`. */
export const parseFields = <Schema extends z.ZodType>(schema: Schema, value: unknown) =>
  schema.safeParse(value, { error: messageOf });

function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      return `must be at least ${issue.minimum}${issue.origin === 'array' ? ' in number' : ''}`;
    case 'too_big':
      if (issue.origin === 'string') return `must be at most ${issue.maximum} characters`;
      return `must be at most ${issue.maximum}${issue.origin === 'array' ? ' in number' : ''}`;
    default:
      return undefined;
  }
}

const MAX_MESSAGES = 50;

function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`,
    )
    .join('');
}

/** The messages of all issues of an input, each after the name of its field [7]. */
export function describeError(error: z.core.$ZodError, unknownKind = 'field'): string {
  const messages = error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => `${key.slice(0, 100)} is not a known ${unknownKind}`);
    }
    return `${fieldName(issue.path) || 'Body'} ${issue.message}`;
  });
  return messages.slice(0, MAX_MESSAGES).join('; ');
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  number: 'an integer',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

/** Text that SQLite and UTF-8 store unchanged. */
export const text = (maxLength: number) =>
  z.string().max(maxLength).refine(isStorable, {
    error: 'must not contain NUL or unpaired surrogates',
  });

export const WEB_ADDRESS_MESSAGE = 'must be an address that begins with http:// or https://';

/** Whether text is empty or an address that a page may link to: no `javascript:` and no `data:`. */
export const isWebAddress = (value: string): boolean =>
  value === '' || (/^https?:\/\//i.test(value) && URL.canParse(value));

const ACCOUNT_ID_MESSAGE = 'must be a string, or a number that is an integer below 2^53';

/** The id of an account elsewhere. Text, because it can exceed the numbers that JSON holds exactly. */
export const accountId = z
  .union(
    [text(255).trim(), z.number().refine(Number.isSafeInteger, { error: ACCOUNT_ID_MESSAGE })],
    { error: ACCOUNT_ID_MESSAGE },
  )
  .transform(String);

/**
 * The largest limit of distinct values. A license has no more bound values: D1 returns them as one text of at
 * most 2 MB (1.4).
 */
export const MAX_LIMIT = 1_000;
const LIMIT_MESSAGE = `must be 0 to ${MAX_LIMIT}; use -1 for unlimited`;

/** A limit of distinct values. -1 is unlimited. */
export const limit = z.int().min(-1, LIMIT_MESSAGE).max(MAX_LIMIT, LIMIT_MESSAGE);

export const id = z.int().min(1);

/** An integer from 1 to a maximum in a path or a query. */
export const integerText = (max: number, message = `must be an integer from 1 to ${max}`) =>
  z
    .string()
    .regex(/^[1-9]\d{0,15}$/, message)
    .transform(Number)
    .refine((value) => value <= max, message);

/** An {@link id} in a path or a query. */
export const idText = integerText(Number.MAX_SAFE_INTEGER, 'must be a positive integer');

export const MAX_DAYS = 3_650;

export const daysText = integerText(MAX_DAYS);

export const booleanText = z.enum(['true', 'false']).transform((value) => value === 'true');

export const address = z.string().transform((value, context) => {
  const canonical = canonicalAddress(value);
  if (canonical !== null) return canonical;
  context.addIssue({ code: 'custom', message: 'must be an IP address' });
  return z.NEVER;
});

export const hardwareId = text(MAX_HWID_BYTES)
  .trim()
  .min(1)
  .refine(fitsHwid, `must be at most ${MAX_HWID_BYTES} bytes`);

/** The enumerations [2.6]. */
export const productType = z.enum(PRODUCT_TYPES);
export const licenseType = z.enum(LICENSE_TYPES);
export const licenseStatus = z.enum(LICENSE_STATUSES);
export const licensePlatform = z.enum(LICENSE_PLATFORMS);
export const licenseDataType = z.enum(LICENSE_DATA_TYPES);
export const apiIntent = z.enum(API_INTENTS);
export const eventType = z.enum(EVENT_TYPES);
export const eventResource = z.enum(EVENT_RESOURCES);
export const requestType = z.enum(REQUEST_TYPES);
export const responseType = z.enum(RESPONSE_TYPES);

/** A field that only the service sets. Null counts as absent. */
export const mustNotBeSent = z.exactOptional(z.null({ error: 'must not be sent' }));

/** A field that is accepted and not changed, because PUT accepts the body of a GET. */
export const ignored = z.exactOptional(z.unknown());
