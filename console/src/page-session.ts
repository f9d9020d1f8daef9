import { CONSENT_PATH } from '@licet/contract/consent';

/**
 * The session in the page's own storage. Safari keeps no `Secure` cookie over http, also on this machine. Storage belongs
 * to one origin with its port, and to one tab.
 */

const KEY = 'licet.session';
/** By the rules of the cookie of a session. */
const PROBE = '__Host-licet-probe';

const isOfThisMachine = /^(?:(?:[\w-]+\.)*localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);

let session: string | null = isOfThisMachine ? sessionStorage.getItem(KEY) : null;

/** The session that the page keeps itself; null with a cookie, and without a session. */
export const pageSession = (): string | null => session;

/**
 * False if the browser is on this machine, and keeps no cookie of a session. An assistant opens the question of consent at
 * `localhost`, where other servers would receive the cookie.
 */
export function keepsCookies(): boolean {
  if (isOfThisMachine && location.pathname === CONSENT_PATH) return false;
  if (!isOfThisMachine || location.protocol === 'https:') return true;
  const set = (value: string): void => {
    // biome-ignore lint/suspicious/noDocumentCookie: Safari has no Cookie Store API over http.
    document.cookie = `${PROBE}=${value}; Path=/; Secure; SameSite=Strict`;
  };
  set('1');
  const isKept = document.cookie.includes(PROBE);
  set('; Max-Age=0');
  return isKept;
}

export function storePageSession(started: string): void {
  session = started;
  sessionStorage.setItem(KEY, started);
}

export function endPageSession(): void {
  session = null;
  sessionStorage.removeItem(KEY);
}
