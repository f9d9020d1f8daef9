import { IPV6_SLOT_PREFIX } from '@licet/contract/limits';
import type { BatchItem } from 'drizzle-orm/batch';
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1';

/** A setting on which queries depend. */
interface SlotSetting {
  /** The bits of an IPv6 address that count for a slot (1.4). */
  readonly ipv6SlotPrefix: number;
}

export type Database = DrizzleD1Database & SlotSetting;

/** Opens D1 without a session: every query goes to the primary. */
export const openDatabase = (
  binding: D1Database,
  ipv6SlotPrefix: number = IPV6_SLOT_PREFIX.default,
): Database => Object.assign(drizzle(binding), { ipv6SlotPrefix });

/** Opens D1 like {@link openDatabase}, and counts its queries. */
export function openCounted(
  binding: D1Database,
  ipv6SlotPrefix: number,
): { db: Database; queries: () => number } {
  let queries = 0;
  const counted = new Proxy(binding, {
    get(target, name) {
      // A query is prepared once, also that of a batch.
      if (name === 'prepare') queries++;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { db: openDatabase(counted, ipv6SlotPrefix), queries: () => queries };
}

export type Statement = BatchItem<'sqlite'>;

/** Statements of a batch, in their order. */
export type Statements = Readonly<Record<string, Statement | readonly Statement[]>>;

/** The results of a batch. A list has that of its last statement. */
export type Results<Named extends Statements> = {
  [Name in keyof Named]: Named[Name] extends Statement
    ? Named[Name]['_']['result']
    : Named[Name] extends readonly (infer One extends Statement)[]
      ? One['_']['result'] | undefined
      : unknown;
};

/** Runs statements in one transaction. @returns their results, by name */
export function batch<Named extends Statements>(
  db: Database,
  statements: Named,
): Promise<Results<Named>>;
export async function batch(db: Database, statements: Statements) {
  const named = Object.entries(statements).flatMap(([name, one]) =>
    [one].flat().map((statement) => ({ name, statement })),
  );
  const [first, ...others] = named.map(({ statement }) => statement);
  const results: unknown[] = first ? await db.batch([first, ...others]) : [];
  return Object.fromEntries(named.map(({ name }, index) => [name, results[index]]));
}

/**
 * The message of SQLite in an error. Drizzle's message around it contains the SQL and its values, which could
 * look like an error and must not be logged.
 */
function databaseMessage(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return error.cause instanceof Error ? databaseMessage(error.cause) : error.message;
}

/** The CHECK constraint on which a write failed; undefined for another error. */
export const failedCheck = (error: unknown): string | undefined =>
  /CHECK constraint failed: (\w+)/.exec(databaseMessage(error))?.[1];

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

/** Whether a query failed because its request had made as many as Cloudflare allows. */
export const isOutOfQueries = (error: unknown): boolean =>
  /too many (api requests|subrequests|queries)/i.test(databaseMessage(error));
