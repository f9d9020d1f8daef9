import { type Schema, Validator } from '@cfworker/json-schema';
import * as z from 'zod';
import text from '../../docs/openapi.json?raw';

/** Holds the responses that tests receive against the OpenAPI document. */

const jsonSchema: z.ZodType<Schema> = z.looseObject({});
const media = z.record(
  z.string(),
  z.object({ schema: jsonSchema, example: z.unknown().optional() }),
);
const named = z.object({
  name: z.string(),
  in: z.string(),
  description: z.string(),
  required: z.boolean().default(false),
  schema: jsonSchema,
  example: z.unknown().optional(),
});
const reference = z.object({ $ref: z.string() });

const header = z.object({ required: z.boolean().default(false) });

const response = z.object({
  headers: z.record(z.string(), z.union([reference, header])).default({}),
  content: media.optional(),
});
const operation = z.object({
  operationId: z.string(),
  description: z.string(),
  'x-intents': z.array(z.string()),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(z.union([reference, named])),
  requestBody: z.object({ content: media }).optional(),
  responses: z.record(z.string(), z.union([reference, response])),
});

/** As much of the document as the tests look at. */
export const document = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), operation)),
    components: z.object({
      schemas: z.record(z.string(), jsonSchema),
      responses: z.record(z.string(), response),
      parameters: z.record(z.string(), named),
      headers: z.record(z.string(), header),
    }),
  })
  .parse(JSON.parse(text));
const { components, paths } = document;

type Response = z.infer<typeof response>;

export const resolved = (found: Response | z.infer<typeof reference>): Response | undefined =>
  '$ref' in found ? components.responses[found.$ref.split('/').at(-1) ?? ''] : found;

const validators = new Map<string, Validator>();

/** The parts of a value that do not fit a schema of the document; empty if all do. */
export function misfitsOf(value: unknown, schema: Schema): string[] {
  const key = JSON.stringify(schema);
  const root = { ...schema, components: { schemas: components.schemas } };
  const validator = validators.get(key) ?? new Validator(root, '2020-12');
  validators.set(key, validator);
  return validator
    .validate(value)
    .errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

/** Shipped clients double slashes and end with one. */
const plainPath = (url: string): string =>
  new URL(url).pathname.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');

const patterns = Object.entries(paths).map(([path, operations]) => ({
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  operations,
}));

/** As much of a request as its response depends on. */
type Sent = Pick<Request, 'method' | 'url'>;

/** The responses that a request may get, by their status. */
function responsesTo({ method, url }: Sent): Record<string, Response | undefined> {
  const path = plainPath(url);
  // A fixed path, such as that of a batch, is no id.
  const own = paths[path];
  const fitting = own
    ? [{ operations: own }]
    : patterns.filter(({ pattern }) => pattern.test(path));
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  const found = fitting.map(({ operations }) => operations[name]).find((one) => one !== undefined);
  if (found) {
    const { responses } = found;
    return Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [status, resolved(response)]),
    );
  }
  // No operation: an unknown path, or another method.
  const isLegacy = /^\/api\/v1(\/|$)/.test(path);
  const $ref = `#/components/schemas/${isLegacy ? 'InvalidResponse' : 'Error'}`;
  const refused = { headers: {}, content: { 'application/json': { schema: { $ref } } } };
  const statuses = [fitting.length > 0 ? 405 : 404, ...(isLegacy ? [] : [401, 429, 500])];
  return Object.fromEntries(statuses.map((status) => [status, refused]));
}

interface Received {
  status: number;
  headers: Headers;
  text: string;
  json: unknown;
}

function misfitsOfBody({ headers, text, json }: Received, { content }: Response): string[] {
  if (content === undefined) return text === '' ? [] : ['has a body'];
  const type = headers.get('Content-Type') ?? 'none';
  const declared = Object.entries(content).find(([name]) => type.startsWith(name));
  if (!declared) return [`has the content type ${type}`];
  const [name, { schema }] = declared;
  return misfitsOf(name === 'application/json' ? json : text, schema);
}

/** @throws where a response is not one that the document declares for its request */
export function checkResponse(request: Sent, response: Received): void {
  const path = plainPath(request.url);
  // Not of the interface: the console and the customer's page with their sessions, Discord, notices about mails, assistants and OAuth.
  const isOfOthers =
    /^\/(console|my|discord|mail|mcp|oauth|\.well-known\/oauth-[a-z-]+)(\/|$)/.test(path);
  if (path === '/' || isOfOthers) return;
  const declared = responsesTo(request)[response.status];
  const what = `${request.method} ${request.url} returned ${response.status}`;
  if (!declared) throw new Error(`${what}, which docs/openapi.json does not declare`);
  const missing = Object.entries(declared.headers)
    .filter(([name, found]) => {
      const header = '$ref' in found ? components.headers[name] : found;
      return header?.required && !response.headers.has(name);
    })
    .map(([name]) => name);
  const wrong = request.method === 'HEAD' ? [] : misfitsOfBody(response, declared);
  const problems = [...missing.map((name) => `has no header ${name}`), ...wrong];
  if (problems.length === 0) return;
  throw new Error(`${what}, unlike docs/openapi.json: ${problems.join('; ')}\n${response.text}`);
}
