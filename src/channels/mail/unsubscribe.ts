import { textColourOn } from '@licet/contract/contrast';
import { MAIL_LANGUAGES, type MailLanguage } from '@licet/contract/mail-kinds';
import type { PortalSettings } from '@licet/contract/portal';
import type { Database } from '../../db/client.ts';
import { escapeHtml } from '../../lib/html.ts';
import { findCustomer } from '../../resources/customers/queries.ts';
import { DEFAULT_COLOUR } from './compose.ts';
import { hashOfAddress } from './hashes.ts';
import { block } from './store.ts';

/** The end of reminders for a customer, and the page for it (13). */

interface Texts {
  title: string;
  question: string;
  button: string;
  done: string;
  unknown: string;
}

const TEXTS: Readonly<Record<MailLanguage, Texts>> = {
  en: {
    title: 'Reminders',
    question: 'Do you want no more reminders before your licenses expire?',
    button: 'Stop the reminders',
    done: 'You will get no more reminders. License keys, and links that you ask for, still arrive.',
    unknown: 'This address is not complete. Open the link in the mail again.',
  },
  de: {
    title: 'Erinnerungen',
    question: 'Möchtest du keine Erinnerungen mehr, bevor deine Lizenzen ablaufen?',
    button: 'Erinnerungen beenden',
    done: 'Du bekommst keine Erinnerungen mehr. Lizenzschlüssel und Links, die du anforderst, kommen weiterhin.',
    unknown: 'Diese Adresse ist nicht vollständig. Öffne den Link in der Mail noch einmal.',
  },
  fr: {
    title: 'Rappels',
    question: 'Ne plus recevoir de rappels avant l’expiration de vos licences ?',
    button: 'Arrêter les rappels',
    done: 'Vous ne recevrez plus de rappels. Vos clés de licence et les liens que vous demandez continueront d’arriver.',
    unknown: 'Cette adresse est incomplète. Ouvrez de nouveau le lien de l’e-mail.',
  },
  es: {
    title: 'Recordatorios',
    question: '¿No quieres más recordatorios antes de que caduquen tus licencias?',
    button: 'Detener los recordatorios',
    done: 'Ya no recibirás recordatorios. Las claves de licencia y los enlaces que pidas seguirán llegando.',
    unknown: 'Esta dirección está incompleta. Abre otra vez el enlace del correo.',
  },
  pt: {
    title: 'Lembretes',
    question: 'Não quer mais lembretes antes de as suas licenças expirarem?',
    button: 'Parar os lembretes',
    done: 'Não receberá mais lembretes. As chaves de licença e os links que pedir continuarão a chegar.',
    unknown: 'Este endereço está incompleto. Abra de novo o link do e-mail.',
  },
};

/** The policy of the page, which loads nothing, and sends its form to the service alone. */
export const UNSUBSCRIBE_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

export const unsubscribeLanguage = (sent: string | undefined): MailLanguage =>
  MAIL_LANGUAGES.find((one) => one === sent) ?? 'en';

/** The page that asks, and those that say the outcome. A form sends itself to the address of its page. */
export function unsubscribePage(
  language: MailLanguage,
  state: 'question' | 'done' | 'unknown',
  { name, colour }: PortalSettings,
): string {
  const texts = TEXTS[language];
  const ground = colour ?? DEFAULT_COLOUR;
  const form = `<form method="post"><button>${escapeHtml(texts.button)}</button></form>`;
  const title = escapeHtml(name === '' ? texts.title : `${texts.title} · ${name}`);
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 15vh auto 0; padding: 0 1.25rem }
h1 { font-size: 1.25rem }
button { font: inherit; font-weight: 600; padding: .6rem 1.1rem; border: 0; border-radius: 6px; cursor: pointer; background: ${ground}; color: ${textColourOn(ground)} }
</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${escapeHtml(texts[state])}</p>
${state === 'question' ? form : ''}
</main>
</body>
</html>
`;
}

/** Stops the reminders to the e-mail that a customer has. */
export async function stopReminders(
  db: Database,
  customerId: number,
  secret: string,
  now: number,
): Promise<void> {
  const customer = await findCustomer(db, customerId);
  if (!customer?.email) return;
  await block(db, [await hashOfAddress(secret, customer.email)], 'reminders', 'UNSUBSCRIBED', now);
}
