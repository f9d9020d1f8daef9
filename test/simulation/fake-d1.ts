import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import type { VirtualClock } from './clock.ts';
import { type Invocation, roundTrip } from './invocation.ts';
import type { Link } from './link.ts';

type Row = Record<string, SQLOutputValue>;

interface Executed {
  columns: string[];
  rows: SQLOutputValue[][];
  /** Rows that the statement wrote. */
  changes: number;
}

const MAX_PARAMETERS = 100;

/** Part of the statement that writes records. */
const RECORDS = 'insert into "requests"';

/** D1 stores booleans as 0 and 1, and rejects values without a type in SQLite. */
function toParameter(value: unknown): SQLInputValue {
  if (typeof value === 'boolean') return Number(value);
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (value instanceof Uint8Array) return value;
  throw new Error(`D1_TYPE_ERROR: Type '${typeof value}' not supported for value`);
}

/**
 * The one database of all locations: SQLite in memory with the real migrations. A batch executes at one
 * moment; the way there and back takes time and can fail (see {@link roundTrip}). Read replicas are not
 * modelled, so `withSession` is rejected.
 */
export class FakeD1 {
  /** Called after each execution that wrote rows, before any other event. */
  onWrite: (invocation: Invocation) => void = () => undefined;
  /** Called when an isolate writes records. It returns a function that is called when the isolate has the result. */
  onRecords: (invocation: Invocation) => () => void = () => () => undefined;

  readonly #clock: VirtualClock;
  readonly #database: PristineDatabase;

  constructor(clock: VirtualClock, database: PristineDatabase) {
    this.#clock = clock;
    this.#database = database;
  }

  /** Reads for the test itself: at once, in spite of faults. */
  read(sql: string): Row[] {
    const [result] = this.#database.execute([new FakeStatement(sql, [], () => never(sql))]);
    return result ? toObjects(result) : [];
  }

  /** The binding `DB` of an isolate. */
  binding(link: Link): object {
    const send = async (statements: readonly FakeStatement[]): Promise<Executed[]> => {
      let onResult: (() => void) | undefined;
      const results = await roundTrip(this.#clock, link, (invocation) => {
        const executed = this.#database.execute(statements);
        if (executed.some(({ changes }) => changes > 0)) this.onWrite(invocation);
        if (statements.some(({ sql }) => sql.includes(RECORDS)))
          onResult = this.onRecords(invocation);
        return executed;
      });
      onResult?.();
      return results;
    };
    return {
      prepare: (sql: string) => new FakeStatement(sql, [], send),
      batch: async (statements: readonly FakeStatement[]) => (await send(statements)).map(toResult),
      exec: () => never('exec'),
      dump: () => never('dump'),
      withSession: () => never('withSession'),
    };
  }
}

function never(what: string): never {
  throw new Error(`Not modelled: D1's ${what}`);
}

type Send = (statements: readonly FakeStatement[]) => Promise<Executed[]>;

class FakeStatement {
  readonly sql: string;
  readonly parameters: readonly SQLInputValue[];
  readonly #send: Send;

  constructor(sql: string, parameters: readonly SQLInputValue[], send: Send) {
    this.sql = sql;
    this.parameters = parameters;
    this.#send = send;
  }

  bind(...values: unknown[]): FakeStatement {
    if (values.length > MAX_PARAMETERS) throw new Error('D1_ERROR: too many SQL variables');
    return new FakeStatement(this.sql, values.map(toParameter), this.#send);
  }

  async #execute(): Promise<Executed> {
    const [result] = await this.#send([this]);
    if (!result) throw new Error('No result');
    return result;
  }

  all = async () => toResult(await this.#execute());
  run = this.all;

  async raw({ columnNames = false } = {}): Promise<unknown[][]> {
    const { columns, rows } = await this.#execute();
    return columnNames ? [columns, ...rows] : rows;
  }

  async first(column?: string): Promise<Row | SQLOutputValue | null> {
    const [row] = toObjects(await this.#execute());
    if (row === undefined) return null;
    return column === undefined ? row : (row[column] ?? null);
  }
}

/** The last one of columns with the same name counts, as in D1. */
const toObjects = ({ columns, rows }: Executed): Row[] =>
  rows.map((row) => Object.fromEntries(row.map((value, index) => [columns[index] ?? '', value])));

const toResult = (executed: Executed) => ({
  success: true,
  results: toObjects(executed),
  meta: {
    changes: executed.changes,
    changed_db: executed.changes > 0,
    // The platform also counts indexes; no test here depends on the number.
    rows_written: executed.changes,
    rows_read: executed.rows.length,
    duration: 0,
    last_row_id: 0,
    size_after: 0,
    served_by: 'model',
  },
});

/** SQLite in memory that returns to the state after the migrations in no time. */
export class PristineDatabase {
  readonly #database = new DatabaseSync(':memory:');
  readonly #prepared = new Map<string, ReturnType<DatabaseSync['prepare']>>();

  constructor(migrationsFolder: string) {
    const files = readdirSync(migrationsFolder).filter((name) => name.endsWith('.sql'));
    for (const name of files.sort()) {
      this.#database.exec(readFileSync(join(migrationsFolder, name), 'utf8'));
    }
    this.#database.exec('BEGIN');
  }

  /** Removes all rows that were written, and the ids that were given out. */
  restore(): void {
    this.#database.exec('ROLLBACK; BEGIN');
  }

  /** Executes all statements or none, as one transaction. */
  execute(statements: readonly Pick<FakeStatement, 'sql' | 'parameters'>[]): Executed[] {
    this.#database.exec('SAVEPOINT batch');
    try {
      return statements.map((statement) => this.#executeOne(statement));
    } catch (error) {
      this.#database.exec('ROLLBACK TO batch');
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`D1_ERROR: ${message}`, { cause: new Error(message) });
    } finally {
      this.#database.exec('RELEASE batch');
    }
  }

  #executeOne({ sql, parameters }: Pick<FakeStatement, 'sql' | 'parameters'>): Executed {
    const statement = this.#prepare(sql);
    const before = this.#totalChanges();
    // Arrays, because an object would lose columns of the same name.
    const rows = statement.all(...parameters).map((row) => Object.values(row));
    return {
      columns: statement.columns().map(({ name }) => name),
      rows,
      changes: this.#totalChanges() - before,
    };
  }

  #totalChanges(): number {
    const [row] = this.#prepare('SELECT total_changes()').all();
    return Number(Object.values(row ?? {})[0]);
  }

  #prepare(sql: string): ReturnType<DatabaseSync['prepare']> {
    let statement = this.#prepared.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      statement.setReturnArrays(true);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}
