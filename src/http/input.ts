import type { ValidationTargets } from 'hono';
import { validator } from 'hono/validator';
import * as z from 'zod';
import { describeError, idText, parseFields } from '../lib/fields';
import { readBody } from './body';
import { ApiError } from './errors';

/** A part of a request, and the schema that checks it. */
export interface Input {
  readonly target: keyof ValidationTargets;
  readonly schema: z.ZodType;
}

/** Parses a part of the request. An invalid value is rejected with 400 and the name of its field [7]. */
const parser = <Target extends keyof ValidationTargets, Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
) =>
  validator(target, (value): z.output<Schema> => {
    const { data, error } = parseFields(schema, value);
    if (!error) return data;
    throw new ApiError(400, describeError(error, target === 'query' ? 'query parameter' : 'field'));
  });

/** A validator that declares its input, for the OpenAPI document. */
const input = <Target extends keyof ValidationTargets, Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
) => Object.assign(parser(target, schema), { target, schema });

const isInput = (handler: object): handler is Input => 'target' in handler && 'schema' in handler;

/** The input that a handler declares; undefined if it declares none. */
export const declaredInput = (handler: object): Input | undefined =>
  isInput(handler) ? handler : undefined;

const MAX_BODY_BYTES = 1024 * 1024;

/** Parses the body; 413 over 1 MiB, 408 if it is late. It is read after the token was checked. */
export function body<Schema extends z.ZodType>(schema: Schema) {
  const parse = parser('json', schema);
  const readAndParse: typeof parse = async function readAndParse(c, next) {
    const text = await readBody(c.req.raw, MAX_BODY_BYTES);
    // The body is JSON with any content type, but the validator would take it for `{}`.
    const headers = new Headers(c.req.raw.headers);
    headers.set('Content-Type', 'application/json');
    c.req.raw = new Request(c.req.raw, { headers, body: text });
    return parse(c, next);
  };
  return Object.assign(readAndParse, { target: 'json', schema });
}

export const path = <Schema extends z.ZodType>(schema: Schema) => input('param', schema);

export const pathId = path(z.object({ id: idText }));

export const query = <Schema extends z.ZodType>(schema: Schema) => input('query', schema);
