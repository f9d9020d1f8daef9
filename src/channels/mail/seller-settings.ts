import type { MailTexts } from '@licet/contract/mail';
import type { MailLanguage, MailTextKind } from '@licet/contract/mail-kinds';
import { sql } from 'drizzle-orm';

/** The settings of mails that the seller changes, as they are stored (13). */
export interface SellerMailSettings {
  kinds: readonly MailTextKind[];
  language: MailLanguage;
  texts: MailTexts;
  /** The address of the service by which they were last stored: for links of mails that no request causes. */
  origin: string | null;
}

export const NO_MAILS: SellerMailSettings = { kinds: [], language: 'en', texts: {}, origin: null };

/** Whether a kind is switched on, in SQL. */
export const isOn = (kind: MailTextKind) =>
  sql`exists (select 1 from settings s cross join json_each(s.value, '$.kinds') k
    where s.name = 'mail' and k.value = ${kind})`;
