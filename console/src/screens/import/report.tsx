import { KINDS, type Kind } from '@licet/cli/import/kinds';
import { IMPORT_OUTCOMES } from '@licet/contract/enums';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Download } from '../../components/icons.tsx';
import { Notice } from '../../components/page.tsx';
import { SimpleTable } from '../../components/simple-table.tsx';
import { downloadCsv } from '../../csv.ts';
import { formatNumber } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import type { Report } from './run.ts';

const words = screenTexts.transfer;
const SHOWN = 20;

/** Shows the result of an import or its dry run: counts by kind, and each item that is not stored as it was sent. */
export function ReportView({
  report,
  isDryRun,
  created,
}: {
  report: Report;
  isDryRun: boolean;
  created: number;
}) {
  const { counts, findings, ignoredFields, owners, isStopped } = report;
  const kinds = KINDS.filter((kind) =>
    IMPORT_OUTCOMES.some((outcome) => counts.has(`${kind} ${outcome}`)),
  );
  const title = isStopped ? words.stoppedTitle : isDryRun ? words.checkedTitle : words.doneTitle;
  return (
    <section aria-label={title} className="flex flex-col gap-4">
      <div role="status">
        <p className="font-semibold">{title}</p>
        {isStopped && (
          <p className="text-muted">{isDryRun ? words.stoppedCheck : words.stoppedImport}</p>
        )}
        {isDryRun && !isStopped && created === 0 && (
          <p className="text-muted">{words.nothingToImport}</p>
        )}
        {owners > 0 && !isDryRun && <p className="text-muted">{words.owners(owners)}</p>}
      </div>
      <div className="rounded-lg border border-line">
        <SimpleTable<{ id: Kind }>
          label={title}
          rows={kinds.map((id) => ({ id }))}
          columns={[
            [words.outcome, ({ id }) => words.kinds[id]],
            ...IMPORT_OUTCOMES.map(
              (outcome) =>
                [
                  words.outcomes[outcome],
                  ({ id }: { id: Kind }) => formatNumber(counts.get(`${id} ${outcome}`) ?? 0),
                  'number',
                ] as const,
            ),
          ]}
        />
      </div>
      {ignoredFields.size > 0 && (
        <Notice tone="warn">{words.ignored([...ignoredFields].join(', '))}</Notice>
      )}
      {findings.length > 0 && (
        <div className="flex flex-col gap-3">
          <div className="flex flex-wrap items-center justify-between gap-2">
            <h3 className="font-semibold">{words.findings}</h3>
            <Button onClick={() => downloadCsv(words.reportName, report.rows)}>
              <Download size={16} aria-hidden />
              {words.report}
            </Button>
          </div>
          <div className="rounded-lg border border-line">
            <SimpleTable
              label={words.findings}
              rows={findings
                .slice(0, SHOWN)
                .map((finding, index) => ({ ...finding, key: finding.id, id: index }))}
              columns={[
                [
                  words.columns.where,
                  ({ where }) => <span className="whitespace-nowrap">{where}</span>,
                ],
                [
                  words.columns.reason,
                  ({ reason }) => <span className="block min-w-40 break-words">{reason}</span>,
                ],
                [
                  words.columns.outcome,
                  ({ outcome }) => (
                    <Badge tone={outcome === 'refused' ? 'bad' : 'warn'}>
                      {words.outcomes[outcome]}
                    </Badge>
                  ),
                ],
                [
                  words.columns.key,
                  ({ licenseKey, key }) => (
                    <span className="font-mono text-[0.8125rem] whitespace-nowrap">
                      {licenseKey || key}
                    </span>
                  ),
                ],
                [words.columns.kind, ({ kind }) => words.kinds[kind]],
              ]}
            />
          </div>
          {findings.length > SHOWN && (
            <p className="text-muted">{words.findingsShown(SHOWN, findings.length)}</p>
          )}
        </div>
      )}
    </section>
  );
}
