import type { DiscordCode } from '@licet/contract/portal-page';
import { useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { useAct } from './act.ts';
import { CopyButton } from './copy-button.tsx';
import { clockOf, words } from './language.ts';
import { Alert } from './notice.tsx';
import { Failure, makeDiscordCode } from './service.ts';

/**
 * Shows a code by which the customer links an account at Discord.
 *
 * @param onOver called if the session is over
 * @param onLinked called if the customer has an account by now, or Discord is switched off
 */
export function Discord({
  onOver,
  onLinked,
}: {
  onOver: () => void;
  onLinked: () => Promise<void>;
}) {
  const [made, setMade] = useState<DiscordCode>();
  const { act, isBusy, fault } = useAct(onOver);
  const make = async (): Promise<void> => {
    const code = await act(() =>
      makeDiscordCode().catch(async (error) => {
        if (!(error instanceof Failure && error.status === 409)) throw error;
        await onLinked();
      }),
    );
    if (code) setMade(code);
  };
  return (
    <section
      aria-labelledby="discord"
      className="mt-4 rounded-xl border border-line bg-surface p-4 sm:p-5"
    >
      <h2 id="discord" className="text-base font-semibold">
        Discord
      </h2>
      <p className="mt-1 text-muted">{words.discordLead}</p>
      <div role="status" className={made && 'mt-3'}>
        {made && (
          <>
            <p>{words.discordSteps(clockOf(made.expiresAt))}</p>
            <div className="mt-2 flex flex-wrap items-center gap-2">
              <code className="min-w-0 flex-1 basis-44 rounded-lg border border-line bg-page px-3 py-2 font-mono text-[0.8125rem] select-all">
                {made.code}
              </code>
              <CopyButton load={async () => made.code} />
            </div>
          </>
        )}
      </div>
      {fault !== undefined && <Alert className="mt-3">{fault}</Alert>}
      <button
        type="button"
        className={buttonClass('plain', 'mt-3')}
        disabled={isBusy}
        onClick={make}
      >
        {made ? words.newCode : words.linkDiscord}
      </button>
    </section>
  );
}
