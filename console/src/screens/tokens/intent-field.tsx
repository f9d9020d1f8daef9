import type { ApiIntent } from '@licet/client';
import { keysOf } from '@licet/contract/objects';
import { Button } from '../../components/button.tsx';
import { ControlGroup } from '../../components/form.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { PRESETS } from './presets.ts';

const words = screenTexts.tokens;
const { navigation } = texts;

const PRESET_NAMES = keysOf(PRESETS);

interface Row {
  label: string;
  hint?: string;
  read?: ApiIntent;
  write?: ApiIntent;
}

/** The kinds of objects, with the intents to read and to change them. The last row covers the others. */
const ROWS: readonly Row[] = [
  {
    label: navigation.licenses,
    hint: words.licensesHint,
    read: 'LICENSES_READ',
    write: 'LICENSES_READ_WRITE',
  },
  { label: navigation.history, read: 'REQUESTS_READ' },
  { label: navigation.customers, read: 'CUSTOMERS_READ' },
  { label: navigation.products, read: 'PRODUCTS_READ', write: 'PRODUCTS_READ_WRITE' },
  { label: navigation.blacklist, read: 'BLACKLISTS_READ', write: 'BLACKLISTS_READ_WRITE' },
  { label: words.validations, hint: words.validationsHint, write: 'LICENSE_VALIDATE' },
  { label: words.all, hint: words.allHint, read: 'ALL_READ', write: 'ALL_READ_WRITE' },
];

/** The intents that another one includes. */
const coveredBy = (intent: ApiIntent): readonly ApiIntent[] =>
  ROWS.flatMap(({ read, write }) => {
    const covered = {
      ALL_READ: [read],
      ALL_READ_WRITE: [read, write],
      other: write === intent ? [read] : [],
    }[intent === 'ALL_READ' || intent === 'ALL_READ_WRITE' ? intent : 'other'];
    return covered.flatMap((other) => (other === undefined || other === intent ? [] : [other]));
  });

const isSame = (value: ReadonlySet<ApiIntent>, preset: readonly ApiIntent[]): boolean =>
  value.size === preset.length && preset.every((intent) => value.has(intent));

const has = (value: ReadonlySet<ApiIntent>, intents: readonly (ApiIntent | undefined)[]): boolean =>
  intents.some((intent) => intent !== undefined && value.has(intent));

/** The permissions of a token: the usual ones by a button, or each kind of object by itself. */
export function IntentField({
  value,
  onChange,
}: {
  value: ReadonlySet<ApiIntent>;
  onChange: (value: ReadonlySet<ApiIntent>) => void;
}) {
  const chosen = PRESET_NAMES.find((name) => isSame(value, PRESETS[name]));
  /** A box for an intent; others cover it, and then it is on and cannot be changed. */
  const box = (
    intent: ApiIntent | undefined,
    label: string,
    covering: readonly (ApiIntent | undefined)[],
  ) => {
    if (intent === undefined) return null;
    const isCovered = has(
      value,
      covering.filter((other) => other !== intent),
    );
    return (
      <label className="inline-flex p-2 align-middle pointer-coarse:p-3.5">
        <span className="sr-only">{label}</span>
        <input
          type="checkbox"
          name="intents"
          title={intent}
          checked={isCovered || value.has(intent)}
          disabled={isCovered}
          onChange={({ currentTarget }) => {
            const next = new Set(value);
            if (currentTarget.checked) {
              next.add(intent);
              // A box that another one covers now is no choice of its own, and would hide a usual set.
              for (const other of coveredBy(intent)) next.delete(other);
            } else next.delete(intent);
            onChange(next);
          }}
        />
      </label>
    );
  };
  const cell = 'w-16 py-0.5 text-center sm:w-24';
  return (
    <ControlGroup label={words.intents} name="intents">
      <div>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend of its own */}
        <div role="group" aria-label={words.start} className="flex flex-wrap gap-1.5">
          {PRESET_NAMES.map((name) => (
            <Button
              key={name}
              look="chip"
              aria-pressed={name === chosen}
              onClick={() => onChange(new Set(PRESETS[name]))}
            >
              {words.presets[name].name}
            </Button>
          ))}
        </div>
        <p role="status" className="mt-1.5 min-h-10 text-muted">
          {chosen === undefined ? words.custom : words.presets[chosen].can}
        </p>
      </div>
      <div className="rounded-lg border border-line">
        <table className="w-full text-left">
          <thead>
            <tr className="border-b border-line text-xs text-muted">
              <th scope="col" className="px-3 py-2 font-medium">
                {words.grid.what}
              </th>
              <th scope="col" className={`font-medium ${cell}`}>
                {words.grid.read}
              </th>
              <th scope="col" className={`font-medium ${cell}`}>
                {words.grid.write}
              </th>
            </tr>
          </thead>
          <tbody>
            {ROWS.map(({ label, hint, read, write }) => (
              <tr key={label} className="border-line not-last:border-b">
                <th scope="row" className="px-3 py-2 font-normal">
                  {label}
                  {hint && <p className="text-xs text-muted">{hint}</p>}
                </th>
                <td className={cell}>
                  {box(read, words.readOf(label), [write, 'ALL_READ', 'ALL_READ_WRITE'])}
                </td>
                <td className={cell}>{box(write, words.writeOf(label), ['ALL_READ_WRITE'])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </ControlGroup>
  );
}
