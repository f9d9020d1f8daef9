import type { MailSettings } from '@licet/client';
import { Badge } from '../../components/badge.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { senderState } from './sender.ts';

const words = screenTexts.mail;
const TONES = {
  none: 'neutral',
  fault: 'bad',
  full: 'warn',
  idle: 'neutral',
  works: 'good',
} as const;

/** Whether mails are sent, in words, with the way to the guide where they are not. */
export function SenderState({ settings }: { settings: MailSettings }) {
  const state = senderState(settings);
  return (
    <div className="flex flex-col items-start gap-2">
      <Badge tone={TONES[state]}>{words.senderStates[state]}</Badge>
      <p className="break-words">{settings.fault ?? words.senderLeads[state]}</p>
      {settings.sender === null && (
        <a
          href="/docs/mail"
          className="-my-1.25 rounded-sm py-1.25 text-accent underline underline-offset-2"
        >
          {words.guide}
        </a>
      )}
    </div>
  );
}
