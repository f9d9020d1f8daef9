import type { PortalLicense, PortalMachine, ResetOutcome } from '@licet/contract/portal-page';
import { useRef, useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { badgeClass } from '../components/tones.ts';
import { useAct } from './act.ts';
import { agoOf, dayOf, timeOf, words } from './language.ts';
import { Alert, Notice } from './notice.tsx';
import { Question } from './question.tsx';
import { readMachines, reset } from './service.ts';

const TYPES = ['IP', 'HWID'] as const;

export const takenOf = ({ slots }: PortalLicense): number => slots.IP.taken + slots.HWID.taken;

/** Whether the next machine is refused. */
const isFull = ({ slots }: PortalLicense): boolean =>
  TYPES.some((type) => slots[type].limit > 0 && slots[type].taken >= slots[type].limit);

function outcomeText(outcome: ResetOutcome): string {
  const { returnsAt } = outcome.resets;
  const parts = [
    words.outcomes[outcome.outcome],
    outcome.outcome === 'freed' && outcome.kept > 0 && words.outcomes.kept,
    outcome.outcome === 'used up' && returnsAt !== null && words.returns(timeOf(returnsAt)),
  ];
  return parts.filter(Boolean).join(' ');
}

/** The question before a reset, with its price and the values that it does not free. */
function questionAbout(asked: PortalMachine | 'all', left: number): string {
  const parts =
    asked === 'all'
      ? [words.effectAll, words.price(left), words.sureAll]
      : [
          words.effect,
          ...asked.shared.map((type) => words.stays[type]),
          words.price(left),
          words.sure,
        ];
  return parts.join(' ');
}

/** The machines of a license, and their freeing. */
export function Machines({
  license,
  contact,
  onOver,
  onChange,
}: {
  license: PortalLicense;
  contact: string | undefined;
  onOver: () => void;
  onChange: () => Promise<void>;
}) {
  const { id, resets } = license;
  const taken = takenOf(license);
  const [machines, setMachines] = useState<PortalMachine[]>();
  const [asked, setAsked] = useState<PortalMachine | 'all'>();
  const [said, setSaid] = useState('');
  const { act, isBusy, fault } = useAct(onOver);
  const told = useRef<HTMLParagraphElement>(null);
  const buttonId = (of: PortalMachine | 'all' | undefined): string =>
    `free-${id}-${typeof of === 'object' ? of.id : 'all'}`;
  const load = async (): Promise<void> => {
    const listed = await act(() => readMachines(id));
    if (listed) setMachines(listed);
  };
  const cancel = (): void => {
    const button = buttonId(asked);
    setAsked(undefined);
    setTimeout(() => document.getElementById(button)?.focus());
  };
  const free = async (): Promise<void> => {
    if (asked === undefined || isBusy) return;
    const outcome = await act(() => reset(id, asked === 'all' ? null : asked.id));
    if (outcome === undefined) {
      cancel();
      // The service may have done it, although its response was lost.
      if (told.current) await onChange();
      return;
    }
    setAsked(undefined);
    setSaid(outcomeText(outcome));
    await onChange();
    if (machines) await load();
    // The button that had the focus is gone.
    told.current?.focus();
  };
  const mayFree = resets.allowed > 0 && license.status !== 'DEACTIVATED' && taken > 0;
  const hasResets = mayFree && resets.left > 0;
  const question = asked !== undefined && (
    <Question
      text={questionAbout(asked, resets.left)}
      yes={words.yes}
      isBusy={isBusy}
      onYes={free}
      onNo={cancel}
    />
  );
  if (taken === 0 && said === '' && fault === undefined) return null;
  return (
    <div className="mt-4 border-t border-line pt-4">
      {taken > 0 && (
        <dl className="flex flex-col gap-2">
          {TYPES.map((type) => (
            <Taken key={type} label={words.types[type]} {...license.slots[type]} />
          ))}
        </dl>
      )}
      {taken > 0 && (
        <details
          className="mt-2"
          onToggle={({ currentTarget }) => {
            if (currentTarget.open) void load();
          }}
        >
          <summary className="inline-flex min-h-9 cursor-pointer items-center font-medium underline underline-offset-2 pointer-coarse:min-h-11">
            {words.machines}
            {machines && ` (${machines.length})`}
          </summary>
          {machines === undefined && fault === undefined && (
            <p className="py-2 text-muted">{words.loading}</p>
          )}
          <ul className="divide-y divide-line">
            {machines?.map((machine) => (
              <li key={machine.id} className="flex flex-wrap items-center gap-x-3 gap-y-2 py-3">
                <Machine machine={machine} />
                {hasResets &&
                  (asked === machine ? (
                    question
                  ) : (
                    <button
                      type="button"
                      id={buttonId(machine)}
                      className={buttonClass('plain', 'ml-auto')}
                      aria-label={words.freeOne(nameOf(machine))}
                      onClick={() => setAsked(machine)}
                    >
                      {words.free}
                    </button>
                  ))}
              </li>
            ))}
          </ul>
        </details>
      )}
      {hasResets && isFull(license) && <p className="mt-3">{words.full}</p>}
      {hasResets && (
        <div className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-2">
          <p className="min-w-0 flex-1 basis-40 text-muted">
            {words.resets(resets.left, resets.allowed)}
          </p>
          {asked === 'all' ? (
            question
          ) : (
            <button
              type="button"
              id={buttonId('all')}
              className={buttonClass('plain', 'ml-auto')}
              onClick={() => setAsked('all')}
            >
              {words.freeAll}
            </button>
          )}
        </div>
      )}
      {mayFree && !hasResets && (
        <Notice contact={contact}>
          {words.outcomes['used up']}
          {resets.returnsAt !== null && ` ${words.returns(timeOf(resets.returnsAt))}`}
        </Notice>
      )}
      {fault !== undefined && <Alert className="mt-3">{fault}</Alert>}
      <p
        ref={told}
        tabIndex={-1}
        role="status"
        className={said ? `${taken > 0 ? 'mt-3' : ''} rounded-lg bg-hover px-3 py-2` : ''}
      >
        {said}
      </p>
    </div>
  );
}

/** The taken slots of a type, with a thin bar. Nothing if none is taken. */
function Taken({ label, taken, limit }: { label: string; taken: number; limit: number }) {
  if (taken === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3">
      <dt className="text-muted">{label}</dt>
      <dd className="ml-auto">{words.taken(taken, limit)}</dd>
      {limit > 0 && (
        <dd className="w-full" aria-hidden="true">
          <progress className="block h-1 w-full" value={Math.min(taken, limit)} max={limit} />
        </dd>
      )}
    </div>
  );
}

const nameOf = ({ ip, hwid }: PortalMachine): string => [ip, hwid].filter(Boolean).join(', ');

function Machine({ machine }: { machine: PortalMachine }) {
  const { ip, hwid, isThisBrowser, isPrivate, lastUsed, idleDate } = machine;
  const idle = idleDate === null ? '' : `, ${words.idle(dayOf(idleDate))}`;
  return (
    <div className="min-w-0 flex-auto">
      <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-3">
        {ip !== null && (
          <>
            <dt className="text-xs text-muted">{words.kinds.IP}</dt>
            <dd className="min-w-18 font-mono [overflow-wrap:anywhere]">
              {ip}{' '}
              {isThisBrowser && (
                <span className={`${badgeClass('accent')} font-sans`}>{words.thisBrowser}</span>
              )}
              {isPrivate && <span className="font-sans text-muted">({words.privateNetwork})</span>}
            </dd>
          </>
        )}
        {hwid !== null && (
          <>
            <dt className="text-xs text-muted">{words.kinds.HWID}</dt>
            <dd className="min-w-18 font-mono [overflow-wrap:anywhere]">{hwid}</dd>
          </>
        )}
      </dl>
      {/* No weight for the width: a long address alone takes the line from its button. */}
      <p className="w-0 min-w-full text-xs text-muted">
        <time dateTime={lastUsed} title={timeOf(lastUsed)}>
          {words.lastUsed(agoOf(lastUsed))}
        </time>
        {idle}
      </p>
    </div>
  );
}
