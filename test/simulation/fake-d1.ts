import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from 'node:sqlite';
import type { VirtualClock } from './clock.ts';
import { type Invocation, type Link, roundTrip } from './network.ts';

type Row = Record<string, SQLOutputValue>;

export interface Statement {
  sql: string;
  parameters: readonly SQLInputValue[];
}

interface Executed {
  columns: string[];
  rows: SQLOutputValue[][];
  changes: number;
}

const MAX_PARAMETERS = 100;
const MIGRATIONS = 'drizzle';

/**
 * The one database of all locations: SQLite in memory with the real migrations. A batch executes at one
 * moment, all or nothing. The drivers of the service need the methods below and no others.
 */
export class FakeD1 {
  /** Called after each execution that wrote rows, before any other event. */
  onWrite: (invocation: Invocation) => void = () => undefined;

  readonly #clock: VirtualClock;
  readonly #database = new DatabaseSync(':memory:');
  readonly #prepared = new Map<string, StatementSync>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    for (const name of readdirSync(MIGRATIONS).sort()) {
      if (!name.endsWith('.sql')) continue;
      this.#database.exec(readFileSync(join(MIGRATIONS, name), 'utf8'));
    }
  }

  /** Reads for the test itself: at once, in spite of faults. */
  read(sql: string): Row[] {
    return this.#database.prepare(sql).all();
  }

  /** Executes all statements or none, as one transaction. */
  execute(statements: readonly Statement[]): Executed[] {
    this.#database.exec('BEGIN');
    try {
      const executed = statements.map((statement) => this.#executeOne(statement));
      this.#database.exec('COMMIT');
      return executed;
    } catch (error) {
      this.#database.exec('ROLLBACK');
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`D1_ERROR: ${message}`, { cause: new Error(message) });
    }
  }

  /**
   * The binding `DB` of an isolate.
   *
   * @param onResult called when the isolate has the results of statements
   */
  binding(link: Link, onResult: (statements: readonly Statement[]) => void = () => undefined) {
    const send = async (statements: readonly Statement[]): Promise<Executed[]> => {
      const results = await roundTrip(this.#clock, link, (invocation) => {
        const executed = this.execute(statements);
        if (executed.some(({ changes }) => changes > 0)) this.onWrite(invocation);
        return executed;
      });
      onResult(statements);
      return results;
    };
    const sendOne = async (statement: Statement): Promise<Executed> => {
      const [result] = await send([statement]);
      if (!result) throw new Error('No result');
      return result;
    };
    const prepare = (sql: string, parameters: readonly SQLInputValue[] = []) => ({
      sql,
      parameters,
      bind: (...values: unknown[]) => prepare(sql, toParameters(values)),
      all: async () => toResult(await sendOne({ sql, parameters })),
      run: async () => toResult(await sendOne({ sql, parameters })),
      raw: async () => (await sendOne({ sql, parameters })).rows,
    });
    return {
      prepare: (sql: string): object => prepare(sql),
      batch: async (statements: readonly Statement[]) => (await send(statements)).map(toResult),
    };
  }

  #executeOne({ sql, parameters }: Statement): Executed {
    const statement = this.#prepared.get(sql) ?? this.#database.prepare(sql);
    this.#prepared.set(sql, statement);
    // Arrays, because an object would lose columns of the same name.
    statement.setReturnArrays(true);
    const before = this.#totalChanges();
    const rows = statement.all(...parameters).map((row) => Object.values(row));
    const columns = statement.columns().map(({ name }) => name);
    return { columns, rows, changes: this.#totalChanges() - before };
  }

  #totalChanges(): number {
    return Number(this.read('select total_changes() as count')[0]?.count);
  }
}

/** D1 stores booleans as 0 and 1, and rejects values without a type in SQLite. */
function toParameters(values: readonly unknown[]): SQLInputValue[] {
  if (values.length > MAX_PARAMETERS) throw new Error('D1_ERROR: too many SQL variables');
  return values.map((value) => {
    if (typeof value === 'boolean') return Number(value);
    if (value === null || typeof value === 'string' || typeof value === 'number') return value;
    if (value instanceof Uint8Array) return value;
    throw new Error(`D1_TYPE_ERROR: Type '${typeof value}' not supported for value`);
  });
}

const toResult = ({ columns, rows, changes }: Executed) => ({
  success: true,
  results: rows.map((row) =>
    Object.fromEntries(row.map((value, index) => [columns[index] ?? '', value])),
  ),
  meta: { changes },
});
