import service from '../../src/index.ts';
import type { Bindings } from '../../src/services.ts';
import { interceptDatabase } from '../../test/support/d1-intercept.ts';

/** The service, with a count of the rows that D1 has read and written. */

/** Responds with the counts since the last time. */
const COUNTS_PATH = '/counts';

let counts = { rowsRead: 0, rowsWritten: 0 };

function count(meta: D1Meta | undefined): void {
  counts.rowsRead += meta?.rows_read ?? 0;
  counts.rowsWritten += meta?.rows_written ?? 0;
}

/** The bindings of this isolate: the platform gives all requests the same ones, and so does this. */
let counted: Bindings | undefined;

function withCounts(env: Bindings): Bindings {
  const DB = interceptDatabase(env.DB, async (statements, send) => {
    const result = await send();
    for (const { sql, params, meta } of statements) {
      // D1 does not report the rows of a single select: it is sent once more.
      count(
        meta ??
          (
            await env.DB.prepare(sql)
              .bind(...params)
              .run()
          ).meta,
      );
    }
    return result;
  });
  return { ...env, DB };
}

export default {
  fetch(request, env, context) {
    counted ??= withCounts(env);
    if (new URL(request.url).pathname !== COUNTS_PATH)
      return service.fetch(request, counted, context);
    const response = Response.json(counts);
    counts = { rowsRead: 0, rowsWritten: 0 };
    return response;
  },
} satisfies ExportedHandler<Bindings>;
