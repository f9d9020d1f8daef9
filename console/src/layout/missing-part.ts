import { MINUTE_MS } from '@licet/contract/durations';

/** Parts of the page that are gone since an upgrade. A new page has its own. */

const STORED = 'licet.reloaded';

/** The beginnings of the messages of browsers, whose errors have no code. */
const MESSAGES = [
  'Failed to fetch dynamically imported module',
  'error loading dynamically imported module',
  'Importing a module script failed',
];

/** Whether an error is that of a part that could not be loaded. */
export const isOfMissingPart = (error: unknown): boolean =>
  error instanceof Error && MESSAGES.some((beginning) => error.message.startsWith(beginning));

/** Reloads the page, at most once a minute, unless the service is out of reach: the browser would show its own page then. */
export async function reloadOnce(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(STORED)) < MINUTE_MS) return;
  const page = await fetch('/console/', { cache: 'no-store' }).catch(() => undefined);
  if (!page?.ok) return;
  sessionStorage.setItem(STORED, String(Date.now()));
  location.reload();
}
