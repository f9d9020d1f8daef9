import type { MailSettings } from '@licet/client';
import {
  MAIL_LANGUAGES,
  MAIL_TEXT_KINDS,
  type MailLanguage,
  type MailTextKind,
} from '@licet/contract/mail-kinds';

/** The texts of a seller while they are edited. */

type MailTexts = MailSettings['texts'];

const PARTS = ['subject', 'greeting', 'closing'] as const;
export type Part = (typeof PARTS)[number];

/** Texts without empty parts, which are the default ones, in an order that can be compared. */
export function withoutEmpty(texts: MailTexts): MailTexts {
  const filled = (entries: [string, unknown][]) =>
    Object.fromEntries(
      entries.filter(([, value]) => value !== undefined && Object.keys(Object(value)).length > 0),
    );
  return filled(
    MAIL_LANGUAGES.map((language) => [
      language,
      filled(
        MAIL_TEXT_KINDS.map((kind) => [
          kind,
          filled(PARTS.map((part) => [part, texts[language]?.[kind]?.[part]?.trim() || undefined])),
        ]),
      ),
    ]),
  );
}

/** Texts with another text in one place. */
export const withPart = (
  texts: MailTexts,
  language: MailLanguage,
  kind: MailTextKind,
  part: Part,
  value: string,
): MailTexts => ({
  ...texts,
  [language]: { ...texts[language], [kind]: { ...texts[language]?.[kind], [part]: value } },
});
