import type { ApiIntent } from '@licet/contract/enums';
import { errorCode } from '@licet/contract/errors';
import { isObject } from '@licet/contract/json';
import { validationRequest } from '@licet/contract/validation';
import * as z from 'zod';
import {
  type CreateDocumentOptions,
  createDocument,
  type oas32,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
} from 'zod-openapi';
import licet from '../package.json' with { type: 'json' };
import { declaredIntents } from '../src/auth/middleware.ts';
import { type Input, isInput, isOptional } from '../src/http/input.ts';
import { declaredOperation, type Operation, type Tag } from '../src/http/operation.ts';
import { routes as appRoutes } from '../src/routes/app.ts';
import { accessText, type ErrorStatus, HEADERS, json, responsesOf } from './responses.ts';

/**
 * The OpenAPI document. The paths, intents and schemas come from the routes of the app. The Worker does not
 * import this: `npm run openapi` writes the document to a file, which is served as it is.
 *
 * The document is public, also without a token (3.1). It repeats the sources, and contains no id or key of an
 * installation.
 */

const DESCRIPTION = `Licet responds to programs that ask "may this key run here?", and lets you manage products, licenses,
customers and blacklists.

All of v2 but the health check takes an API token in the header \`TOKEN\`. Each operation begins with the intents that
open it; one of them is enough. Bodies are JSON, whatever the content type says. An unknown path returns 404, and
a path with another method 405 with \`Allow\`, with the body of any other error.

Every response has an \`X-Request-Id\`: that of the request (up to 64 letters, digits, \`-\`, \`_\` and \`=\`), or a
new one. The log has it too.

Numbers in brackets are sections of [the interface](/docs/interface). The guides are at [/docs/guides](/docs/guides).`;

const TAGS: Readonly<Record<Tag, string>> = {
  Validation: 'The requests of programs [4.6, 4.7].',
  Service: 'Checks of the service and of a token [4.1].',
  Products: 'The programs that are sold [4.2].',
  Licenses: 'Permissions to run a product [4.3].',
  Blacklists: 'Blocked addresses and hardware IDs [4.4].',
  Requests: 'The history of validations [4.5].',
  Statistics: 'Counts of validations, licenses and installations; an extension.',
  Customers: 'The owners of licenses [4.5].',
  Tokens: 'API tokens and their intents; an extension [5].',
  Events: 'The log of changes; an extension.',
  Webhooks: 'Addresses to which events are sent, their deliveries and their tests. An extension.',
  Markets: 'Shops that sell keys, and what arrived from them. An extension.',
  Purchases: 'Purchases at markets, and their licenses. An extension.',
  Settings: 'How the service shows itself to customers. An extension.',
  Mails: 'Mails to customers, and a test. An extension.',
  Import: 'Moving here from another service; an extension.',
};

export type OpenApiDocument = ReturnType<typeof createDocument>;

export interface Route {
  method: string;
  path: string;
  /** Undefined if no token is needed. */
  intents: readonly ApiIntent[] | undefined;
  inputs: readonly Input[];
  operation: Operation | undefined;
}

/** The routes of the service, with the intents, the inputs and the operation declared beside their paths. */
export function declaredRoutes(): Route[] {
  const routes = new Map<string, Route>();
  for (const { method, path, handler } of appRoutes) {
    // Not of the interface: `/`, and the routes of the console, of the customer's page, of Discord, of notices about mails, of assistants and of OAuth,
    // which are for these alone.
    const isOfOthers = /^\/(console|my|discord|mail|mcp|oauth|\.well-known\/oauth)\b/.test(path);
    if (method === 'ALL' || path === '/' || isOfOthers) continue;
    const key = `${method} ${path}`;
    const { intents, inputs = [], operation } = routes.get(key) ?? {};
    routes.set(key, {
      method,
      path,
      intents: intents ?? declaredIntents(handler),
      inputs: isInput(handler) ? [...inputs, handler] : inputs,
      operation: operation ?? declaredOperation(handler),
    });
  }
  return [...routes.values()];
}

/** A path as OpenAPI writes it, with `{id}` for `:id`. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');

const inputOf = ({ inputs }: Route, part: Input['target']): z.ZodType | undefined =>
  inputs.find(({ target }) => target === part)?.schema;

function parametersOf(route: Route, part: 'param' | 'query' | 'header'): Record<string, z.ZodType> {
  const schema = inputOf(route, part);
  return schema instanceof z.ZodObject ? schema.shape : {};
}

/** Whether an input can be invalid: a path with any text cannot. */
const isChecked = ({ target, schema }: Input): boolean =>
  target !== 'param' ||
  !(schema instanceof z.ZodObject && Object.values(schema.shape).every(isAnyText));

const isAnyText = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodString && schema.def.checks === undefined;

/** The errors that follow from what a route declares. */
function errorsOf(route: Route, hasBody: boolean): ErrorStatus[] {
  const { intents, inputs, operation } = route;
  const headers = parametersOf(route, 'header');
  return [
    ...(operation?.errors ?? []),
    ...(intents ? ([401, 403, 429, 500] as const) : []),
    ...(inputs.some(isChecked) ? ([400] as const) : []),
    ...(hasBody ? ([408, 413, 415] as const) : []),
    ...('If-Match' in headers ? ([409, 412] as const) : []),
    ...('If-Match' in headers && 'id' in parametersOf(route, 'param') ? ([404] as const) : []),
    ...('Idempotency-Key' in headers ? ([409, 422] as const) : []),
  ];
}

/** The sentence about the header that a POST of management ignores (3). */
function repetitionText(route: Route): string {
  const ignoresKey =
    route.method === 'POST' &&
    route.intents !== undefined &&
    !('Idempotency-Key' in parametersOf(route, 'header'));
  return ignoresKey
    ? 'An `Idempotency-Key` has no effect: a repetition of the request is another request.'
    : '';
}

/** @throws for a route without an operation */
function describeRoute(route: Route): ZodOpenApiOperationObject {
  const { method, path, intents, inputs, operation } = route;
  if (!operation) throw new Error(`${method} ${path} has no operation`);
  const { operationId, tag, summary, description, success, deprecated } = operation;
  const body = success === 'validation' ? validationRequest : inputOf(route, 'json');
  return {
    operationId,
    tags: [tag],
    summary,
    description: [accessText(intents), description, repetitionText(route)]
      .filter((part) => part !== '')
      .join('\n\n'),
    ...(deprecated && { deprecated }),
    security: intents ? [{ TOKEN: [] }] : [],
    'x-intents': [...(intents ?? [])],
    requestParams: {
      path: z.object(parametersOf(route, 'param')),
      query: z.object(parametersOf(route, 'query')),
      header: z.object(parametersOf(route, 'header')),
    },
    ...(body && { requestBody: { required: !isOptional(body), content: json(body) } }),
    responses: responsesOf({ operation, intents, inputs }, errorsOf(route, body !== undefined)),
  };
}

type Override = NonNullable<CreateDocumentOptions['override']>;

/** Removes the range of safe integers, by which zod describes any integer. */
function dropRangeOfIntegers(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/** Completes the schema of a type of zod, which leaves out the description of a field if its type has the same. */
const complete: Override = ({ jsonSchema, zodSchema }) => {
  dropRangeOfIntegers(jsonSchema);
  if (!(zodSchema instanceof z.ZodObject)) return;
  for (const [name, property] of Object.entries(jsonSchema.properties ?? {})) {
    const { id, description } = z.globalRegistry.get(zodSchema.shape[name]) ?? {};
    // The description of a named body is not that of a field.
    if (id !== undefined || description === undefined || typeof property !== 'object') continue;
    property.description = description;
  }
};

/**
 * Checks the fields of the bodies, and removes the examples, which stand beside the schemas.
 *
 * @throws for a field without a description
 */
function finishBodies({ components }: OpenApiDocument): void {
  for (const [body, schema] of Object.entries(components?.schemas ?? {})) {
    if (typeof schema !== 'object' || !('properties' in schema)) continue;
    delete schema.example;
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (typeof property !== 'object' || property.description === undefined) {
        throw new Error(`${name} of ${body} has no description`);
      }
      const { description } = property;
      if ('example' in property) delete property.example;
      // Last, as everywhere.
      delete property.description;
      property.description = description;
    }
  }
}

/**
 * Moves the description of a parameter out of its schema, and the example of some. The page `/docs` fills its forms
 * with examples of parameters, but not with those of schemas. Optional parameters therefore have theirs in the schema,
 * except `limit`: a complete list may be longer than a person wants.
 *
 * @throws for a parameter without a description
 */
function finishParameter(parameter: oas32.ParameterObject): void {
  const { name, in: place, schema } = parameter;
  if (typeof schema !== 'object' || schema.description === undefined) {
    throw new Error(`${name} has no description`);
  }
  parameter.description = schema.description;
  delete schema.description;
  if (!('example' in schema)) return;
  const { example } = schema;
  delete schema.example;
  if (place === 'path' || name === 'limit') parameter.example = example;
  else if (!('$ref' in schema)) schema.examples = [example];
}

/** Makes links of the numbers in brackets, which are sections of the interface. */
const withLinks = (description: string): string =>
  description.replaceAll(/\[(\d(?:\.\d)?(?:, \d(?:\.\d)?)*)\]/g, (_, sections: string) => {
    const links = sections.split(', ').map((section) => `[${section}](/docs/interface#${section})`);
    return `[${links.join(', ')}]`;
  });

function linkSections(part: object): void {
  for (const [key, value] of Object.entries(part)) {
    if (key === 'description' && typeof value === 'string') {
      Object.assign(part, { description: withLinks(value) });
    } else if (Array.isArray(value) || isObject(value)) linkSections(value);
  }
}

const operationsOf = (item: oas32.PathItemObject): oas32.OperationObject[] =>
  [item.get, item.post, item.put, item.delete, item.options].filter(
    (operation) => operation !== undefined,
  );

/** @throws if a route has no operation */
export function openApiDocument(): OpenApiDocument {
  const routes = declaredRoutes();
  const paths = Map.groupBy(routes, ({ path }) => templateOf(path));
  const description: ZodOpenApiObject = {
    openapi: '3.1.1',
    info: {
      title: 'Licet',
      version: licet.version,
      summary: 'A license service for sellers of plugins, mods, bots and software',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      [...paths].map(([path, methods]) => [
        path,
        Object.fromEntries(
          methods.map((route) => [route.method.toLowerCase(), describeRoute(route)]),
        ),
      ]),
    ),
    components: {
      securitySchemes: {
        TOKEN: {
          type: 'apiKey',
          in: 'header',
          name: 'TOKEN',
          description:
            'An API token [5]. On a machine of your own, `npm start` writes the root token, which may do everything, as `ROOT_TOKEN` into `.dev.vars`. `npm run deploy` writes it into `.root-token.licet`, by the name of the Worker.',
        },
      },
      headers: HEADERS,
      schemas: { ErrorCode: errorCode },
    },
  };
  const document = createDocument(description, { override: complete });
  finishBodies(document);
  const operations = Object.values(document.paths ?? {}).flatMap(operationsOf);
  for (const parameter of [
    ...operations.flatMap(({ parameters = [] }) => parameters),
    ...Object.values(document.components?.parameters ?? {}),
  ]) {
    if ('name' in parameter) finishParameter(parameter);
  }
  linkSections(document);
  return document;
}
