import { KINDS, type Kind } from '@licet/cli/import/kinds';
import { type DragEvent, useState } from 'react';
import { describe, queries } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { FilterSelect } from '../../components/form.tsx';
import { Download, FileUp } from '../../components/icons.tsx';
import { Notice, Page, Section } from '../../components/page.tsx';
import { runWithProgress } from '../../components/progress.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { type Choices, ColumnsView, NO_CHOICES, wantedBy } from './columns.tsx';
import { ReportView } from './report.tsx';
import type { Report } from './run.ts';
import type { OpenedFile } from './source.ts';

const words = screenTexts.transfer;

export const Screen = () => (
  <Page title={words.title} lead={words.lead}>
    <ImportSection />
    <ExportSection />
  </Page>
);

/** The last result for the chosen file. */
interface Outcome {
  report: Report;
  isDryRun: boolean;
}

function ImportSection() {
  const refusal = useRefusal('everything');
  const [file, setFile] = useState<File>();
  const [kind, setKind] = useState<Kind>('licenses');
  const [isBusy, setBusy] = useState(false);
  const [opened, setOpened] = useState<OpenedFile>();
  const [choices, setChoices] = useState(NO_CHOICES);
  const [outcome, setOutcome] = useState<Outcome>();
  const [problem, setProblem] = useState<string>();

  /** Reads the file, which finds its columns. Reports the reason if it cannot be read. */
  const open = async (chosen: File, ofKind: Kind): Promise<OpenedFile | undefined> => {
    setOpened(undefined);
    setOutcome(undefined);
    setProblem(undefined);
    setChoices(NO_CHOICES);
    setBusy(true);
    try {
      const { openFile } = await import('./run.ts');
      const read = () => openFile(chosen, ofKind);
      const result = await runWithProgress(words.reading(chosen.name), read);
      setOpened(result);
      return result;
    } catch (error) {
      await showProblem(chosen, error, true);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  const showProblem = async (chosen: File, error: unknown, isDryRun: boolean): Promise<void> => {
    const { problemOf } = await import('./run.ts');
    const reason = problemOf(error);
    setProblem(
      reason === undefined
        ? [describe(error), isDryRun ? '' : words.failed].join(' ').trim()
        : words.unreadable(chosen.name, reason),
    );
  };
  const choose = (chosen: File | undefined): void => {
    if (!chosen || isBusy) return;
    setFile(chosen);
    void open(chosen, kind);
  };
  const change = (changed: Choices): void => {
    setChoices(changed);
    setOutcome(undefined);
  };
  const run = async (chosen: File, isDryRun: boolean): Promise<void> => {
    const { sourceOf, survey } = opened ?? (await open(chosen, kind)) ?? {};
    if (!sourceOf) return;
    setBusy(true);
    setProblem(undefined);
    const { runImport } = await import('./run.ts');
    try {
      const source = sourceOf(wantedBy(survey, choices));
      const total = Object.values(source.counts).reduce((sum, count) => sum + count, 0);
      const title = isDryRun ? words.checking(chosen.name) : words.importing(chosen.name);
      const report = await runWithProgress(
        title,
        (progress, signal) => runImport(source, isDryRun, progress, signal),
        total,
      );
      if (report) setOutcome({ report, isDryRun });
    } catch (error) {
      await showProblem(chosen, error, isDryRun);
    } finally {
      setBusy(false);
      // Any list may have changed.
      if (!isDryRun) void queries.invalidateQueries({ refetchType: 'none' });
    }
  };

  const created = [...(outcome?.report.counts ?? [])].reduce(
    (sum, [name, count]) => (name.endsWith(' created') ? sum + count : sum),
    0,
  );
  const mayImport = outcome?.isDryRun === true && !outcome.report.isStopped && created > 0;
  return (
    <Section title={words.importTitle}>
      <div className="flex flex-col gap-4 px-4 py-4 sm:px-5">
        {refusal !== undefined ? (
          <p className="text-muted">{refusal}</p>
        ) : (
          <>
            <p className="max-w-prose text-muted">{words.importLead}</p>
            <DropZone file={file} isBusy={isBusy} onChoose={choose} />
            {file && /\.(?:csv|json)$/i.test(file.name) && (
              <div className="flex flex-wrap items-center gap-3">
                <span>{words.kind}</span>
                <FilterSelect
                  label={words.kind}
                  value={kind}
                  options={KINDS.map((each) => [each, words.kinds[each]] as const)}
                  onChange={(chosen = kind) => {
                    if (isBusy) return;
                    setKind(chosen);
                    void open(file, chosen);
                  }}
                />
              </div>
            )}
            {opened && <ColumnsView survey={opened.survey} choices={choices} onChange={change} />}
            {file && (
              <div className="flex flex-wrap items-center gap-3">
                <Button
                  look={mayImport ? 'plain' : 'primary'}
                  disabled={isBusy}
                  onClick={() => void run(file, true)}
                >
                  {words.check}
                </Button>
                {mayImport && (
                  <Button look="primary" disabled={isBusy} onClick={() => void run(file, false)}>
                    {words.import(created)}
                  </Button>
                )}
              </div>
            )}
            {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
            {outcome && <ReportView {...outcome} created={created} />}
            <p className="text-muted">{words.commandLine}</p>
          </>
        )}
      </div>
    </Section>
  );
}

/** Chooses a file by drop, click or keyboard. */
function DropZone({
  file,
  isBusy,
  onChoose,
}: {
  file: File | undefined;
  isBusy: boolean;
  onChoose: (file: File | undefined) => void;
}) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <label
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onChoose(event.dataTransfer.files[0]);
      }}
      className={`flex cursor-pointer flex-col items-center gap-2 rounded-xl border-2 border-dashed px-6 py-8 text-center text-balance focus-within:outline-2 focus-within:outline-offset-2 focus-within:outline-accent ${isOver ? 'border-accent bg-accent-soft' : 'border-line hover:bg-hover'}`}
    >
      <FileUp size={24} aria-hidden className="text-muted" />
      <span className="max-w-full font-medium break-words">{file ? file.name : words.drop}</span>
      <span className="max-w-prose text-muted">{file ? words.other : words.dropHint}</span>
      <input
        type="file"
        accept=".jsonl,.ndjson,.json,.csv"
        className="sr-only"
        disabled={isBusy}
        onChange={({ target }) => {
          onChoose(target.files?.[0]);
          // The same file can be chosen again after it was corrected.
          target.value = '';
        }}
      />
    </label>
  );
}

const RIGHTS = {
  products: 'readProducts',
  customers: 'readCustomers',
  licenses: 'readLicenses',
  blacklists: 'readBlacklists',
} as const;

function ExportSection() {
  return (
    <Section title={words.exportTitle}>
      <p className="max-w-prose px-4 pt-4 text-muted sm:px-5">{words.exportLead}</p>
      <ul className="flex flex-col px-4 py-2 sm:px-5">
        {KINDS.map((kind) => (
          <ExportRow key={kind} kind={kind} />
        ))}
      </ul>
    </Section>
  );
}

function ExportRow({ kind }: { kind: Kind }) {
  const refusal = useRefusal(RIGHTS[kind]);
  const name = words.kinds[kind];
  const save = async (format: 'csv' | 'json'): Promise<void> => {
    try {
      const { countOf, exportAll } = await import('./export.ts');
      const total = await countOf(kind);
      const count = await runWithProgress(
        words.exporting(name),
        (progress, signal) => exportAll(kind, format, progress, signal),
        total,
      );
      if (count !== undefined) toasts.done(words.exported(count));
    } catch (error) {
      toasts.fail(error);
    }
  };
  const formats = [
    ['csv', words.csv, words.csvOf(name)],
    ['json', words.json, words.jsonOf(name)],
  ] as const;
  return (
    <li className="flex flex-wrap items-center gap-2 border-line py-2.5 not-last:border-b">
      <span className={`flex-1 ${refusal === undefined ? 'min-w-16' : 'max-sm:min-w-full'}`}>
        {name}
        {refusal !== undefined && <span className="block text-muted">{refusal}</span>}
      </span>
      {formats.map(([format, label, full]) => (
        <Button key={format} aria-label={full} refusal={refusal} onClick={() => save(format)}>
          <Download size={16} aria-hidden />
          {label}
        </Button>
      ))}
    </li>
  );
}
