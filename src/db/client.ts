import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';

export type Database = DrizzleD1Database;

/** Opens D1 without a session: every query goes to the primary. */
export const openDatabase = (binding: D1Database): Database => drizzle(binding);

/**
 * The message of SQLite in an error. Drizzle's message around it contains the SQL and its values, which could
 * look like an error and must not be logged.
 */
export function databaseMessage(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return error.cause instanceof Error ? databaseMessage(error.cause) : error.message;
}

/** Whether a write failed on a unique value that another row has. */
export const isUniqueViolation = (error: unknown): boolean =>
  databaseMessage(error).includes('UNIQUE constraint failed');

/** Whether a write failed because it referred to a missing row, or deleted one in use. */
export const isForeignKeyViolation = (error: unknown): boolean =>
  databaseMessage(error).includes('FOREIGN KEY constraint failed');

/** Whether a write failed on a null in a required column. */
export const isMissingValue = (error: unknown): boolean =>
  databaseMessage(error).includes('NOT NULL constraint failed');

/** Whether a write failed because of its values, and would fail again. */
export const isRejectedValue = (error: unknown): boolean =>
  /constraint failed|too big|datatype mismatch/.test(databaseMessage(error));
