/** The client's types, and the fields of an import, made from the OpenAPI document. */

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: string | number | boolean;
  enum?: string[];
  anyOf?: Schema[];
  format?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
}

interface Parameter {
  name: string;
  in: string;
  description: string;
  schema: Schema;
}

interface Body {
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  operationId: string;
  summary: string;
  deprecated?: boolean;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: Body;
  responses: Record<string, Body>;
  security: object[];
}

/** The used part of `docs/openapi.json`. */
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Keywords that TypeScript cannot express, or that are read separately. */
const HAS_NO_TYPE = new Set([
  'description',
  'examples',
  'format',
  'pattern',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'required',
  'propertyNames',
]);
const HAS_TYPE = new Set([
  '$ref',
  'type',
  'const',
  'enum',
  'anyOf',
  'items',
  'properties',
  'additionalProperties',
]);

const HEADER = `// Made by \`npm run openapi\` from the routes and schemas of the service. Do not edit.
`;

const IS_OF_MARKET = /^\/markets\/|\/bbb\//;

/** The addresses of links are those of the service. */
const withoutLinks = (text: string): string => text.replaceAll(/\[([^[\]]+)\]\(\/[^)]*\)/g, '$1');

const comment = (text: string | undefined, indent = ''): string =>
  text === undefined ? '' : `${indent}/** ${withoutLinks(text)} */\n`;

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : JSON.stringify(value);

const union = (types: string[]): string => [...new Set(types)].join(' | ');

function simpleType(type: string, { items, additionalProperties }: Schema): string {
  switch (type) {
    case 'integer':
      return 'number';
    case 'array': {
      const item = typeOf(items ?? {});
      return item.includes('|') ? `(${item})[]` : `${item}[]`;
    }
    case 'object':
      if (typeof additionalProperties !== 'object') throw new Error('An object needs a name');
      return `Record<string, ${typeOf(additionalProperties)}>`;
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return type;
    default:
      throw new Error(`There is no type for ${type}`);
  }
}

/** @throws if a keyword of the schema has no counterpart in TypeScript that is known here */
function typeOf(schema: Schema): string {
  for (const keyword of Object.keys(schema)) {
    if (!HAS_NO_TYPE.has(keyword) && !HAS_TYPE.has(keyword)) {
      throw new Error(`There is no type for the keyword ${keyword}`);
    }
  }
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum) return union(schema.enum.map(literal));
  if (schema.anyOf) return union(schema.anyOf.map(typeOf));
  if (schema.type === undefined) return 'unknown';
  return union([schema.type].flat().map((type) => simpleType(type, schema)));
}

interface Field {
  name: string;
  schema: Schema;
  description: string | undefined;
  isRequired: boolean;
}

/** Optional fields may be undefined, which is not sent. */
const interfaceOf = (name: string, fields: Field[]): string =>
  `export interface ${name} {\n${fields
    .map(({ name, schema, description, isRequired }) => {
      const type = typeOf(schema);
      const line = isRequired ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
      return `${comment(description, '  ')}  ${line};\n`;
    })
    .join('')}}\n`;

function declarationOf(name: string, schema: Schema): string {
  const { properties, required = [], description } = schema;
  const fields = Object.entries(properties ?? {}).map(([field, property]) => ({
    name: field,
    schema: property,
    description: property.description,
    isRequired: required.includes(field),
  }));
  const declaration = properties
    ? interfaceOf(name, fields)
    : `export type ${name} = ${typeOf(schema)};\n`;
  return comment(description) + declaration;
}

function bodyType(body: Body | undefined): string {
  const schema = body?.content?.['application/json']?.schema;
  return schema ? typeOf(schema) : 'undefined';
}

/** The schemas of the objects that an import takes. */
const IMPORTED = {
  products: 'Product',
  customers: 'Customer',
  licenses: 'License',
  blacklists: 'BlacklistEntry',
};

const DERIVED = ['productIdString', 'effectiveEntitlements'];

/** Fields that follow from others, or that are always null, are not imported. */
function importFields(schemas: Record<string, Schema>): string {
  const lists = Object.entries(IMPORTED).map(([kind, schema]) => {
    const names = Object.entries(schemas[schema]?.properties ?? {}).flatMap(([name, { type }]) =>
      type === 'null' || DERIVED.includes(name) ? [] : [`    ${literal(name)},\n`],
    );
    return `  ${kind}: [\n${names.join('')}  ],\n`;
  });
  return `/** The fields that an import takes, as GET shows them. */\nexport const IMPORT_FIELDS = {\n${lists.join('')}};\n\n${importTypes(schemas)}`;
}

/** A field has the same type in each kind of object. */
function importTypes(schemas: Record<string, Schema>): string {
  const types = new Map<string, string>();
  for (const schema of Object.values(IMPORTED)) {
    for (const [name, field] of Object.entries(schemas[schema]?.properties ?? {})) {
      // A field that may be null has several types.
      const all = [field, ...(field.anyOf ?? [])];
      const known = all.flatMap(({ type = [], format = [] }) => [type, format].flat());
      const read = ['integer', 'boolean', 'date-time'].find((one) => known.includes(one));
      if (read !== undefined) types.set(name, read);
    }
  }
  const lines = [...types].map(([name, type]) => `  ${name}: ${literal(type)},\n`);
  return `/** The types of those fields that are no text. */\nexport const IMPORT_TYPES = {\n${lines.join('')}} as const;\n`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The fields of an import, and the types of the bodies, of the queries, and of each operation, by method and path.
 *
 * @throws if a keyword of a schema has no counterpart in TypeScript that is known here
 */
export function clientTypes({ paths, components }: Document): string {
  const declarations = Object.entries(components.schemas).map(([name, schema]) =>
    declarationOf(name, schema),
  );
  const operations: string[] = [];
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      // Only browsers send preflights, only markets send what is theirs, and only older clients use older names.
      if (method === 'options' || IS_OF_MARKET.test(path) || operation.deprecated) continue;
      const { operationId, summary, parameters = [], requestBody, responses } = operation;
      const filters = parameters
        .filter((parameter) => 'name' in parameter)
        .filter((parameter) => parameter.in === 'query')
        .map((parameter) => ({ ...parameter, isRequired: false }));
      const query = `${capital(operationId)}Query`;
      if (filters.length > 0) {
        declarations.push(`/** Filters: ${summary} */\n${interfaceOf(query, filters)}`);
      }
      operations.push(
        `${comment(summary, '  ')}  '${method.toUpperCase()} ${path}': {
    query: ${filters.length > 0 ? query : 'undefined'};
    body: ${bodyType(requestBody)};
    response: ${bodyType(responses[200] ?? responses[201])};
  };\n`,
      );
    }
  }
  const table = `/** The query, the body and the response of each operation. */\nexport interface Operations {\n${operations.join('')}}\n`;
  return [HEADER, importFields(components.schemas), ...declarations, table].join('\n');
}
