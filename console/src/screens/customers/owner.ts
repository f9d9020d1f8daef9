import type { Customer } from '@licet/client';
import { screenTexts } from '../../screen-texts.ts';

/** The owner of a license as the text of a field. */

const words = screenTexts.customers;

/** The text that names a customer in the field: the e-mail, else the id; empty for nobody. */
export const customerText = (customer: Customer | null): string =>
  customer === null ? '' : (customer.email ?? words.nameless(customer.id));

/** The customer that the text of the field names, as a request does. An empty text is nobody. */
export function ownerOfText(text: string) {
  const [, id] = /^customer (\d+)$/i.exec(text) ?? [];
  return id === undefined ? { customerEmail: text || null } : { customerId: Number(id) };
}
