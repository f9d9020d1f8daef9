import { Licet, LicetError, type Operations } from '@licet/client';
import { type Check, Connection, isObject } from '@licet/client/connection';
import { SESSION_LIFE_MS } from '@licet/contract/durations';
import { QueryClient, queryOptions } from '@tanstack/react-query';
import { endPageSession, keepsCookies, pageSession, storePageSession } from './page-session.ts';
import { texts } from './texts.ts';

/** Calls of the service. All of them go through `licet`, and `describe` turns errors into text. */

/** The session's token. */
export type Session = Operations['GET /api/v2/tokens/self']['response'];

const SESSION_KEY = ['session'] as const;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // Without a network a query fails, and the viewer sees why. The default waits in silence.
      networkMode: 'always',
      refetchOnReconnect: true,
      retry: (failures, error) =>
        failures < 2 && error instanceof LicetError && (error.status === 0 || error.status >= 500),
    },
  },
});

/** A change can affect any screen: data that no screen shows now is read again before it is shown. */
const markStale = (): void => void queries.invalidateQueries({ refetchType: 'none' });

/** Forgets the data that was read with a session, because the next one may see less. */
const forgetAll = (): void =>
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });

/** With a cookie the browser sends the session. */
function fetchWithPageSession(request: Request): Promise<Response> {
  const session = pageSession();
  if (session !== null) request.headers.set('SESSION', session);
  return fetch(request);
}

/** The number of sessions that this page has begun. */
let begun = 0;

async function fetchWithSession(request: Request): Promise<Response> {
  const before = begun;
  // With a cookie the service accepts changes as JSON only, even without a body.
  if (request.method !== 'GET') request.headers.set('Content-Type', 'application/json');
  const response = await fetchWithPageSession(request);
  // The session has ended: the log-in takes the place of the screen, which stays in the address. A request of an earlier
  // session says nothing about this one.
  if (response.status === 401 && before === begun) {
    endPageSession();
    queries.setQueryData(SESSION_KEY, null);
  }
  if (response.ok && request.method !== 'GET') markStale();
  return response;
}

/** The client of the page's own service. The browser sends the session's cookie. */
export const licet = new Licet({ url: location.origin, fetch: fetchWithSession });

/** For paths that are known only when they are needed. */
export const connection = new Connection({
  url: location.origin,
  insecure: true,
  fetch: fetchWithSession,
});

/** Reads the token of the session; null without a session. */
export async function readSession(): Promise<Session | null> {
  try {
    return await licet.tokens.self();
  } catch (error) {
    if (error instanceof LicetError && error.status === 401) return null;
    throw error;
  }
}

/** The session: read once, and kept until it ends. */
export const SESSION_QUERY = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: readSession,
  staleTime: Number.POSITIVE_INFINITY,
});

/** Forgets all that was read, and reads the session again. */
export async function askAgain(): Promise<void> {
  forgetAll();
  await queries.resetQueries(SESSION_QUERY);
}

const SESSION_END = 'licet.session.ends';

/** The end of the session that this browser has begun; null if it does not know it. */
export const readSessionEnd = (): string | null => localStorage.getItem(SESSION_END);

const storeSessionEnd = (): void =>
  localStorage.setItem(SESSION_END, new Date(Date.now() + SESSION_LIFE_MS).toISOString());

/** Follows a log-in or log-out in another tab. The screen stays if the token is the same one. */
export async function followSession({ key }: StorageEvent): Promise<void> {
  if (key !== SESSION_END) return;
  const earlier = queries.getQueryData<Session | null>(SESSION_KEY);
  const session = await readSession().catch(() => null);
  if (session?.id !== earlier?.id) await askAgain();
}

const SESSION_PATH = '/console/session';

/** Sends the requests of the log-in. A 401 is about their token or code, and ends no session. */
const connect = (token?: string): Connection =>
  new Connection({ url: location.origin, token, insecure: true, fetch: fetchWithPageSession });

interface PageSession {
  session: string;
}

const hasSession: Check = (body) => isObject(body) && 'session' in body;

/** Starts a session: in a cookie, or in the page's own storage if the browser of this machine keeps no cookie. */
async function begin(connection: Connection, body?: object): Promise<void> {
  if (keepsCookies()) await connection.send('POST', SESSION_PATH, { body });
  else {
    const call = { body, query: { store: 'page' } };
    const { session } = await connection.read<PageSession>('POST', SESSION_PATH, call, hasSession);
    storePageSession(session);
  }
  begun++;
  storeSessionEnd();
  forgetAll();
}

/** Starts a session with a token. The token is sent in the request, and not kept. */
export async function logIn(token: string): Promise<void> {
  // The client sends no token that cannot be one.
  if (!/^[!-~]+$/.test(token)) throw new LicetError(401, 'Not a token');
  await begin(connect(token));
}

/** Starts a session with the code of a link, which works once. */
export const logInWithCode = (code: string): Promise<void> => begin(connect(), { code });

/** Ends the session, and forgets the data that was read with it. */
export async function logOut(): Promise<void> {
  await connect().send('DELETE', SESSION_PATH);
  endPageSession();
  localStorage.removeItem(SESSION_END);
  queries.setQueryData(SESSION_KEY, null);
  forgetAll();
}

/** Whether an error is a response with a status. */
export const hasStatus = (error: unknown, status: number): boolean =>
  error instanceof LicetError && error.status === status;

/** An error in words, with the next step. */
export function describe(error: unknown): string {
  if (!(error instanceof LicetError)) return texts.errors.unexpected;
  const { status, message, acceptedIntents, retryAfterSeconds } = error;
  if (status === 0) return texts.errors.noResponse;
  if (status === 401) return texts.errors.sessionEnded;
  if (status === 403) return texts.errors.forbidden(acceptedIntents);
  if (status === 412) return texts.errors.changedMeanwhile;
  if (status === 429) return texts.errors.tooMany(retryAfterSeconds);
  if (status >= 500) return texts.errors.failed;
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

/**
 * The messages of a 400 by the name of their field, as in `maxIPs must be an integer; name is required`.
 * Messages about fields that are not in `names` are in `rest`.
 */
export function fieldErrors(
  error: unknown,
  names: readonly string[],
): { byField: Readonly<Record<string, string>>; rest: string | undefined } {
  if (!(error instanceof LicetError) || error.status !== 400) {
    return { byField: {}, rest: describe(error) };
  }
  const byField: Record<string, string> = {};
  const rest: string[] = [];
  for (const message of error.message.split('; ')) {
    const [, name = '', words = ''] = /^(\w+)\S* (.*)$/.exec(message) ?? [];
    if (names.includes(name)) byField[name] = texts.errors.field(words);
    else rest.push(message);
  }
  return { byField, rest: rest.length > 0 ? `${rest.join('; ')}.` : undefined };
}
