import { CliError } from '@licet/cli/cli-error';
import { CutOffError } from '@licet/cli/import/cut-off-error';
import { Import, type Results } from '@licet/cli/import/importer';
import type { Kind, Source } from '@licet/cli/import/kinds';
import { type Named, type Result, reasonOf } from '@licet/cli/import/results';
import { LicetError, type Operations } from '@licet/client';
import type { IMPORT_OUTCOMES } from '@licet/contract/enums';
import { licet } from '../../api.ts';

/** An import from the page, with the importer of the command line. This module is loaded on demand. */

export { openFile } from './source.ts';

/** The reason why a file cannot be read; undefined for another error. */
export const problemOf = (error: unknown): string | undefined =>
  error instanceof CliError || error instanceof CutOffError ? error.message : undefined;

type Outcome = (typeof IMPORT_OUTCOMES)[number];

/** An item that was not stored as it was sent. */
export interface Finding {
  kind: Kind;
  outcome: Outcome;
  where: string;
  id: string;
  licenseKey: string;
  reason: string;
}

/** The result of an import or its dry run. */
export class Report implements Results {
  readonly counts = new Map<`${Kind} ${Outcome}`, number>();
  readonly findings: Finding[] = [];
  readonly ignoredFields = new Set<string>();
  owners = 0;
  /** Whether the viewer stopped it before the end. */
  isStopped = false;

  get refused(): number {
    return this.findings.filter(({ outcome }) => outcome === 'refused').length;
  }

  add(kind: Kind, named: Named, result: Result): void {
    const { outcome, differences } = result;
    this.counts.set(`${kind} ${outcome}`, (this.counts.get(`${kind} ${outcome}`) ?? 0) + 1);
    if (outcome !== 'refused' && differences.length === 0) return;
    this.findings.push({
      kind,
      outcome,
      where: named.where,
      id: String(named.id ?? ''),
      licenseKey: String(named.licenseKey ?? ''),
      reason:
        outcome === 'kept'
          ? [reasonOf(named, result), differences.join(', ')].filter(Boolean).join(': ')
          : (reasonOf(named, result) ?? ''),
    });
  }

  ignore(kind: Kind, names: readonly string[]): void {
    for (const name of names) this.ignoredFields.add(`${kind}: ${name}`);
  }

  addOwners(count: number): void {
    this.owners += count;
  }

  /** The findings as rows of a table, the first with its headings. */
  get rows(): string[][] {
    return [
      ['kind', 'outcome', 'where', 'id', 'licenseKey', 'reason'],
      ...this.findings.map(({ kind, outcome, where, id, licenseKey, reason }) => [
        kind,
        outcome,
        where,
        id,
        licenseKey,
        reason,
      ]),
    ];
  }
}

const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

/** Thrown between two requests after the viewer has stopped the import. */
class Stopped extends Error {}

type Items = Operations['POST /api/v2/import']['body'];
type Response = Operations['POST /api/v2/import']['response'];

async function sendItems(request: Items, signal: AbortSignal): Promise<Response> {
  for (const delayMs of [...RETRY_DELAYS_MS, undefined]) {
    // A request that has begun is finished: its items are in the report.
    if (signal.aborted) throw new Stopped();
    try {
      return await licet.importItems(request);
    } catch (error) {
      const mayPass =
        error instanceof LicetError &&
        (error.status === 0 || error.status === 409 || error.status === 429 || error.status >= 500);
      if (!mayPass || delayMs === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
  throw new Stopped();
}

/** Imports a source, or only checks it. Items that were imported before an error or a stop stay. */
export async function runImport(
  source: Source,
  isDryRun: boolean,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<Report> {
  const report = new Report();
  let done = 0;
  const begin = () => ({
    add(count: number) {
      done += count;
      onProgress(done);
    },
    end() {},
  });
  const target = {
    import: (request: Items) => sendItems(request, signal),
    products: () => licet.products.iterate({}, { signal }),
    timeZone: async () => (await licet.address({ signal })).timeZone,
  };
  try {
    await new Import(source, target, report, isDryRun, begin).run();
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    report.isStopped = true;
  }
  return report;
}
