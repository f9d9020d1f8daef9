import type { Columns, Wanted } from '@licet/cli/import/columns';
import { FIELDS, isField } from '@licet/cli/import/fields';
import type { Kind } from '@licet/cli/import/kinds';
import type { Survey } from '@licet/cli/import/survey';
import { METADATA_NAME } from '@licet/contract/limits';
import { FilterSelect } from '../../components/form.tsx';
import { ChevronRight } from '../../components/icons.tsx';
import { Notice } from '../../components/page.tsx';
import { SimpleTable } from '../../components/simple-table.tsx';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';

const words = screenTexts.transfer.columnsOf;

/** The choices of the viewer, by kind and by the name of the column; empty leaves a column out. */
export interface Choices {
  fields: ReadonlyMap<string, string>;
  /** The product of all items. */
  productId: number | undefined;
}

export const NO_CHOICES: Choices = { fields: new Map(), productId: undefined };

/** The choices, and for a column without one the suggestion, or that it is left out. */
export function wantedBy(survey: Survey | undefined, { fields, productId }: Choices): Wanted {
  const open = survey?.kinds.flatMap((kind) => survey.columnsOf(kind).open) ?? [];
  const suggested = open.map(({ name, suggestion = '' }) => [name, suggestion] as const);
  return {
    map: new Map([...suggested, ...fields]),
    set: new Map(productId === undefined ? [] : [['productId', String(productId)]]),
  };
}

const MAX_ROWS = 100;
const MAX_EXAMPLE_LENGTH = 40;

/** The start of a value of a column. A key stays within the viewer's own file. */
function exampleOf(value: unknown): string {
  const text =
    typeof value === 'object' && value !== null ? JSON.stringify(value) : `${value ?? ''}`;
  return text.length > MAX_EXAMPLE_LENGTH ? `${text.slice(0, MAX_EXAMPLE_LENGTH)}…` : text;
}

/** Shows the columns of a file with their fields, which the viewer can change. */
export const ColumnsView = ({
  survey,
  choices,
  onChange,
}: {
  survey: Survey;
  choices: Choices;
  onChange: (choices: Choices) => void;
}) => (
  <>
    {survey.kinds.map((kind) => (
      <KindColumns
        key={kind}
        {...{ survey, kind, choices, onChange }}
        columns={survey.columnsOf(kind, wantedBy(survey, choices))}
      />
    ))}
  </>
);

function KindColumns({
  survey,
  kind,
  columns,
  choices,
  onChange,
}: {
  survey: Survey;
  kind: Kind;
  columns: Columns;
  choices: Choices;
  onChange: (choices: Choices) => void;
}) {
  const products = useProductNames();
  const names = survey.namesOf(kind);
  const open = new Map(
    survey
      .columnsOf(kind)
      .open.map(({ name, suggestion }) => [
        name,
        suggestion === undefined ? words.unknown : words.suggested,
      ]),
  );
  const isClear = open.size === 0 && !columns.preset && columns.missing.length === 0;
  /** The fields for a column, and the text in the metadata that has its name. */
  const optionsFor = (name: string) => {
    const text = METADATA_NAME.test(name) ? `metadata.${name}` : name;
    const own = isField(kind, text) ? [text] : [];
    return [...new Set([...FIELDS[kind], ...own])].map((field) => [field, field] as const);
  };
  const setField = (name: string, field = ''): void =>
    onChange({ ...choices, fields: new Map(choices.fields).set(name, field) });
  return (
    <section
      aria-label={words.title(screenTexts.transfer.kinds[kind])}
      className="flex flex-col gap-3"
    >
      <details className="group" open={!isClear}>
        <summary className="flex min-h-11 cursor-pointer items-center gap-1.5 font-semibold">
          <ChevronRight size={16} aria-hidden className="group-open:rotate-90" />
          {isClear ? words.allKnown(names.length) : words.title(screenTexts.transfer.kinds[kind])}
        </summary>
        {columns.preset && <p className="pb-3 text-muted">{words.preset(columns.preset.title)}</p>}
        <div className="rounded-lg border border-line">
          <SimpleTable
            label={words.title(screenTexts.transfer.kinds[kind])}
            rows={names.slice(0, MAX_ROWS).map((name) => ({ id: name }))}
            columns={[
              [words.column, ({ id }) => <span className="font-medium break-words">{id}</span>],
              [
                words.example,
                ({ id }) => (
                  <span className="block min-w-24 break-all text-muted">
                    {exampleOf(survey.exampleOf(kind, id))}
                  </span>
                ),
              ],
              [
                words.field,
                ({ id }) => (
                  <span className="flex flex-wrap items-center gap-2">
                    <FilterSelect
                      label={words.fieldOf(id)}
                      any={words.leftOut}
                      options={optionsFor(id)}
                      value={columns.fields.get(id) || undefined}
                      onChange={(field) => setField(id, field)}
                    />
                    {!choices.fields.has(id) && <span className="text-muted">{open.get(id)}</span>}
                  </span>
                ),
              ],
            ]}
          />
        </div>
        {names.length > MAX_ROWS && <p className="text-muted">{words.shown(MAX_ROWS)}</p>}
        <details className="group/all text-muted">
          <summary className="flex min-h-11 cursor-pointer items-center gap-1.5">
            <ChevronRight size={16} aria-hidden className="group-open/all:rotate-90" />
            {words.allFields(FIELDS[kind].length)}
          </summary>
          <p className="font-mono text-[0.8125rem] break-words">{FIELDS[kind].join(', ')}</p>
        </details>
      </details>
      {FIELDS[kind].includes('productId') && !isClear && products.size > 0 && (
        <div className="flex flex-wrap items-center gap-3">
          <span>{words.product}</span>
          <FilterSelect
            label={words.product}
            any={words.productOfFile}
            options={[...products]}
            value={choices.productId}
            onChange={(productId) => onChange({ ...choices, productId })}
          />
        </div>
      )}
      {columns.twice.map(([field, one, other]) => (
        <Notice key={field} tone="warn">
          {words.twice(field, one, other)}
        </Notice>
      ))}
      {columns.missing.length > 0 && <Notice tone="warn">{words.missing(columns.missing)}</Notice>}
    </section>
  );
}
