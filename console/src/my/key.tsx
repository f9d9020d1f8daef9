import type { PortalLicense, RotationOutcome } from '@licet/contract/portal-page';
import { useRef, useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { useAct } from './act.ts';
import { CopyButton } from './copy-button.tsx';
import { timeOf, words } from './language.ts';
import { takenOf } from './machines.tsx';
import { Alert } from './notice.tsx';
import { Question } from './question.tsx';
import { readKey, replaceKey } from './service.ts';

/** @param hasMachines whether machines keep their slots, which the customer may free */
function outcomeText(outcome: RotationOutcome, hasMachines: boolean): string {
  switch (outcome.outcome) {
    case 'replaced':
      return [words.rotation.replaced, hasMachines && words.rotation.places]
        .filter(Boolean)
        .join(' ');
    case 'too soon':
      return words.rotation.again(timeOf(outcome.returnsAt));
    case 'not allowed':
      return words.rotation.notAllowed;
    case 'deactivated':
      return words.outcomes.deactivated;
  }
}

/** The key of a license: hidden, copied, and replaced once it has leaked. */
export function Key({
  license,
  onOver,
  onChange,
}: {
  license: PortalLicense;
  onOver: () => void;
  onChange: () => Promise<void>;
}) {
  const { id, keyEnd, status, rotation } = license;
  const [key, setKey] = useState<string>();
  const [isAsked, setAsked] = useState(false);
  const [said, setSaid] = useState('');
  const { act, isBusy, fault } = useAct(onOver);
  const told = useRef<HTMLParagraphElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const load = async (): Promise<string | undefined> => key ?? (await act(() => readKey(id)));
  const cancel = (): void => {
    setAsked(false);
    setTimeout(() => button.current?.focus());
  };
  const replace = async (): Promise<void> => {
    const outcome = await act(() => replaceKey(id));
    // Without the new one, the shown key may not be that of the license any more.
    setKey(outcome?.outcome === 'replaced' ? outcome.licenseKey : undefined);
    if (outcome === undefined) {
      cancel();
      // The service may have done it, although its response was lost.
      if (told.current) await onChange();
      return;
    }
    setAsked(false);
    setSaid(outcomeText(outcome, license.resets.left > 0 && takenOf(license) > 0));
    await onChange();
    // The button that had the focus is gone.
    told.current?.focus();
  };
  const mayReplace = rotation.isAllowed && status === 'ACTIVE';
  return (
    <div className="mt-4">
      <h3 className="text-xs text-muted">{words.key}</h3>
      <div className="mt-1 flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 basis-52 rounded-lg border border-line bg-page px-3 py-2 font-mono text-[0.8125rem] break-all select-all">
          {key ?? `•••• ${keyEnd}`}
        </code>
        <div className="flex gap-2 max-sm:w-full max-sm:*:flex-1">
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
      {mayReplace && rotation.returnsAt === null && !isAsked && (
        <button
          ref={button}
          type="button"
          className={buttonClass('quiet', '-ml-3 mt-1 py-2 text-left whitespace-normal!')}
          onClick={() => setAsked(true)}
        >
          {words.rotation.replace}
        </button>
      )}
      {isAsked && (
        <div className="mt-2">
          <Question
            text={words.rotation.sure}
            yes={words.rotation.yes}
            isBusy={isBusy}
            onYes={replace}
            onNo={cancel}
          />
        </div>
      )}
      {fault !== undefined && <Alert className="mt-3">{fault}</Alert>}
      <p
        ref={told}
        tabIndex={-1}
        role="status"
        className={said ? 'mt-3 rounded-lg bg-hover px-3 py-2' : ''}
      >
        {said}
      </p>
      {mayReplace && rotation.returnsAt !== null && (
        <p className="mt-2 text-xs text-muted">
          {words.rotation.again(timeOf(rotation.returnsAt))}
        </p>
      )}
    </div>
  );
}
