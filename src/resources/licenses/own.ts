import { and, eq, ne, type SQL, sql } from 'drizzle-orm';
import { licenses } from '../../db/schema.ts';

/** The licenses that Discord and the page show a person as their own (10). */

/** A customer, or an account at Discord. Only proof links the account to a customer: a license key proves one license. */
export type Person = { customerId: number } | { chatId: string };

/**
 * The licenses of a person that are not DELETED. A license of an account names the account, or names none and belongs to
 * the customer with that account. The plus sign keeps SQLite from reading all licenses without an account.
 */
export const isOwnedBy = (person: Person): SQL | undefined =>
  and(
    'customerId' in person
      ? eq(licenses.customerId, person.customerId)
      : sql`(${licenses.ownerChatId} = ${person.chatId} or (+${licenses.ownerChatId} = ''
          and ${licenses.customerId} in (select id from customers where chat_id = ${person.chatId})))`,
    ne(licenses.state, 'DELETED'),
  );
