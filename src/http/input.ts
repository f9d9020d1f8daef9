import { zValidator } from '@hono/zod-validator';
import { conditionHeader, objectPath, repetitionHeader } from '@licet/contract/parameters';
import type { ValidationTargets } from 'hono';
import * as z from 'zod';
import { blameOf, describeError, parseFields } from '../lib/issues.ts';
import { readUtf8 } from './connection.ts';
import { ApiError } from './errors.ts';

/** A part of a request, and the schema that checks it. */
export interface Input {
  readonly target: keyof ValidationTargets;
  readonly schema: z.ZodType;
}

export const isInput = (handler: object): handler is Input =>
  'target' in handler && 'schema' in handler;

/** Rejects an invalid part of a request with 400 and the names of its fields [7]. */
function rejectInvalid({ error }: { success: boolean; error?: z.core.$ZodError }): void {
  if (error) throw new ApiError(400, describeError(error), blameOf(error));
}

/** Parses a query, of which a field is a parameter. */
const parseQuery: typeof parseFields = (schema, value) =>
  parseFields(schema, value, 'query parameter');

/** Declares a part of the requests to a route, which is checked, and which the OpenAPI document shows. */
const input = <Target extends Input['target'], Output>(target: Target, schema: z.ZodType<Output>) =>
  Object.assign(
    zValidator(target, schema, rejectInvalid, {
      validationFunction: target === 'query' ? parseQuery : parseFields,
    }),
    { target, schema },
  );

export const query = <Output>(schema: z.ZodType<Output>) => input('query', schema);

export const path = <Shape extends z.ZodRawShape>(shape: Shape) => input('param', z.object(shape));

export const pathId = path(objectPath);

export const ifMatch = input('header', z.object(conditionHeader));

export const idempotencyKey = input('header', z.object(repetitionHeader));

/** Both headers: a change that a repetition does not make again. */
export const ifMatchOnce = input('header', z.object({ ...conditionHeader, ...repetitionHeader }));

/** Whether a body may be missing. */
export const isOptional = (schema: z.ZodType): boolean => schema instanceof z.ZodOptional;

const MAX_BODY_BYTES = 1024 * 1024;
const EMPTY_BODY = 'Body is empty, JSON is required';
const FORM_BODY = 'Body is a form: send JSON';
/** The start of a form, `a=b` or multipart. JSON never begins with it. */
const FORM = /^\s*(--|[\w.%[\]-]+=)/;

/**
 * Declares the body; 413 over 1 MiB, 408 if it is late. It is read after the token was checked. An optional one may be
 * missing.
 */
export function body<Output>(schema: z.ZodType<Output>) {
  const validate = input('json', schema);
  const readAndValidate = async (...[c, next]: Parameters<typeof validate>) => {
    const sent = await readUtf8(c.req.raw, MAX_BODY_BYTES);
    const text = isOptional(schema) && sent.trim() === '' ? '{}' : sent;
    if (text.trim() === '') throw new ApiError(400, EMPTY_BODY, { code: 'INVALID_JSON' });
    if (FORM.test(text)) throw new ApiError(400, FORM_BODY, { code: 'INVALID_JSON' });
    // The body is JSON with any content type, but the validator would take it for `{}`.
    const headers = { ...c.req.header(), 'content-type': 'application/json' };
    c.req.raw = new Request(c.req.raw, { headers, body: text });
    return validate(c, next);
  };
  return Object.assign(readAndValidate, validate);
}
