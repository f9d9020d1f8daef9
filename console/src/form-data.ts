/** The values of a form's fields. */

/** A text without blanks around it; empty without the field. */
export const textIn = (data: FormData, name: string): string => String(data.get(name) ?? '').trim();

/** A number; null for an empty field. */
export const numberIn = (data: FormData, name: string): number | null => {
  const text = textIn(data, name);
  return text === '' ? null : Number(text);
};
