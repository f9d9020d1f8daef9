import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';

export type Database = DrizzleD1Database;

/** Without a D1 session every query goes to the primary: strict, and as fresh as it gets. */
export const openDatabase = (binding: D1Database): Database => drizzle(binding);

/**
 * The message of the database about a failed write. Drizzle's own message around it holds the SQL and its
 * values: what a client sent could pass for an error, and nobody may log it.
 */
export function databaseMessage(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return error.cause instanceof Error ? databaseMessage(error.cause) : error.message;
}

/** Whether a write failed because it would have stored a second row with the same unique value. */
export const isUniqueViolation = (error: unknown): boolean =>
  databaseMessage(error).includes('UNIQUE constraint failed');

/** Whether a write failed because it named a row that does not exist, or deleted one in use. */
export const isForeignKeyViolation = (error: unknown): boolean =>
  databaseMessage(error).includes('FOREIGN KEY constraint failed');

/** Whether a write failed because a value was null that must not be. */
export const isMissingValue = (error: unknown): boolean =>
  databaseMessage(error).includes('NOT NULL constraint failed');

/** Whether a write failed because of the values that it would have stored, and would fail again. */
export const isRejectedValue = (error: unknown): boolean =>
  /constraint failed|too big|datatype mismatch/.test(databaseMessage(error));
