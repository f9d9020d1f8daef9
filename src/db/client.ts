import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';

export type Database = DrizzleD1Database;

export const openDatabase = (binding: D1Database): Database => drizzle(binding);

/** The text of an error and of what caused it. It can hold SQL and its values: never log it. */
function fullMessage(error: unknown): string {
  return error instanceof Error ? `${error.message} ${fullMessage(error.cause)}` : '';
}

/** Whether a write failed because it would have stored a second row with the same unique value. */
export const isUniqueViolation = (error: unknown): boolean =>
  fullMessage(error).includes('UNIQUE constraint failed');

/** Whether a write failed because it named a row that does not exist, or deleted one in use. */
export const isForeignKeyViolation = (error: unknown): boolean =>
  fullMessage(error).includes('FOREIGN KEY constraint failed');
