import * as z from 'zod';
import { accountId, id, isWebAddress, text, WEB_ADDRESS_MESSAGE } from './fields.ts';
import { MAX_WEB_ADDRESS_LENGTH } from './limits.ts';
import { wireTimestamp } from './time.ts';

/**
 * The fields of resources, and the bodies that are made of them. In comments of this package, (3) is a section of
 * docs/decisions.md, and [4.8] one of docs/interface.md.
 */

/** The ways to set the fields that only the service sets. */
const INSTEAD: Readonly<Record<string, string>> = {
  customer: ': name the owner by customerEmail or customerId',
  licenseKey: ': the service makes it. Keys of your own come by the import',
};

/** A field that only the service sets. Null counts as absent. */
export const mustNotBeSent = z
  .exactOptional(
    z.null({ error: ({ path }) => `must not be sent${INSTEAD[String(path?.at(-1))] ?? ''}` }),
  )
  .describe('Set by the service: must not be sent.');

/** A field that is accepted and not changed, because PUT accepts the body of a GET. */
export const ignored = z
  .exactOptional(z.unknown())
  .describe('Set by the service: accepted and ignored.');

/** A field of a resource. Both bodies, the response, the import and the OpenAPI document are made from it. */
export interface Field {
  /** In the body of POST. */
  create: z.ZodType;
  /** In the body of PUT, where an omitted field keeps its value [4.8]. */
  update: z.ZodType;
  /** In a response. */
  wire: z.ZodType;
  /** For the OpenAPI document. */
  description: string;
  /** Whether a changed value must be an http or https address (3). */
  isWebAddress?: true;
}
export type Fields = Readonly<Record<string, Field>>;

/** A field that POST requires. */
export const required = <Schema extends z.ZodType, Wire extends z.ZodType>(
  schema: Schema,
  wire: Wire,
  description: string,
) => ({ create: schema, update: z.exactOptional(schema), wire, description });

/** A field that POST can omit; `create` has its default. */
export const optional = <
  Create extends z.ZodType,
  Schema extends z.ZodType,
  Wire extends z.ZodType,
>(
  create: Create,
  schema: Schema,
  wire: Wire,
  description: string,
) => ({ create, update: z.exactOptional(schema), wire, description });

/** A field of settings, which have no POST. GET returns it as PUT takes it. */
export const setting = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  required(schema, schema, description);

/** A field that no response has. */
export const writeOnly = <Schema extends z.ZodType>(schema: Schema, description: string) => {
  const sent = z.exactOptional(schema);
  return { create: sent, update: sent, wire: schema, description };
};

function orEmpty(schema: z.ZodType<string>, description: string) {
  const clearable = schema.nullable().transform((value) => value ?? '');
  return optional(clearable.default(''), clearable, z.string(), description);
}

function orNull(schema: z.ZodType<string>, description: string) {
  const nullable = schema.nullable();
  return optional(nullable.default(null), nullable, z.string().nullable(), description);
}

/** Text that is empty by default; null clears it. */
export const textOrEmpty = (maxLength: number, description: string) =>
  orEmpty(text(maxLength), description);

/** Text that is null by default. */
export const textOrNull = (maxLength: number, description: string) =>
  orNull(text(maxLength), description);

/** A number of days from 1 on; null, the default, for none. */
export function daysOrNull(max: number, description: string) {
  const message = `must be an integer from 1 to ${max}`;
  const days = z.int(message).min(1, message).max(max, message).nullable();
  return optional(days.default(null), days, z.int().nullable(), description);
}

/** An http or https address that is null by default. PUT also takes a stored value unchanged (3). */
export function webAddressOrNull(description: string) {
  const stored = text(MAX_WEB_ADDRESS_LENGTH).nullable();
  const address = text(MAX_WEB_ADDRESS_LENGTH)
    .refine(isWebAddress, WEB_ADDRESS_MESSAGE)
    .nullable()
    .default(null);
  const wire = z.string().nullable();
  const field = optional(address, stored, wire, `${description} An http or https address.`);
  return { ...field, isWebAddress: true as const };
}

/** The id of an account elsewhere, empty by default. */
export const accountOrEmpty = (description: string) => orEmpty(accountId, description);

/** The id of an account elsewhere, null by default. */
export const accountOrNull = (description: string) => orNull(accountId, description);

const MADE_BY_SERVICE = 'Set by the service.';

/** A field that the service sets: POST rejects it, and PUT ignores it. */
export const setByService = <Wire extends z.ZodType>(
  wire: Wire,
  description = MADE_BY_SERVICE,
) => ({
  create: mustNotBeSent,
  update: ignored,
  wire,
  description,
});

/** The id of an object. PUT accepts only the id of its path. */
export const objectId = (description = MADE_BY_SERVICE) => ({
  create: mustNotBeSent,
  update: z.exactOptional(id),
  wire: z.int(),
  description,
});

/** The time of creation, or of the last update. */
export const systemTime = setByService(wireTimestamp);

/** A field of the interface for which Licet has no use. */
export const alwaysNull = {
  create: mustNotBeSent,
  update: mustNotBeSent,
  wire: z.null(),
  description: 'Always null.',
};

type Body = 'create' | 'update';
type FormOf<F extends Fields, Form extends Body | 'wire'> = { [Name in keyof F]: F[Name][Form] };

function formOf<F extends Fields, Form extends Body | 'wire'>(
  fields: F,
  form: Form,
): FormOf<F, Form>;
function formOf(fields: Fields, form: Body | 'wire'): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      form === 'wire' || isIn(field, form) ? field[form].describe(field.description) : field[form],
    ]),
  );
}

type Ignored = typeof mustNotBeSent | typeof ignored;
type NameIn<F extends Fields, Form extends Body> = {
  [Name in keyof F]: F[Name][Form] extends Ignored ? never : Name;
}[keyof F];

const isIn = (field: Field, form: Body): boolean =>
  field[form] !== mustNotBeSent && field[form] !== ignored;

/** The fields that a client sets. */
export function settable<F extends Fields>(fields: F): Pick<F, NameIn<F, 'create'>>;
export function settable(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => isIn(field, 'create')));
}

function bodyOf<F extends Fields, Form extends Body>(fields: F, form: Form) {
  const names = Object.entries(fields).flatMap(([name, field]) => (isIn(field, form) ? name : []));
  function pick<Values extends object>(
    values: Values,
  ): Pick<Values, NameIn<F, Form> & keyof Values>;
  function pick(values: object): object {
    return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
  }
  return z.strictObject(formOf(fields, form)).transform((values) => pick(values));
}

/** The body of POST; its output has the fields that the client sets. */
export const createBody = <F extends Fields>(fields: F) => bodyOf(fields, 'create');

/** The body of PUT; its output has the fields that the client changes, and the id that it sent [4.8]. */
export const updateBody = <F extends Fields>(fields: F) => bodyOf(fields, 'update');

/** An object of the resource in a response. */
export const wireBody = <F extends Fields>(fields: F) => z.strictObject(formOf(fields, 'wire'));

/** A function that picks the fields of a response out of an object that has them, and maybe others. */
export function wireMapper<F extends Fields>(
  fields: F,
): (values: z.input<z.ZodObject<FormOf<F, 'wire'>>>) => z.output<z.ZodObject<FormOf<F, 'wire'>>>;
export function wireMapper(fields: Fields): (values: Readonly<Record<string, unknown>>) => unknown {
  const names = Object.keys(fields);
  return (values) => {
    // A list has thousands of objects: this takes half as long as Object.fromEntries.
    const picked: Record<string, unknown> = {};
    for (const name of names) picked[name] = values[name];
    return picked;
  };
}
