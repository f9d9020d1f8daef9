import type { PortalLicense, PortalSlot, ResetOutcome } from '@licet/contract/portal-page';
import { useEffect, useRef, useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { badgeClass, type Tone } from '../components/tones.ts';
import { CopyButton } from './copy-button.tsx';
import { dayOf, endOf, timeOf, words } from './language.ts';
import { readKey, readSlots, reset } from './service.ts';

const TONES: Record<PortalLicense['status'], Tone> = {
  ACTIVE: 'good',
  EXPIRED: 'warn',
  DEACTIVATED: 'bad',
  DELETED: 'neutral',
};
const TYPES = ['IP', 'HWID'] as const;

function expiryText({ status, expiryDate, expiresAfterDays }: PortalLicense): string {
  if (expiresAfterDays !== null) return words.fromFirstUse(expiresAfterDays);
  if (expiryDate === null) return words.forever;
  return status === 'EXPIRED' ? words.expired(endOf(expiryDate)) : words.until(endOf(expiryDate));
}

function outcomeText(outcome: ResetOutcome): string {
  const { returnsAt } = outcome.resets;
  const parts = [
    words.outcomes[outcome.outcome],
    outcome.outcome === 'freed' && outcome.kept > 0 && words.outcomes.kept,
    outcome.outcome === 'used up' && returnsAt !== null && words.returns(timeOf(returnsAt)),
  ];
  return parts.filter(Boolean).join(' ');
}

/** Why the license does not work, or frees no slot, and the next step; undefined unless that is so. */
function refusalOf({ status, resets, slots }: PortalLicense): string | undefined {
  if (status === 'DEACTIVATED') return words.outcomes.deactivated;
  if (status === 'EXPIRED') return words.renew;
  const isTaken = TYPES.some((type) => slots[type].taken > 0);
  return resets.allowed === 0 && isTaken ? words.outcomes['not allowed'] : undefined;
}

interface LicenseProps {
  license: PortalLicense;
  /** The address of the seller for help; undefined for none. */
  contact: string | undefined;
  /** Called with the error of a request. */
  onFailure: (error: unknown) => void;
  /** Called when the license has changed. */
  onChange: () => void;
}

/** A license: its key, its end, its slots. */
export function License({ license, contact, onFailure, onChange }: LicenseProps) {
  const { id, product, status } = license;
  const refusal = refusalOf(license);
  return (
    <article className="rounded-xl border border-line bg-surface p-4 sm:p-5">
      <header className="flex flex-wrap items-baseline justify-between gap-x-3 gap-y-1">
        <h2 className="text-base font-semibold break-words">{product}</h2>
        <span className={badgeClass(TONES[status])}>{words.statuses[status]}</span>
        <p className="w-full text-muted">{expiryText(license)}</p>
      </header>
      {refusal !== undefined && (
        <p className="mt-3 rounded-lg bg-warn-soft px-3 py-2 text-warn">
          {refusal}
          {contact !== undefined && (
            <a
              href={contact}
              rel="noreferrer"
              className="ml-2 inline-block underline underline-offset-2"
            >
              {words.help}
            </a>
          )}
        </p>
      )}
      <Key id={id} end={license.keyEnd} onFailure={onFailure} />
      <Slots license={license} onFailure={onFailure} onChange={onChange} />
    </article>
  );
}

function Key({
  id,
  end,
  onFailure,
}: {
  id: number;
  end: string;
  onFailure: LicenseProps['onFailure'];
}) {
  const [key, setKey] = useState<string>();
  const load = async (): Promise<string | undefined> => {
    if (key !== undefined) return key;
    try {
      return await readKey(id);
    } catch (error) {
      onFailure(error);
      return undefined;
    }
  };
  return (
    <section className="mt-4" aria-label={words.key}>
      <h3 className="text-xs text-muted">{words.key}</h3>
      <div className="mt-1 flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 basis-52 rounded-lg border border-line bg-page px-3 py-2 font-mono text-[0.8125rem] break-all select-all">
          {key ?? `•••• ${end}`}
        </code>
        <div className="flex gap-2">
          <button
            type="button"
            className={buttonClass()}
            onClick={async () => setKey(key === undefined ? await load() : undefined)}
          >
            {key === undefined ? words.show : words.hide}
          </button>
          <CopyButton load={load} onDenied={setKey} />
        </div>
      </div>
    </section>
  );
}

function Slots({ license, onFailure, onChange }: Omit<LicenseProps, 'contact'>) {
  const { id, resets } = license;
  const total = TYPES.reduce((sum, type) => sum + license.slots[type].taken, 0);
  const [slots, setSlots] = useState<PortalSlot[]>();
  const [asked, setAsked] = useState<PortalSlot | 'all'>();
  const [said, setSaid] = useState('');
  const [isBusy, setBusy] = useState(false);
  const status = useRef<HTMLParagraphElement>(null);
  const buttonId = (of: PortalSlot | 'all' | undefined): string =>
    `free-${id}-${typeof of === 'object' ? of.id : 'all'}`;
  const load = async (): Promise<void> => {
    try {
      setSlots(await readSlots(id));
    } catch (error) {
      onFailure(error);
    }
  };
  const free = async (): Promise<void> => {
    if (asked === undefined || isBusy) return;
    setBusy(true);
    try {
      const outcome = await reset(id, asked === 'all' ? null : asked.id);
      setSaid(outcomeText(outcome));
      onChange();
      await load();
    } catch (error) {
      onFailure(error);
    }
    setBusy(false);
    setAsked(undefined);
    // The button that had the focus is gone.
    status.current?.focus();
  };
  const cancel = (): void => {
    const id = buttonId(asked);
    setAsked(undefined);
    setTimeout(() => document.getElementById(id)?.focus());
  };
  const mayFree = resets.allowed > 0 && license.status !== 'DEACTIVATED';
  return (
    <section className="mt-4 border-t border-line pt-4" aria-label={words.slots}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {TYPES.map((type) => (
          <div key={type} className="contents">
            <dt className="text-muted">{words.types[type]}</dt>
            <dd>{words.taken(license.slots[type].taken, license.slots[type].limit)}</dd>
          </div>
        ))}
      </dl>
      {total > 0 && (
        <details
          className="mt-2"
          onToggle={({ currentTarget }) => {
            if (currentTarget.open && slots === undefined) void load();
          }}
        >
          <summary className="inline-flex min-h-9 cursor-pointer items-center font-medium underline underline-offset-2 pointer-coarse:min-h-11">
            {words.slots}
          </summary>
          {slots === undefined ? (
            <p className="py-2 text-muted">{words.loading}</p>
          ) : (
            <ul className="divide-y divide-line">
              {slots.map((slot) => (
                <li key={slot.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
                  <div className="min-w-0 flex-1 basis-40">
                    <span className="font-mono break-all">{slot.shown}</span>
                    {slot.isThisBrowser && ` (${words.thisBrowser})`}
                    {slot.isPrivate && ` (${words.privateNetwork})`}
                    <span className="block text-xs text-muted">
                      {words.lastUsed(timeOf(slot.lastUsed))}
                      {slot.idleDate !== null && `, ${words.idle(dayOf(slot.idleDate))}`}
                    </span>
                  </div>
                  {mayFree &&
                    (asked === slot ? (
                      <Sure question={words.sure} isBusy={isBusy} onYes={free} onNo={cancel} />
                    ) : (
                      <button
                        type="button"
                        id={buttonId(slot)}
                        className={buttonClass()}
                        aria-label={words.freeSlot(slot.shown)}
                        onClick={() => setAsked(slot)}
                      >
                        {words.free}
                      </button>
                    ))}
                </li>
              ))}
              {slots.length === 0 && <li className="py-2 text-muted">{words.noSlots}</li>}
            </ul>
          )}
        </details>
      )}
      {mayFree && (
        <div className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-2">
          <p className="min-w-0 flex-1 basis-52 text-muted">
            {words.resets(resets.left, resets.allowed)}
            {resets.left === 0 && resets.returnsAt && ` ${words.returns(timeOf(resets.returnsAt))}`}
          </p>
          {total > 0 &&
            (asked === 'all' ? (
              <Sure question={words.sureAll} isBusy={isBusy} onYes={free} onNo={cancel} />
            ) : (
              <button
                type="button"
                id={buttonId('all')}
                className={buttonClass()}
                onClick={() => setAsked('all')}
              >
                {words.freeAll}
              </button>
            ))}
        </div>
      )}
      <p
        ref={status}
        tabIndex={-1}
        role="status"
        className={said ? 'mt-3 rounded-lg bg-hover px-3 py-2' : ''}
      >
        {said}
      </p>
    </section>
  );
}

/** A question in its place. The focus goes to the answer that changes nothing. */
function Sure({
  question,
  isBusy,
  onYes,
  onNo,
}: {
  question: string;
  isBusy: boolean;
  onYes: () => void;
  onNo: () => void;
}) {
  const no = useRef<HTMLButtonElement>(null);
  useEffect(() => no.current?.focus(), []);
  return (
    <fieldset className="flex w-full flex-wrap items-center gap-2 rounded-lg bg-warn-soft p-3">
      <legend className="sr-only">{question}</legend>
      <p className="w-full" aria-hidden="true">
        {question}
      </p>
      <button type="button" className={buttonClass('danger')} disabled={isBusy} onClick={onYes}>
        {words.yes}
      </button>
      <button ref={no} type="button" className={buttonClass()} onClick={onNo}>
        {words.cancel}
      </button>
    </fieldset>
  );
}
