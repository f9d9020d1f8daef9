import { zValidator } from '@hono/zod-validator';
import type { MiddlewareHandler, ValidationTargets } from 'hono';
import type * as z from 'zod';
import { ApiError } from '../errors';

const MAX_MESSAGES = 50;

function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`,
    )
    .join('');
}

/** All that is wrong with an input, each with the name of its field. */
function describeError(target: keyof ValidationTargets, error: z.core.$ZodError): string {
  const messages = error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const kind = target === 'query' ? 'query parameter' : 'field';
      return issue.keys.map((key) => `${key.slice(0, 100)} is not a known ${kind}`);
    }
    return `${fieldName(issue.path) || 'Body'} ${issue.message}`;
  });
  return messages.slice(0, MAX_MESSAGES).join('; ');
}

/** Checks a part of the request; what does not fit answers 400 and names the field [7]. */
const input = <Target extends keyof ValidationTargets, Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
) =>
  zValidator(target, schema, (result) => {
    if (!result.success) throw new ApiError(400, describeError(target, result.error));
  });

export const body = <Schema extends z.ZodType>(schema: Schema) => input('json', schema);
export const path = <Schema extends z.ZodType>(schema: Schema) => input('param', schema);
export const query = <Schema extends z.ZodType>(schema: Schema) => input('query', schema);

/**
 * Bodies are JSON whatever their content type says: the validator reads nothing else, and would
 * take a body of another type for an empty one.
 */
export const readBodyAsJson = (): MiddlewareHandler =>
  async function readBodyAsJson(c, next) {
    if (c.req.method === 'POST' || c.req.method === 'PUT') {
      const headers = new Headers(c.req.raw.headers);
      headers.set('Content-Type', 'application/json');
      c.req.raw = new Request(c.req.raw, { headers });
    }
    await next();
  };
