import * as z from 'zod';

/** Names of bodies in the OpenAPI document, and the values that their examples share. */

/** Names a body for the OpenAPI document, with its description and an example. */
export function named<Schema extends z.ZodType>(
  name: string,
  description: string,
  schema: Schema,
  example: z.input<NoInfer<Schema>>,
): Schema {
  z.globalRegistry.add(schema, { id: name, description, example });
  return schema;
}

export const CREATED = '2025-01-27T19:01:25.710+00:00';
export const UPDATED = '2025-02-03T08:15:00.042+00:00';
export const KEY = '7K2M-9QX4-B3TD-WJ8R-5HVN';
