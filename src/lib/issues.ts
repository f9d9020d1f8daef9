import { fieldName } from '@licet/contract/changes';
import type { ErrorCode } from '@licet/contract/errors';
import { ignored, mustNotBeSent } from '@licet/contract/resource';
import * as z from 'zod';
import { nearestName } from './nearest-name.ts';

/** The messages about invalid values. */

const IS_REQUIRED = 'is required';

/**
 * Parses a value. The message of an issue continues the name of its field: `id is required`.
 *
 * @param kind that of an unknown name
 */
export const parseFields = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  kind = 'field',
) => schema.safeParse(value, { error: (issue) => messageOf(issue, kind) });

function messageOf(issue: z.core.$ZodRawIssue, kind: string): string | undefined {
  switch (issue.code) {
    case 'unrecognized_keys':
      return describeUnknown(issue.keys, namesOf(issue.inst), kind);
    case 'invalid_type':
      if (issue.input === undefined) return IS_REQUIRED;
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      if (issue.input === undefined) return IS_REQUIRED;
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_key':
      return issue.issues[0]?.message;
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
const MAX_NAME_LENGTH = 100;

/** The names that a client may send. */
const namesOf = (schema: unknown): string[] =>
  schema instanceof z.ZodObject
    ? Object.entries(schema.shape).flatMap(([name, field]) =>
        field === ignored || field === mustNotBeSent ? [] : name,
      )
    : [];

/** The search of a list, for a filter by a text that it finds. */
const searchOf = (unknown: string, names: readonly string[]): string | undefined =>
  /^(email|name|search|query|text)$/i.test(unknown)
    ? names.find((name) => name === 'q')
    : undefined;

function describeUnknown(
  unknown: readonly string[],
  names: readonly string[],
  kind: string,
): string {
  const messages = unknown.slice(0, MAX_MESSAGES).map((name) => {
    const meant = nearestName(name, names) ?? searchOf(name, names);
    const question = meant === undefined ? '' : ` (did you mean ${meant}?)`;
    return `${name.slice(0, MAX_NAME_LENGTH)} is not a known ${kind}${question}`;
  });
  return messages.join('; ');
}

/** The messages of all issues of an input, each after the name of its field [7]. */
export function describeError(error: z.core.$ZodError): string {
  const messages = error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.message
      : `${fieldName(issue.path) || 'Body'} ${issue.message}`,
  );
  return messages.slice(0, MAX_MESSAGES).join('; ');
}

const codeOf = ({ code, message }: z.core.$ZodIssue): ErrorCode =>
  code === 'unrecognized_keys'
    ? 'UNKNOWN_FIELD'
    : message === IS_REQUIRED
      ? 'MISSING_FIELD'
      : 'INVALID_VALUE';

/** The fields of the body with an issue. For a value in a list, the field is the list. */
function fieldsOf(issue: z.core.$ZodIssue): string[] {
  const [field] = issue.path;
  if (field !== undefined) return [String(field)];
  return issue.code === 'unrecognized_keys' ? issue.keys : [''];
}

/** The code of the first issue of an input, and the field to blame, if it is the only one (3.1). */
export function blameOf({ issues }: z.core.$ZodError): { code: ErrorCode; field?: string } {
  const [first] = issues;
  const fields = new Set(issues.flatMap(fieldsOf));
  const [field] = fields.size === 1 ? fields : [];
  return { code: first ? codeOf(first) : 'INVALID_VALUE', ...(field && { field }) };
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  number: 'an integer',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
};
