import type { ValidationTargets } from 'hono';
import { validator } from 'hono/validator';
import type * as z from 'zod';
import { describeError, parseFields } from '../lib/fields';
import { BodyError, readBody } from './body';
import { ApiError } from './errors';

/** Which part of a request a validator checks, and by which schema. */
export interface Input {
  readonly target: keyof ValidationTargets;
  readonly schema: z.ZodType;
}

/** Parses a part of the request. A value that does not fit answers 400 and names its field [7]. */
const parser = <Target extends keyof ValidationTargets, Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
) =>
  validator(target, (value): z.output<Schema> => {
    const { data, error } = parseFields(schema, value);
    if (!error) return data;
    throw new ApiError(400, describeError(error, target === 'query' ? 'query parameter' : 'field'));
  });

/** A validator that tells what it checks, for the OpenAPI document. */
const input = <Target extends keyof ValidationTargets, Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
) => Object.assign(parser(target, schema), { target, schema });

const isInput = (handler: object): handler is Input => 'target' in handler && 'schema' in handler;

/** What a route's validator checks; undefined for a handler that is none. */
export const declaredInput = (handler: object): Input | undefined =>
  isInput(handler) ? handler : undefined;

const MAX_BODY_BYTES = 1024 * 1024;

function rejectBody(error: unknown): never {
  throw error instanceof BodyError ? new ApiError(error.status, error.message) : error;
}

/** The body as the schema has it; 413 over 1 MiB, 408 if it is late. Read only for who may send it. */
export function body<Schema extends z.ZodType>(schema: Schema) {
  const parse = parser('json', schema);
  const readAndParse: typeof parse = async function readAndParse(c, next) {
    const text = await readBody(c.req.raw, MAX_BODY_BYTES).catch(rejectBody);
    // JSON whatever the content type says: the validator takes a body of another type for `{}`.
    const headers = new Headers(c.req.raw.headers);
    headers.set('Content-Type', 'application/json');
    c.req.raw = new Request(c.req.raw, { headers, body: text });
    return parse(c, next);
  };
  return Object.assign(readAndParse, { target: 'json', schema });
}

/** The path's parameters as the schema has them. */
export const path = <Schema extends z.ZodType>(schema: Schema) => input('param', schema);

/** The query's parameters as the schema has them. */
export const query = <Schema extends z.ZodType>(schema: Schema) => input('query', schema);
