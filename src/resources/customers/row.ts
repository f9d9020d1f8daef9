import { pickCustomer } from '@licet/contract/customers';
import { toTimestamp } from '@licet/contract/time';
import { getTableColumns, sql } from 'drizzle-orm';
import type { ListRow } from '../../lib/row-groups.ts';
import { customers } from './schema.ts';

export type CustomerRow = typeof customers.$inferSelect;
/** The columns that a client sets. */
export type CustomerValues = Omit<
  CustomerRow,
  'id' | 'emailNormalized' | 'otherAccountId' | 'createdAt' | 'revision' | 'language'
>;

/** The columns that are not about the person. */
export const KEPT_COLUMNS: readonly string[] = ['id', 'createdAt', 'revision'];

/** Whether nothing identifies a customer, as after the person was forgotten (6). */
export const isForgotten = (row: CustomerRow): boolean =>
  Object.entries(row).every(([name, value]) => KEPT_COLUMNS.includes(name) || value === null);

/** {@link isForgotten} in a select from the customers. */
export const IS_FORGOTTEN = sql`coalesce(${sql.join(
  Object.entries(getTableColumns(customers)).flatMap(([name, { name: column }]) =>
    KEPT_COLUMNS.includes(name) ? [] : [sql.identifier(column)],
  ),
  sql`, `,
)}) is null`;

/** Characters that copying adds, and that nobody sees. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * An e-mail in the form in which e-mails are compared: without regard to case, to the characters that nobody sees, and to
 * whether an accent is a character of its own, as macOS writes it.
 */
export const normalizeEmail = (email: string): string =>
  email.replaceAll(UNSEEN, '').normalize('NFC').trim().toLowerCase();

/** A customer as responses show it. */
export const toCustomer = (row: CustomerRow) =>
  pickCustomer({ ...row, createdAt: toTimestamp(row.createdAt), metadata: row.metadata ?? {} });

/** A customer of a list, with the number of licenses if the client wants it. */
export type ListedCustomer = CustomerRow & ListRow & { licenseCount: number | null };

export const toListedCustomer = ({ licenseCount, ...row }: ListedCustomer) =>
  licenseCount === null ? toCustomer(row) : { ...toCustomer(row), licenseCount };
