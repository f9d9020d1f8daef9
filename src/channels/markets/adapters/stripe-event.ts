import { numberAt, quantityAt, textAt } from '../json.ts';
import type { Notice, Statement } from '../notice.ts';

/** The parts that the events of Stripe have in common. */

/** The notices of an event, or the reason for none. */
export type Read = readonly Notice[] | { ignored: string; needsPerson?: boolean };

/** An event with its object. */
export interface Event {
  type: string;
  object: unknown;
  /** When it was made, in milliseconds since 1970. */
  at: number;
  isTest: boolean;
}

/** An id, also of an object that was put in the place of its id. */
export const idAt = (value: unknown, path: string): string | null =>
  textAt(value, path) ?? textAt(value, `${path}.id`);

/** A link between two subjects, if both are named. */
export const link = (id: string | null, parent: string | null): Statement[] =>
  id === null || parent === null ? [] : [{ id, parent }];

/** The subscription of an invoice, which newer versions of the interface hold elsewhere. */
export const subscriptionOf = (invoice: unknown): string | null =>
  idAt(invoice, 'subscription') ?? idAt(invoice, 'parent.subscription_details.subscription');

/** The number that the seller has put into the metadata; null without one. */
export const countIn = (metadata: unknown): number | null =>
  numberAt(metadata, 'licet_quantity') === null ? null : quantityAt(metadata, 'licet_quantity');
