import { useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { Section } from '../../components/page.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { mailSettingsQuery, mailsOfQuery } from './queries.ts';
import { SendButton } from './send-button.tsx';
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
  return (
    <SendButton
      label={words.sendKey}
      title={words.sendKeyTitle(email ?? '')}
      lead={words.sendKeyLead}
      send={() => licet.licenses.sendKey(licenseId)}
      refusal={refusal ?? whyNotSent(email, settings)}
    />
  );
}

/** The latest mails of a license; nothing without any. */
export function MailsOf({ licenseId }: { licenseId: number }) {
  const { data = [] } = useQuery({ ...mailsOfQuery(licenseId), enabled: useMay('readMails') });
  if (data.length === 0) return null;
  return (
    <Section title={words.listOfLicense}>
      <Mails mails={data} isOfLicense />
    </Section>
  );
}
