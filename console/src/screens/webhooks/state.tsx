import type { Webhook } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import type { ReactNode } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Time } from '../../components/time.tsx';
import type { Tone } from '../../components/tones.ts';
import { screenTexts } from '../../screen-texts.ts';

/** Whether a webhook works, in a word and in a sentence. */

const words = screenTexts.webhooks;

type State = keyof typeof words.states;

const TONES: Readonly<Record<State, Tone>> = {
  working: 'good',
  failing: 'bad',
  unused: 'neutral',
  off: 'neutral',
  switchedOff: 'bad',
};

/** The time without a success after which the service switches a webhook off. */
const PATIENCE_MS = 5 * DAY_MS;

function stateOf({ enabled, disabledReason, failingSince, lastSuccessAt }: Webhook): State {
  if (!enabled) return disabledReason === null ? 'off' : 'switchedOff';
  if (failingSince !== null) return 'failing';
  return lastSuccessAt === null ? 'unused' : 'working';
}

export function StateBadge({ webhook }: { webhook: Webhook }) {
  const state = stateOf(webhook);
  return <Badge tone={TONES[state]}>{words.states[state]}</Badge>;
}

/** The state with what follows from it. */
export function StateSentence({ webhook }: { webhook: Webhook }): ReactNode {
  const { failingSince, lastSuccessAt, disabledReason } = webhook;
  const state = stateOf(webhook);
  if (state === 'failing' && failingSince !== null) {
    const end = new Date(Date.parse(failingSince) + PATIENCE_MS).toISOString();
    return (
      <>
        {words.failingSince} <Time value={failingSince} />. {words.failingUntil}{' '}
        <Time value={end} />. {words.thenOff}
      </>
    );
  }
  if (state === 'working' && lastSuccessAt !== null) {
    return (
      <>
        {words.lastSuccess} <Time value={lastSuccessAt} show="ago" />.
      </>
    );
  }
  if (state === 'switchedOff') return `${disabledReason}. ${words.switchOnAgain}`;
  return state === 'off' ? words.isOff : words.isUnused;
}
