import type { Page } from '../db/predicates.ts';
import { wholeGroups } from '../lib/row-groups.ts';

/** The lists of an export, which are read in parts that fit into memory (6). */

/** How an export reads its lists. */
export interface ListReader {
  /** The size of what is in memory at once. */
  chunk: { rows: number; longBytes: number };
  /** Runs a read when it is its turn. */
  turn: <Result>(read: () => Promise<Result>) => Promise<Result>;
}

/** The objects of a list of an export, in groups. @returns whether some are left out */
export type Groups = AsyncGenerator<readonly object[], boolean>;

interface ListPage<Row> {
  rows: readonly Row[];
  hasMore: boolean;
}

/** A list of an export. */
interface List<Row> {
  most: number;
  read: (page: Page) => Promise<ListPage<Row>>;
  readLong?: (rows: readonly Row[]) => Promise<Row[]>;
  /** The id after which the next page begins; undefined for a list that is one page. */
  idOf?: (row: Row) => number;
  toWire: (row: Row) => object;
}

/** Reads pages with one row more, which says that another page follows. */
export const pagesOf =
  <Row>(select: (page: Page) => PromiseLike<Row[]>) =>
  async ({ limit, after }: Page): Promise<ListPage<Row>> => {
    const rows = await select({ limit: limit + 1, after });
    return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
  };

/** Reads a list in parts that fit into memory. */
export async function* readList<Row extends object>(
  { chunk, turn }: ListReader,
  { most, read, readLong, idOf, toWire }: List<Row>,
): Groups {
  const readGroup = readLong && ((group: readonly Row[]) => turn(() => readLong(group)));
  let after: number | undefined;
  for (let left = most; left > 0; ) {
    const page = { limit: Math.min(idOf ? chunk.rows : most, left), after };
    const { rows, hasMore } = await turn(() => read(page));
    for await (const group of wholeGroups(rows, chunk.longBytes, readGroup)) {
      yield group.map(toWire);
    }
    if (!hasMore) return false;
    left -= rows.length;
    const last = rows.at(-1);
    after = last && idOf?.(last);
  }
  return true;
}
