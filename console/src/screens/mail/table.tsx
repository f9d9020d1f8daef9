import type { Mail } from '@licet/client';
import { MINUTE_MS } from '@licet/contract/durations';
import type { MailState } from '@licet/contract/mail-kinds';
import type { ReactNode } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { TextLink } from '../../components/button.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import type { Tone } from '../../components/tones.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { SendButton } from './send-button.tsx';
import { mayResend } from './sender.ts';

const words = screenTexts.mail;
const { columns: headers } = words;

const TONES: Readonly<Record<MailState, Tone>> = {
  WAITING: 'warn',
  SENT: 'good',
  UNKNOWN: 'warn',
  FAILED: 'bad',
  SKIPPED: 'neutral',
};

/** Sends a mail again, after a question with its address. */
function Resend({ mail: { id, email, state } }: { mail: Mail }) {
  const refusal = useRefusal('everything');
  return (
    <SendButton
      label={words.resend}
      title={words.resendTitle}
      lead={words.resendLead(email ?? '', state === 'SENT')}
      send={() => licet.mails.resend(id)}
      refusal={refusal}
    />
  );
}

/** The recipient. The mails of one license name it beside them. */
function Recipient({ mail: { email, customerId } }: { mail: Mail }) {
  const mayRead = useMay('readCustomers');
  if (customerId === null) return <span className="text-muted">{words.noRecipient}</span>;
  const name = email ?? words.noEmailNow;
  if (!mayRead) return name;
  return (
    <TextLink to="/customers/$id" params={{ id: customerId }}>
      {name}
    </TextLink>
  );
}

/** The reason of a state, and the time of the next attempt; null without both. */
function reasonOf({ error, nextAttemptAt }: Mail): ReactNode {
  if (error === null && nextAttemptAt === null) return null;
  const isSoon = nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now() + MINUTE_MS;
  return (
    <span className="wrap-anywhere sm:block sm:min-w-44">
      {error}{' '}
      {nextAttemptAt !== null && (
        <span className="text-muted">
          {words.next} {isSoon ? words.soon : <Time value={nextAttemptAt} show="ago" />}
        </span>
      )}
    </span>
  );
}

/** Mails, newest first, each with the button that sends it again. */
export function Mails({
  mails,
  isOfLicense = false,
}: {
  mails: readonly Mail[];
  isOfLicense?: boolean;
}) {
  const columns: readonly SimpleColumn<Mail>[] = [
    [headers.time, ({ createdAt }) => <Time value={createdAt} show="short" />],
    [
      headers.kind,
      ({ kind }) => <span className="lg:whitespace-nowrap">{words.kinds[kind].name}</span>,
    ],
    [
      headers.to,
      (mail) => (
        <span className="wrap-anywhere sm:block sm:min-w-32 lg:min-w-44">
          <Recipient mail={mail} />
        </span>
      ),
    ],
    ...(isOfLicense
      ? []
      : [
          [
            headers.license,
            ({ licenseId }) =>
              licenseId === null ? null : (
                <TextLink to="/licenses/$licenseId" params={{ licenseId }}>
                  {licenseId}
                </TextLink>
              ),
          ] satisfies SimpleColumn<Mail>,
        ]),
    [headers.state, ({ state }) => <Badge tone={TONES[state]}>{words.states[state]}</Badge>],
    [headers.reason, reasonOf],
    [headers.resend, (mail) => (mayResend(mail) ? <Resend mail={mail} /> : null)],
  ];
  return <SimpleTable rows={mails} label={words.list} columns={columns} />;
}
