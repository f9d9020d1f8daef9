import type { Delivery, Webhook } from '@licet/client';
import { type ReactNode, useState } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import type { Look } from '../../components/button-class.ts';
import { Send } from '../../components/icons.tsx';
import { toasts } from '../../components/toasts.tsx';
import type { Tone } from '../../components/tones.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { failureOf } from './failure.ts';
import { refreshDeliveries } from './queries.ts';

const words = screenTexts.webhooks;

const TONES: Readonly<Record<Delivery['state'], Tone>> = {
  DELIVERED: 'good',
  PENDING: 'warn',
  FAILED: 'bad',
};

export const DeliveryBadge = ({ state }: { state: Delivery['state'] }) => (
  <Badge tone={TONES[state]}>{words.deliveryStates[state]}</Badge>
);

/** JSON on several lines; other text as it is. */
export function formatBody(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The body of a request or a response. */
export const Body = ({ label, text }: { label: string; text: string }) => (
  // biome-ignore lint/a11y/useSemanticElements: a section would need a heading
  <pre
    role="region"
    aria-label={label}
    // biome-ignore lint/a11y/noNoninteractiveTabindex: viewers without a mouse scroll it by keyboard
    tabIndex={0}
    className="max-h-64 overflow-auto rounded-lg border border-line bg-page px-3 py-2 font-mono text-xs break-words whitespace-pre-wrap"
  >
    {formatBody(text)}
  </pre>
);

/** The first characters of a response are enough beside the button of a test. */
const SHOWN_CHARACTERS = 500;

/** The outcome of an attempt that the viewer has just made. */
export const Outcome = ({
  delivery,
  format,
  hasResponse = true,
}: {
  delivery: Delivery;
  format: Webhook['format'];
  /** Also shows the beginning of the response. */
  hasResponse?: boolean;
}) => {
  const { state, status, durationMs, response } = delivery;
  const facts = [
    status !== null && words.status(status),
    durationMs !== null && words.duration(durationMs),
  ];
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <DeliveryBadge state={state} />
        <span className="text-muted">{facts.filter(Boolean).join(' · ')}</span>
      </p>
      <p>{failureOf(delivery, format) ?? words.arrived[format]}</p>
      {hasResponse && response && (
        <Body label={words.response} text={response.slice(0, SHOWN_CHARACTERS)} />
      )}
    </div>
  );
};

/** A button that makes an attempt, with its outcome below. */
export function Attempt({
  webhook: { id, format },
  label,
  look,
  make,
  buttons,
  hasResponse = true,
}: {
  webhook: Pick<Webhook, 'id' | 'format'>;
  label: string;
  look?: Look;
  make: () => Promise<Delivery>;
  /** Beside it. */
  buttons?: ReactNode;
  hasResponse?: boolean;
}) {
  const refusal = useRefusal('everything');
  const [isSending, setSending] = useState(false);
  const [delivery, setDelivery] = useState<Delivery>();
  const send = async (): Promise<void> => {
    setSending(true);
    try {
      setDelivery(await make());
      await refreshDeliveries(id);
    } catch (error) {
      toasts.fail(error);
    } finally {
      setSending(false);
    }
  };
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <Button look={look} refusal={refusal} disabled={isSending} onClick={send}>
          <Send size={16} aria-hidden />
          {isSending ? words.sending : label}
        </Button>
        {buttons}
      </div>
      <div role="status" className="empty:hidden">
        {delivery && !isSending && (
          <Outcome delivery={delivery} format={format} hasResponse={hasResponse} />
        )}
      </div>
    </div>
  );
}

/** A button that sends a test, with its outcome. */
export const SendTest = ({
  webhook,
  look = 'primary',
  buttons,
}: {
  webhook: Pick<Webhook, 'id' | 'format'>;
  look?: Look;
  buttons?: ReactNode;
}) => (
  <Attempt
    webhook={webhook}
    label={words.test}
    look={look}
    make={() => licet.webhooks.test(webhook.id)}
    buttons={buttons}
  />
);
