import type { Delivery, WebhookFormat } from '@licet/client';
import { screenTexts } from '../../screen-texts.ts';

/** Failures of deliveries in words, each with its next step. */

const words = screenTexts.webhooks.failures;

type Cause = keyof typeof words;

const ofStatus = (status: number, format: WebhookFormat): Cause => {
  if (status < 400) return 'redirect';
  if (status === 429) return 'tooMany';
  if (format === 'discord' && status === 400) return 'discordRefused';
  if (format === 'discord' && [401, 403, 404].includes(status)) return 'discordGone';
  if (status === 401 || status === 403) return 'forbidden';
  if (status === 404) return 'notFound';
  if (status === 405) return 'noPost';
  if (status === 410) return 'gone';
  return status < 500 ? 'refused' : 'serverFailed';
};

/** The class of a failure without a response, by the words of the service. */
const CLASSES: readonly (readonly [RegExp, Cause])[] = [
  [/switched off/i, 'switchedOff'],
  [/respond/i, 'timeout'],
  [/its name/i, 'name'],
  [/reached/i, 'connection'],
];

/** Why an attempt failed; undefined for a success. */
export function failureOf(
  { status, error }: Pick<Delivery, 'status' | 'error'>,
  format: WebhookFormat,
): string | undefined {
  if (error === null) return undefined;
  const cause =
    status === null || /switched off/i.test(error)
      ? CLASSES.find(([form]) => form.test(error))?.[1]
      : ofStatus(status, format);
  return cause === undefined ? `${error}.` : words[cause];
}
