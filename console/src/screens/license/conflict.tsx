import type { License } from '../../../../packages/client/src/index';
import { Button, ButtonLink } from '../../components/button';
import { Form } from '../../components/form';
import { Notice } from '../../components/page';
import { formatTime } from '../../format';
import { screenTexts } from '../../screen-texts';
import { texts } from '../../texts';
import type { LicenseBody } from './form-fields';

const words = screenTexts.licenseForm;

const LABELS: Record<keyof LicenseBody, string> = {
  productId: words.product,
  licenseType: words.type,
  expiryDate: words.expiryDate,
  maxIPs: words.maxIPs,
  maxHWIDs: words.maxHWIDs,
  ownerChatId: words.ownerChatId,
  ownerChatUsername: words.ownerChatUsername,
  licensePlatform: words.licensePlatform,
  licensePlatformOther: words.licensePlatformOther,
  ownerPlatformId: words.ownerPlatformId,
  notes: words.notes,
};
const FIELDS = Object.entries(LABELS).flatMap(([name, label]) =>
  isField(name) ? [{ name, label }] : [],
);

function isField(name: string): name is keyof LicenseBody {
  return name in LABELS;
}

function show(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return words.empty;
  return name === 'expiryDate' ? formatTime(String(value)) : String(value);
}

/** Two versions of a license side by side: the viewer chooses for each field which one stays. */
export function Conflict({
  mine,
  read,
  stored,
  onSave,
}: {
  /** What the viewer changed. */
  mine: Partial<LicenseBody>;
  /** The license as the viewer read it. */
  read: License;
  /** The license as it is stored now. */
  stored: License;
  onSave: (chosen: Partial<LicenseBody>) => Promise<void>;
}) {
  const rows = FIELDS.filter(({ name }) => name in mine || read[name] !== stored[name]);
  return (
    <Form
      className="flex max-w-3xl flex-col gap-4"
      onSubmit={(data) =>
        onSave(
          Object.fromEntries(Object.entries(mine).filter(([name]) => data.get(name) === 'mine')),
        )
      }
      buttons={(isBusy) => (
        <>
          <Button type="submit" look="primary" disabled={isBusy}>
            {words.conflictSave}
          </Button>
          <ButtonLink to="/licenses/$licenseId" params={{ licenseId: read.id }} look="quiet">
            {texts.actions.cancel}
          </ButtonLink>
        </>
      )}
    >
      <Notice tone="warn">
        <p className="font-semibold" role="alert">
          {words.conflictTitle}
        </p>
        <p>{words.conflictLead}</p>
      </Notice>
      <div className="overflow-hidden rounded-xl border border-line bg-surface">
        <table className="w-full table-fixed text-left">
          <thead>
            <tr className="border-b border-line text-xs text-muted">
              {[words.conflictField, words.conflictYours, words.conflictTheirs].map((header) => (
                <th key={header} scope="col" className="px-4 py-2 font-medium">
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, label }) => (
              <tr key={name} className="border-line align-top not-last:border-b">
                <th scope="row" className="px-4 py-3 font-medium break-words">
                  {label}
                </th>
                <td className="px-4 py-3">
                  {name in mine ? (
                    <Choice name={name} value="mine" label={label} isDefault>
                      {show(name, mine[name])}
                    </Choice>
                  ) : (
                    <span className="text-muted">{show(name, read[name])}</span>
                  )}
                </td>
                <td className="px-4 py-3">
                  {name in mine ? (
                    <Choice name={name} value="theirs" label={label}>
                      {show(name, stored[name])}
                    </Choice>
                  ) : (
                    show(name, stored[name])
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Form>
  );
}

const Choice = ({
  name,
  value,
  label,
  isDefault = false,
  children,
}: {
  name: string;
  value: 'mine' | 'theirs';
  label: string;
  isDefault?: boolean;
  children: string;
}) => (
  <label className="flex items-start gap-2">
    <input
      type="radio"
      name={name}
      value={value}
      defaultChecked={isDefault}
      aria-label={`${label}: ${children}`}
      className="mt-0.5 shrink-0"
    />
    <span className="min-w-0 break-words whitespace-pre-wrap">{children}</span>
  </label>
);
