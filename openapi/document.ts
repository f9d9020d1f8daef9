import type { ApiIntent } from '@licet/contract/enums';
import * as z from 'zod';
import {
  createDocument,
  type oas32,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
} from 'zod-openapi';
import { version } from '../package.json';
import { declaredIntents } from '../src/auth/middleware.ts';
import { type Input, isInput } from '../src/http/input.ts';
import { routes as appRoutes } from '../src/routes/app.ts';
import {
  CHECKED,
  GUARDED,
  HEADERS,
  json,
  OPERATIONS,
  type Operation,
  REQUEST_HEADERS,
  requestHeader,
  TAGS,
  WITH_BODY,
} from './operations.ts';
import { BODIES, BODY_NAMES, PARAMETER_EXAMPLES, PARAMETERS, registerMetadata } from './schemas.ts';

/**
 * The OpenAPI document. The paths, intents and schemas come from the routes of the app. The Worker does not
 * import this: `npm run openapi` writes the document to a file, which is served as it is.
 *
 * The document is public, also without a token (3.1). It repeats the sources, and contains no id or key of an
 * installation.
 */

const DESCRIPTION = `Licet answers programs that ask "may this key run here?", and lets you manage products, licenses,
customers and blacklists.

All of v2 but the health check takes an API token in the header \`TOKEN\`; any one of an operation's
\`x-intents\` opens it. Bodies are JSON, whatever the content type says. An unknown path returns 404, and
a path with another method 405 with \`Allow\`, with the body of any other error.

Every response has an \`X-Request-Id\`: that of the request (up to 64 letters, digits, \`-\`, \`_\` and \`=\`), or a
new one. The log has it too. With a live token, \`X-Server-Timing: 1\` asks for \`Server-Timing\`: where the request
spent its time, in milliseconds.

Numbers in brackets are sections of the interface (\`docs/interface.md\`).`;

export type OpenApiDocument = ReturnType<typeof createDocument>;

export interface Route {
  method: string;
  path: string;
  /** Undefined if no token is needed. */
  intents: readonly ApiIntent[] | undefined;
  inputs: readonly Input[];
}

/** The routes of the service, with the intents and the inputs declared beside their paths. */
export function declaredRoutes(): Route[] {
  const routes = new Map<string, Route>();
  for (const { method, path, handler } of appRoutes) {
    // The routes of the console are for its page alone.
    if (method === 'ALL' || path.startsWith('/console')) continue;
    const key = `${method} ${path}`;
    const { intents, inputs } = routes.get(key) ?? { intents: undefined, inputs: [] };
    routes.set(key, {
      method,
      path,
      intents: intents ?? declaredIntents(handler),
      inputs: isInput(handler) ? [...inputs, handler] : inputs,
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

function bodyOf(route: Route, { body }: Operation): ZodOpenApiOperationObject['requestBody'] {
  const schema = inputOf(route, 'json');
  const name = body ?? BODY_NAMES.find((known) => BODIES[known].schema === schema);
  if (name !== undefined) return { required: true, content: json(name) };
  if (schema !== undefined)
    throw new Error(`${route.method} ${route.path} has a body without a name`);
  return undefined;
}

function describeRoute(route: Route): ZodOpenApiOperationObject {
  const { intents, inputs } = route;
  const operation = OPERATIONS[`${route.method} ${route.path}`];
  if (!operation) throw new Error(`${route.method} ${route.path} has no operation`);
  const { operationId, tag, summary, description, responses } = operation;
  const requestBody = bodyOf(route, operation);
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: intents ? [{ TOKEN: [] }] : [],
    'x-intents': [...(intents ?? [])],
    requestParams: {
      path: z.object(parametersOf(route, 'param')),
      query: z.object(parametersOf(route, 'query')),
    },
    parameters: Object.keys(parametersOf(route, 'header')).map(requestHeader),
    ...(requestBody && { requestBody }),
    responses: {
      ...(intents && GUARDED),
      ...(inputs.some(isChecked) && CHECKED),
      ...(inputOf(route, 'json') && WITH_BODY),
      ...responses,
    },
  };
}

function meaningOf(name: string, meanings: Readonly<Record<string, string>>): string {
  const meaning = meanings[name];
  if (meaning === undefined) throw new Error(`${name} has no description`);
  return meaning;
}

/** Removes the range of safe integers, by which zod describes any integer. */
function dropRangeOfIntegers(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/**
 * Adds the example of a parameter. The page `/docs` fills its forms with examples of parameters, but not with
 * those of schemas. Optional parameters therefore have theirs in the schema, except `limit`: a complete list may
 * be longer than a person wants.
 */
function addExample(parameter: oas32.ParameterObject): void {
  const { name, in: place, schema } = parameter;
  const example = PARAMETER_EXAMPLES[name];
  if (example === undefined) return;
  if (place === 'path' || name === 'limit') parameter.example = example;
  else if (typeof schema === 'object' && !('$ref' in schema)) schema.examples = [example];
}

const operationsOf = (item: oas32.PathItemObject): oas32.OperationObject[] =>
  [item.get, item.post, item.put, item.delete, item.options].filter(
    (operation) => operation !== undefined,
  );

/** Adds the descriptions of fields and parameters. */
function describeParts({ components, paths = {} }: OpenApiDocument): void {
  for (const name of BODY_NAMES) {
    const schema = components?.schemas?.[name];
    if (typeof schema !== 'object' || !('properties' in schema)) throw new Error(`No body ${name}`);
    for (const [field, property] of Object.entries(schema.properties ?? {})) {
      if (typeof property === 'object')
        property.description ??= meaningOf(field, BODIES[name].fields);
    }
  }
  for (const item of Object.values(paths)) {
    for (const operation of operationsOf(item)) {
      for (const parameter of operation.parameters ?? []) {
        if (!('name' in parameter)) continue;
        parameter.description = meaningOf(parameter.name, PARAMETERS);
        addExample(parameter);
      }
    }
  }
}

/** @throws if a route has no operation */
export function openApiDocument(): OpenApiDocument {
  registerMetadata();
  const routes = declaredRoutes();
  const paths = Map.groupBy(routes, ({ path }) => templateOf(path));
  const description: ZodOpenApiObject = {
    openapi: '3.1.1',
    info: {
      title: 'Licet',
      version,
      summary: 'A license service for sellers of plugins, mods, bots and software',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The service that this document comes from' }],
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
            'An API token. The `x-intents` of an operation are the intents that open it [5].',
        },
      },
      parameters: REQUEST_HEADERS,
      headers: HEADERS,
    },
  };
  const document = createDocument(description, {
    override: ({ jsonSchema }) => dropRangeOfIntegers(jsonSchema),
  });
  describeParts(document);
  return document;
}
