import type { Context } from 'hono';
import * as z from 'zod';
import type { Page } from '../db/predicates';
import { idText, integerText } from '../lib/fields';
import { logFailure } from '../lib/log';
import { expectReading } from './unread';

export const MAX_LIMIT = 1000;

/** Rows in memory while a complete list is sent. */
const CHUNK_ROWS = 1_000;

/** The query parameters of every list. */
export const pageQuery = {
  limit: integerText(MAX_LIMIT).optional(),
  after: z
    .union([z.literal('0').transform(Number), idText], {
      error: 'must be the id of the last object of the page before',
    })
    .optional(),
};

/** Text to search for, without regard to case. */
export const searchText = z.string().trim().min(1).max(100).optional();

export type PageQuery = z.infer<z.ZodObject<typeof pageQuery>>;

interface List<Row extends { id: number }> {
  /** Reads at most `limit` rows after `after`, in the order of the list. */
  read: (page: Page) => Promise<Row[]>;
  /** Undefined if the client does not want the total. */
  count: (() => Promise<number>) | undefined;
  /**
   * Returns the id of the last row that a page after `after` may look at; undefined if it may look at all rows.
   * Without this function, every page may.
   */
  endOfPage?: (after: number | undefined) => Promise<number | undefined>;
}

/**
 * The response to a list. Without `limit` it is complete, and streamed in constant memory. With `limit` it is one
 * page, with the total in `X-Total-Count` and the next page in `Link`. A short page can have a next one.
 */
export async function listResponse<Row extends { id: number }>(
  c: Context,
  { limit, after }: PageQuery,
  list: List<Row>,
  toWire: (row: Row) => object,
): Promise<Response> {
  if (limit === undefined) return streamList(c, after, list, toWire);

  const readPage = async () => {
    const until = await list.endOfPage?.(after);
    return { until, rows: await list.read({ limit: limit + 1, after, until }) };
  };
  const [{ until, rows }, total] = await Promise.all([readPage(), list.count?.()]);
  const shown = rows.slice(0, limit);
  const lastRow = shown.at(-1);
  if (total !== undefined) c.header('X-Total-Count', String(total));
  linkNextPage(c, rows.length > limit ? lastRow?.id : until);
  return c.json(shown.map(toWire));
}

/** Links to the page after an object. */
export function linkNextPage(c: Context, after: number | undefined): void {
  if (after === undefined) return;
  const next = new URL(c.req.url);
  next.searchParams.set('after', String(after));
  c.header('Link', `<${next.href}>; rel="next"`);
}

async function streamList<Row extends { id: number }>(
  c: Context,
  start: number | undefined,
  { read }: List<Row>,
  toWire: (row: Row) => object,
): Promise<Response> {
  const readChunk = (after: number | undefined) => read({ limit: CHUNK_ROWS, after });
  // The first chunk is read before the response starts, so that a failure can still set its status.
  let rows = await readChunk(start);

  async function* jsonArray(): AsyncGenerator<string> {
    yield '[';
    for (let separator = ''; ; separator = ',') {
      const lastRow = rows.at(-1);
      if (lastRow === undefined) break;
      yield separator + rows.map((row) => JSON.stringify(toWire(row))).join(',');
      if (rows.length < CHUNK_ROWS) break;
      rows = await readChunk(lastRow.id);
    }
    yield ']';
  }
  const parts = jsonArray();
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
