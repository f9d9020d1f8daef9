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

/** Texts without empty parts, which are the default ones, in an order that can be compared. */
export function withoutEmpty(texts: MailTexts): MailTexts {
  let filled: MailTexts = {};
  for (const language of MAIL_LANGUAGES) {
    for (const kind of MAIL_TEXT_KINDS) {
      for (const part of PARTS) {
        const value = texts[language]?.[kind]?.[part]?.trim();
        if (value) filled = withPart(filled, language, kind, part, value);
      }
    }
  }
  return filled;
}
