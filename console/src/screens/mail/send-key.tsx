import { useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Section } from '../../components/page.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { mailSettingsQuery, mailsOfQuery, refreshMail } from './queries.ts';
import { whyNotSent } from './sender.ts';
import { Mails } from './table.tsx';

const words = screenTexts.mail;

/**
 * A button that sends the key of a license to the e-mail of its owner, after a question. A service without e-mail has no
 * such button.
 */
export function SendKey({ licenseId, email }: { licenseId: number; email: string | null }) {
  const refusal = useRefusal('writeLicenses');
  const mayRead = useMay('readSettings');
  const { data } = useQuery({ ...mailSettingsQuery, enabled: mayRead });
  const settings = data?.item;
  if (mayRead && !settings?.sender && !settings?.fault) return null;
  const send = async (): Promise<void> => {
    const isSure = await confirm({
      title: words.sendKeyTitle(email ?? ''),
      lead: words.sendKeyLead,
      action: words.sendKey,
      look: 'primary',
    });
    if (!isSure) return;
    try {
      await licet.licenses.sendKey(licenseId);
      toasts.done(words.underWay);
    } catch (error) {
      toasts.fail(error);
    }
    await refreshMail();
  };
  return (
    <Button refusal={refusal ?? whyNotSent(email, settings)} onClick={send}>
      {words.sendKey}
    </Button>
  );
}

/** The latest mails of a license; nothing without any. */
export function MailsOf({ licenseId }: { licenseId: number }) {
  const { data = [] } = useQuery({ ...mailsOfQuery(licenseId), enabled: useMay('readSettings') });
  if (data.length === 0) return null;
  return (
    <Section title={words.listOfLicense}>
      <Mails mails={data} isOfLicense />
    </Section>
  );
}
