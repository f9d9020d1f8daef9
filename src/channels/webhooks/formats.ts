import { WEBHOOK_FORMATS, type WebhookFormat } from '@licet/contract/enums';
import { discord } from './formats/discord.ts';
import type { Format } from './formats/format.ts';
import { standard } from './formats/standard.ts';

/** The formats of messages. */
export const FORMATS: Readonly<Record<WebhookFormat, Format>> = { standard, discord };

/** The format of a new address: that of a service which has one of its own, or else `standard`. */
export const formatFor = (url: string): WebhookFormat =>
  WEBHOOK_FORMATS.findLast((name) => FORMATS[name].isFor(url)) ?? 'standard';
