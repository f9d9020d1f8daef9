import type { Kind } from '@licet/cli/import/kinds';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { licet } from '../../api.ts';
import { datedName, ItemRows, saveFile } from '../../csv.ts';

/** Exports of all items of a kind, page by page. */

type Format = 'csv' | 'json';

/** All items. For licenses also the deleted ones, which are in a list of their own. */
async function* itemsOf(kind: Kind, signal: AbortSignal): AsyncGenerator<object> {
  const query = { limit: MAX_PAGE_OBJECTS };
  yield* licet[kind].iterate(query, { signal });
  if (kind !== 'licenses') return;
  yield* licet.licenses.iterate({ ...query, licenseStatus: 'DELETED' }, { signal });
}

/** The number of items of a kind; undefined if the service does not count them. */
export async function countOf(kind: Kind): Promise<number | undefined> {
  const { total } = await licet[kind].page({ limit: 1 });
  if (kind !== 'licenses' || total === undefined) return total;
  const deleted = await licet.licenses.page({ limit: 1, licenseStatus: 'DELETED' });
  return total + (deleted.total ?? 0);
}

/** Writes a file with all items of a kind, in a form that the import accepts. */
export async function exportAll(
  kind: Kind,
  format: Format,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<number> {
  const isCsv = format === 'csv';
  const rows = new ItemRows(kind);
  const parts: string[] = [`{"${kind}":[`];
  let page: string[] = [];
  let done = 0;
  for await (const item of itemsOf(kind, signal)) {
    if (isCsv) rows.add(item);
    else page.push(`${done === 0 ? '' : ','}\n${JSON.stringify(item)}`);
    done++;
    if (done % MAX_PAGE_OBJECTS === 0) {
      parts.push(page.join(''));
      page = [];
      onProgress(done);
    }
  }
  const name = datedName(kind, format);
  if (isCsv) saveFile(name, 'text/csv', [...rows.parts()]);
  else saveFile(name, 'application/json', [...parts, ...page, '\n]}\n']);
  return done;
}
