import { agoText } from '@licet/contract/ago';
import { isEndOfDay } from '../dates.ts';
import { de } from './texts/de.ts';
import { en, type MyTexts } from './texts/en.ts';
import { es } from './texts/es.ts';
import { fr } from './texts/fr.ts';
import { pt } from './texts/pt.ts';

const LANGUAGES: Readonly<Record<string, MyTexts>> = { en, de, fr, es, pt };

/** The first language of the browser that the page has; else English. */
export const language =
  navigator.languages.map((one) => one.slice(0, 2).toLowerCase()).find((one) => one in LANGUAGES) ??
  'en';

export const words: MyTexts = LANGUAGES[language] ?? en;

document.documentElement.lang = language;

/** The browser's own form of the language, such as `en-GB`, for dates. */
const locale =
  navigator.languages.find((one) => one.toLowerCase().startsWith(language)) ?? language;
const ago = new Intl.RelativeTimeFormat(locale);
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'long' });
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
const time = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });

/** A time of the service, which is in UTC, as a day where the customer is. */
export const dayOf = (timestamp: string): string => day.format(new Date(timestamp));
/** An end as a day, with the time where it is not the end of that day. */
export const endOf = (timestamp: string): string =>
  isEndOfDay(timestamp) ? dayOf(timestamp) : timeOf(timestamp);
/** The distance of a past time from now. */
export const agoOf = (timestamp: string): string =>
  agoText(ago, timestamp, Date.now()) ?? words.justNow;
export const clockOf = (timestamp: string): string => clock.format(new Date(timestamp));
export const timeOf = (timestamp: string): string => time.format(new Date(timestamp));
