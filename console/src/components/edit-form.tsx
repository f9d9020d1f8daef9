import type { Tagged } from '@licet/client';
import { type ReactNode, useState } from 'react';
import { hasStatus } from '../api.ts';
import { screenTexts } from '../screen-texts.ts';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Form } from './form.tsx';
import { Notice } from './page.tsx';
import { toasts } from './toasts.tsx';

const words = screenTexts.editForm;

/** A field that an `EditForm` can change. */
export interface EditedField<Values> {
  name: keyof Values & string;
  label: string;
  /** The text for a value that is not readable itself. */
  show?: (values: Values) => string | null;
}

interface EditFormProps<Values extends object> {
  /** The stored item; undefined for a new one. */
  stored: Tagged<Values> | undefined;
  fields: readonly EditedField<Values>[];
  /** The values that the form has now. */
  valuesOf: (data: FormData) => Values;
  /** Asks the viewer before changed values are sent, where that is needed. */
  confirmFirst?: (values: Values) => Promise<boolean>;
  /** Stores a new item. */
  create?: (values: Values) => Promise<void>;
  /** Stores the changed fields, unless the item was changed since it was read. */
  update: (changes: Partial<Values>, ifMatch: string | undefined) => Promise<void>;
  /** Reads the item again. */
  read: () => Promise<Tagged<Values>>;
  /** Called when all is stored. */
  onDone: () => void;
  /** The label of the button for a new item. */
  createLabel?: string;
  /** The reason why the session's token may not write. */
  refusal: string | undefined;
  /** Further buttons, such as the one that deletes. */
  buttons?: ReactNode;
  /** The fields. */
  children: ReactNode;
}

interface Conflict<Values> {
  mine: Values;
  /** The fields that the viewer has changed. */
  changed: readonly EditedField<Values>[];
  /** The changed fields that somebody else has changed too. */
  disputed: readonly EditedField<Values>[];
  theirs: Tagged<Values>;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function pick<Values extends object>(
  values: Values,
  fields: readonly EditedField<Values>[],
): Partial<Values> {
  const picked: Partial<Values> = {};
  for (const { name } of fields) picked[name] = values[name];
  return picked;
}

/**
 * The form of an item. It sends the changed fields, with `If-Match`. If somebody else has changed the same fields
 * in the meantime, it shows both values side by side; changes of other fields stay beside those of the viewer.
 */
export function EditForm<Values extends object>(props: EditFormProps<Values>) {
  const { stored, fields, refusal, onDone } = props;
  const [conflict, setConflict] = useState<Conflict<Values>>();

  const save = async (
    mine: Values,
    changed: readonly EditedField<Values>[],
    { item: before, etag }: Tagged<Values>,
  ): Promise<void> => {
    try {
      await props.update(pick(mine, changed), etag);
    } catch (error) {
      if (!hasStatus(error, 412)) throw error;
      const theirs = await props.read();
      const disputed = changed.filter(
        ({ name }) =>
          !isSame(theirs.item[name], before[name]) && !isSame(theirs.item[name], mine[name]),
      );
      if (disputed.length === 0) return save(mine, changed, theirs);
      setConflict({ mine, changed, disputed, theirs });
      return;
    }
    toasts.done(words.saved);
    onDone();
  };

  const submit = async (data: FormData): Promise<void> => {
    const mine = props.valuesOf(data);
    const changed = fields.filter(({ name }) => !isSame(mine[name], stored?.item[name]));
    const isSure = changed.length === 0 || ((await props.confirmFirst?.(mine)) ?? true);
    if (!isSure) return;
    if (!stored) {
      await props.create?.(mine);
      return onDone();
    }
    if (changed.length > 0) return save(mine, changed, stored);
    toasts.done(words.nothingChanged);
    onDone();
  };

  return (
    <>
      {conflict && (
        <ConflictForm
          conflict={conflict}
          onChoose={(kept) =>
            kept.length > 0 ? save(conflict.mine, kept, conflict.theirs) : Promise.resolve(onDone())
          }
        />
      )}
      {/* It stays, hidden, with all that was typed. */}
      <div hidden={conflict !== undefined}>
        <Form
          onSubmit={submit}
          buttons={(isBusy) => (
            <>
              <Button type="submit" look="primary" disabled={isBusy} refusal={refusal}>
                {stored ? texts.actions.save : props.createLabel}
              </Button>
              {props.buttons}
            </>
          )}
        >
          {refusal !== undefined && <Notice>{refusal}</Notice>}
          <fieldset disabled={refusal !== undefined} className="flex min-w-0 flex-col gap-5">
            {props.children}
          </fieldset>
        </Form>
      </div>
    </>
  );
}

/** Lets the viewer choose between two values of each disputed field. */
function ConflictForm<Values extends object>({
  conflict: { mine, changed, disputed, theirs },
  onChoose,
}: {
  conflict: Conflict<Values>;
  /** Called with the fields for which the viewer keeps the own value. */
  onChoose: (kept: readonly EditedField<Values>[]) => Promise<void>;
}) {
  return (
    <Form
      onSubmit={(data) =>
        onChoose(
          changed.filter((field) => !disputed.includes(field) || data.get(field.name) === 'mine'),
        )
      }
      buttons={(isBusy) => (
        <Button type="submit" look="primary" disabled={isBusy}>
          {words.conflictSave}
        </Button>
      )}
    >
      <Notice tone="warn">
        <p className="font-semibold">{words.conflictTitle}</p>
        <p>{words.conflictLead}</p>
      </Notice>
      {disputed.map((field) => (
        <fieldset key={field.name}>
          <legend className="mb-1.5 font-medium">{field.label}</legend>
          <div className="grid gap-2 sm:grid-cols-2">
            <Choice field={field} values={mine} whose="mine" />
            <Choice field={field} values={theirs.item} whose="theirs" />
          </div>
        </fieldset>
      ))}
    </Form>
  );
}

function Choice<Values extends object>({
  field: { name, show },
  values,
  whose,
}: {
  field: EditedField<Values>;
  values: Values;
  whose: 'mine' | 'theirs';
}) {
  const shown = (show ? show(values) : String(values[name] ?? '')) || words.empty;
  return (
    <label className="flex min-w-0 gap-2.5 rounded-lg border border-line p-3 has-checked:border-accent has-checked:bg-accent-soft">
      <input
        type="radio"
        name={name}
        value={whose}
        defaultChecked={whose === 'mine'}
        aria-label={`${words[whose]}: ${shown}`}
        className="mt-0.5 shrink-0"
      />
      <span className="min-w-0">
        <span className="block text-xs text-muted">{words[whose]}</span>
        <span className="block break-words whitespace-pre-wrap">{shown}</span>
      </span>
    </label>
  );
}
