import type { Mail } from '@licet/client';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { refreshMail } from './queries.ts';
import { isLost, outcomeText } from './sender.ts';

/** A button that sends a mail after a question, and reports its outcome. */
export function SendButton({
  label,
  title,
  lead,
  send,
  refusal,
}: {
  label: string;
  /** The question. */
  title: string;
  lead: string;
  send: () => Promise<Mail>;
  refusal: string | undefined;
}) {
  const [isSending, setSending] = useState(false);
  const press = async (): Promise<void> => {
    if (!(await confirm({ title, lead, action: label, look: 'primary' }))) return;
    setSending(true);
    try {
      const mail = await send();
      if (isLost(mail)) toasts.fail(outcomeText(mail));
      else toasts.done(outcomeText(mail));
    } catch (error) {
      toasts.fail(error);
    } finally {
      setSending(false);
    }
    await refreshMail();
  };
  return (
    <Button refusal={refusal} disabled={isSending} onClick={press}>
      {isSending ? screenTexts.mail.sending : label}
    </Button>
  );
}
