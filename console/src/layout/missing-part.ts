import { MINUTE_MS } from '@licet/contract/durations';

/** Parts of the page that are gone since an upgrade. A new page has its own. */

/** The beginnings of the messages of browsers, whose errors have no code. */
const MESSAGES = [
  'Failed to fetch dynamically imported module',
  'error loading dynamically imported module',
  'Importing a module script failed',
];

/** Whether an error is that of a part that could not be loaded. */
export const isOfMissingPart = (error: unknown): boolean =>
  error instanceof Error && MESSAGES.some((beginning) => error.message.startsWith(beginning));

/** The time of the reload for an error. */
const keyOf = (error: unknown): string => `licet.reloaded ${error}`;

/** Whether the page was reloaded for the same error within a minute: the new one does not have the part either. */
export const wasReloaded = (error: unknown): boolean =>
  Date.now() - Number(sessionStorage.getItem(keyOf(error))) < MINUTE_MS;

/** Reloads the page, unless the service is out of reach: the browser would show its own page then. Whether it is in reach. */
export async function reload(error: unknown): Promise<boolean> {
  const page = await fetch('/console/', { cache: 'no-store' }).catch(() => undefined);
  if (!page?.ok) return false;
  sessionStorage.setItem(keyOf(error), String(Date.now()));
  location.reload();
  return true;
}
