import type { PageQuery } from '@licet/contract/parameters';
import type { Context } from 'hono';
import { Turns } from '../lib/admission.ts';
import { logFailure } from '../lib/log.ts';
import { publicUrlOf } from '../lib/public-url.ts';
import { isUnread, type ListRow, wholeGroups } from '../lib/row-groups.ts';
import { expectReading, isOnOneMachine } from './connection.ts';
import { jsonResponse } from './json.ts';

/** The part of a list that is in memory at once. `longBytes` are of its long values, apart from those of the last row. */
interface Chunk {
  rows: number;
  longBytes: number;
}

/** Each chunk is one of the 50 queries that a request of the Free plan may send. */
const LARGE_CHUNK: Chunk = { rows: 1_000, longBytes: 1024 * 1024 };
/**
 * On one machine. The responses of the database to larger queries outlive the young generation, and are freed only by
 * a full collection, which comes late: a list of 77 MB took 250 MB, and the next one as much again.
 */
const SMALL_CHUNK: Chunk = { rows: 250, longBytes: 256 * 1024 };

/** All lists of the isolate share them: together they take no more of its time than one. */
const turns = new Turns();

type IdentifiedRow = ListRow & { id: number };

interface List<Row extends IdentifiedRow> {
  /** Reads at most `limit` rows after `after`, in the order of the list. */
  read: (page: PageQuery & { limit: number }) => Promise<Row[]>;
  /** Reads rows with `unreadBytes` again, with all their values. */
  readLong?: (rows: readonly Row[]) => Promise<Row[]>;
  /** Undefined if the client does not want the total. */
  count: (() => Promise<number>) | undefined;
}

/**
 * The response to a list. Without `limit` it is complete, and streamed in constant memory. With `limit` it is one
 * page, with the total in `X-Total-Count` and the next page in `Link`.
 */
export async function listResponse<Row extends IdentifiedRow>(
  c: Context,
  { limit, after }: PageQuery,
  list: List<Row>,
  toWire: (row: Row) => object,
): Promise<Response> {
  if (limit === undefined) {
    // The first chunk is read before the response starts, so that a failure can still set its status.
    const { rows: chunkRows } = chunkOf(c);
    const rows = await takeTurn(c, () => list.read({ limit: chunkRows, after }));
    return streamList(c, list, { rows, isLast: rows.length < chunkRows }, toWire);
  }

  const [rows, total] = await Promise.all([list.read({ limit: limit + 1, after }), list.count?.()]);
  const shown = rows.slice(0, limit);
  if (total !== undefined) c.header('X-Total-Count', String(total));
  if (rows.length > limit) linkNextPage(c, shown.at(-1)?.id);
  if (isUnread(shown)) return streamList(c, list, { rows: shown, isLast: true }, toWire);
  return jsonResponse(c, shown.map(toWire));
}

/** Links to the page after an object. */
export function linkNextPage(c: Context, after: number | undefined): void {
  if (after === undefined) return;
  const { pathname, searchParams } = new URL(c.req.url);
  searchParams.set('after', String(after));
  const { origin } = publicUrlOf(c.env, c.req.url);
  c.header('Link', `<${origin}${pathname}?${searchParams}>; rel="next"`);
}

/** The size of the parts in which a long response is read. */
export const chunkOf = (c: Context): Chunk => (isOnOneMachine(c.env) ? SMALL_CHUNK : LARGE_CHUNK);

/** Runs a part of the work on a long response, when it is its turn among all of them. */
export const takeTurn = <Result>(c: Context, work: () => Promise<Result>): Promise<Result> =>
  turns.run(work, (turn) => c.executionCtx.waitUntil(turn));

/** Streams a list, or a page with long values, in constant memory. */
function streamList<Row extends IdentifiedRow>(
  c: Context,
  { read, readLong }: List<Row>,
  first: { rows: Row[]; isLast: boolean },
  toWire: (row: Row) => object,
): Response {
  async function* rowGroups(): AsyncGenerator<Row[]> {
    const size = chunkOf(c);
    const readGroup = readLong && ((group: readonly Row[]) => takeTurn(c, () => readLong(group)));
    let rows = first.rows;
    let { isLast } = first;
    for (;;) {
      yield* wholeGroups(rows, size.longBytes, readGroup);
      const after = rows.at(-1)?.id;
      if (isLast || after === undefined) return;
      rows = await takeTurn(c, () => read({ limit: size.rows, after }));
      isLast = rows.length < size.rows;
    }
  }

  async function* jsonArray(): AsyncGenerator<string> {
    yield '[';
    let separator = '';
    for await (const group of rowGroups()) {
      if (group.length === 0) continue;
      yield separator + group.map((row) => JSON.stringify(toWire(row))).join(',');
      separator = ',';
    }
    yield ']\n';
  }
  return streamJson(c, jsonArray());
}

/** Streams the parts of a JSON text. It is cut off if one of them fails. */
export function streamJson(c: Context, parts: AsyncGenerator<string>): Response {
  const stream = new ReadableStream<string>({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
        expectReading(c);
      } catch (error) {
        logFailure('A list broke off', error);
        // The body is cut off, so that no client takes it for complete. The platform would log the error itself.
        controller.error(new Error('The list broke off'));
      }
    },
  });
  const body = stream.pipeThrough(new TextEncoderStream());
  return c.body(body, 200, { 'Content-Type': 'application/json' });
}

/** A part of a list that is read as a whole; `after` is the id of its predecessor. */
export function pageOf<Item extends { id: number }>(
  c: Context,
  items: readonly Item[],
  { limit = items.length, after }: PageQuery,
): readonly Item[] {
  const previous = items.findIndex(({ id }) => id === after);
  // If the predecessor is gone, the page is empty.
  const start = !after ? 0 : previous === -1 ? items.length : previous + 1;
  const page = items.slice(start, start + limit);
  if (start + limit < items.length) linkNextPage(c, page.at(-1)?.id);
  return page;
}
