import { parseJson } from '@licet/contract/json';
import { isLoginCode } from '@licet/contract/login-code';
import { type Context, Hono } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import * as z from 'zod';
import {
  type AuthEnv,
  acceptLogin,
  countFailedToken,
  requireConsoleHost,
  senderIn,
  sessionOf,
} from '../auth/middleware.ts';
import { isFromElsewhere } from '../auth/own-page.ts';
import { endSession, insertSession, newSession } from '../auth/sessions.ts';
import { isUniqueViolation } from '../db/client.ts';
import { readBodyText } from '../http/connection.ts';
import { ApiError } from '../http/errors.ts';
import { jsonResponse } from '../http/json.ts';
import { activeRootToken } from '../lib/root-token.ts';
import { sha256Hex } from '../lib/sha256.ts';
import { servicesOf } from '../services.ts';

/** The console (4): its page, and its sessions. */

const MAX_BODY_BYTES = 1024;
const COOKIE = { path: '/', httpOnly: true, secure: true, sameSite: 'Strict' } as const;

const BAD_CODE =
  'The log-in link has expired or was used before. Make another one: npm run licet -- console';

const login = z.object({ code: z.string() });

/** Checks a log-in code. @returns ROOT_TOKEN, with which it was made */
async function tokenOf(code: string, secret: string | undefined): Promise<string> {
  const rootToken = activeRootToken(secret);
  if (rootToken !== undefined && (await isLoginCode(code, rootToken, Date.now()))) return rootToken;
  throw new ApiError(401, BAD_CODE);
}

async function readCode(request: Request): Promise<string | undefined> {
  const text = await readBodyText(request, MAX_BODY_BYTES);
  return login.safeParse(parseJson(text)).data?.code;
}

function checkOrigin({ req }: Context): void {
  if (!isFromElsewhere(req.raw)) return;
  throw new ApiError(403, 'Only the page of the console can log in and out');
}

async function logIn(c: Context<AuthEnv>): Promise<Response> {
  checkOrigin(c);
  const isOfPage = c.req.query('store') === 'page';
  await requireConsoleHost(c, isOfPage);
  await countFailedToken(c);
  const header = c.req.header('TOKEN');
  const code = header === undefined ? await readCode(c.req.raw) : undefined;
  const token = code === undefined ? (header ?? '').trim() : await tokenOf(code, c.env.ROOT_TOKEN);
  await acceptLogin(c, token);
  const session = { secret: newSession(), tokenHash: await sha256Hex(token), code };
  await insertSession(senderIn(c), session).catch((error) => {
    throw isUniqueViolation(error) ? new ApiError(401, BAD_CODE) : error;
  });
  if (isOfPage) return jsonResponse(c, { session: session.secret });
  setCookie(c, 'licet', session.secret, { ...COOKIE, prefix: 'host' });
  return c.body(null, 204);
}

async function logOut(c: Context<AuthEnv>): Promise<Response> {
  checkOrigin(c);
  const secret = sessionOf(c);
  if (secret !== undefined) {
    await requireConsoleHost(c);
    await countFailedToken(c);
    await endSession(servicesOf(c.env).db, secret);
  }
  deleteCookie(c, 'licet', { ...COOKIE, prefix: 'host' });
  // Also drops pages that Back would show. The chosen columns stay: they are in the storage, and about nobody.
  c.header('Clear-Site-Data', '"cache"');
  return c.body(null, 204);
}

/** Logging in and out. The page itself is a file. */
export const consoleRoutes = new Hono<AuthEnv>().post('/session', logIn).delete('/session', logOut);

const NOT_BUILT = `The console is not built.
Stop the service and run npm start, or npm run deploy again: both build it.
`;

/** Whether a path leads to the page: /console and all paths under it but those of the files that the page loads. */
export const isConsolePage = (path: string): boolean =>
  /^\/console(\/|$)/.test(path) && !/^\/console\/assets(\/|$)/.test(path);

/** The page of the console. It is the same for each path: the page itself reads the path. */
export async function consolePage(c: Context): Promise<Response> {
  // The platform serves the file at this address, and redirects to it from the address of the file itself.
  const file = await c.env.ASSETS.fetch(new Request(new URL('/console/', c.req.url), c.req.raw));
  if (file.status === 200 || file.status === 304) return file;
  return c.text(NOT_BUILT, 503);
}
