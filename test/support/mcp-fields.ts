/** The fields of an object in a message of an assistant. */
export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null;

/** None for anything else than an object. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
