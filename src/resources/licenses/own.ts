import { and, eq, ne, type SQL, sql } from 'drizzle-orm';
import { licenses } from './schema.ts';

/** The licenses that a person is shown as their own, at Discord and on their page (10). */

/** A customer, or an account at Discord. Only proof makes the account a customer's: a license key proves one license. */
export type Person = { customerId: number } | { chatId: string };

/**
 * The licenses of a person that are not DELETED. Those of an account name it, or name none and belong to the customer
 * that has it. The plus sign keeps SQLite from reading all licenses without an account.
 */
export const isOwnedBy = (person: Person): SQL | undefined =>
  and(
    'customerId' in person
      ? eq(licenses.customerId, person.customerId)
      : sql`(${licenses.ownerChatId} = ${person.chatId} or (+${licenses.ownerChatId} = ''
          and ${licenses.customerId} in (select id from customers where chat_id = ${person.chatId})))`,
    ne(licenses.state, 'DELETED'),
  );
