import { parseJson } from '@licet/contract/json';
import { linkRequest } from '@licet/contract/mail';
import { MAIL_LANGUAGES } from '@licet/contract/mail-kinds';
import { PORTAL_PATH, type PortalData, type Seller } from '@licet/contract/portal-page';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { etag } from 'hono/etag';
import * as z from 'zod';
import {
  addressIn,
  countFailedToken,
  findLive,
  rejectOverLimit,
  requireJson,
} from '../auth/middleware.ts';
import { isFromElsewhere, isFromOwnPage } from '../auth/own-page.ts';
import { createLinkCode } from '../channels/discord/link-codes.ts';
import { isSetUp } from '../channels/discord/settings.ts';
import { customerOfToken } from '../channels/mail/hashes.ts';
import { sendLink } from '../channels/mail/links.ts';
import {
  stopReminders,
  UNSUBSCRIBE_CSP,
  unsubscribeLanguage,
  unsubscribePage,
} from '../channels/mail/unsubscribe.ts';
import { licensesOf } from '../channels/portal/licenses.ts';
import { listMachines, withId } from '../channels/portal/machines.ts';
import {
  endPortalSession,
  findPortalPerson,
  PORTAL_SESSION_SECONDS,
  redeemCode,
} from '../channels/portal/sessions.ts';
import { SERVICE } from '../db/events.ts';
import { readBodyText } from '../http/connection.ts';
import { ApiError, notFound } from '../http/errors.ts';
import { jsonResponse } from '../http/json.ts';
import { logFailure } from '../lib/log.ts';
import { clientOf } from '../lib/networks.ts';
import { sha256Hex } from '../lib/sha256.ts';
import { findCustomer } from '../resources/customers/queries.ts';
import type { Person } from '../resources/licenses/own.ts';
import { findOwnLicense } from '../resources/licenses/queries.ts';
import { resetSlots } from '../resources/licenses/self-reset.ts';
import { rotateOwnKey } from '../resources/licenses/self-rotate.ts';
import { type AppEnv, senderOf, servicesOf } from '../services.ts';

/** The customer's own page (10): its session, and what the page asks for. The page itself is a file. */

interface PortalEnv extends AppEnv {
  Variables: AppEnv['Variables'] & { person: Person };
}

const MAX_BODY_BYTES = 1024;
/** The settings of the service are known everywhere after this time. */
const SETTINGS_HELD_MS = 60_000;
/** An isolate and a browser each hold the seller's settings for this time: a change shows within a minute. */
const SELLER_HELD_SECONDS = 30;
const COOKIE = { path: '/', httpOnly: true, secure: true, sameSite: 'Strict' } as const;
const COOKIE_NAME = 'licet-my';

const LINK_IS_COMING = 'If a customer has this e-mail, a link is on its way to it';
const NO_SESSION = new ApiError(401, 'The session is over: open a new link');

const codeBody = z.object({
  code: z.string().max(100),
  language: z.enum(MAIL_LANGUAGES).optional().catch(undefined),
});
const resetBody = z.object({ machine: z.string().max(100).nullable() });

/** The body of a request of the page. @throws ApiError for one that the page does not send */
async function readBody<Output>(c: Context, schema: z.ZodType<Output>): Promise<Output> {
  const { data } = schema.safeParse(parseJson(await readBodyText(c.req.raw, MAX_BODY_BYTES)));
  if (data === undefined) throw new ApiError(400, 'The body is not one of this page');
  return data;
}

const sessionOf = (c: Context): string | undefined => getCookie(c, COOKIE_NAME, 'host');

/** The person of a session; null for none, and for an unknown one of a client that sent too many of these. */
async function personOf(c: Context<PortalEnv>, secret: string): Promise<Person | null> {
  const hash = await sha256Hex(secret);
  return findLive(c, hash, (db) => findPortalPerson(db, hash, Date.now()));
}

/** Requests of the page hold the session's cookie, and come from the page itself. */
const requireSession: MiddlewareHandler<PortalEnv> = async (c, next) => {
  requireJson(c.req.raw);
  const secret = sessionOf(c);
  if (secret === undefined || !isFromOwnPage(c.req.raw)) throw NO_SESSION;
  const person = await personOf(c, secret);
  if (person === null) {
    await countFailedToken(c);
    throw NO_SESSION;
  }
  c.set('person', person);
  await next();
};

/** A customer, as the sender of a change. */
const newSender = (c: Context<PortalEnv>) => () =>
  senderOf(servicesOf(c.env), { actor: 'customer', ip: addressIn(c) }, c.get('timings').waitUntil);

async function open(c: Context<PortalEnv>): Promise<Response> {
  // A launch has many customers behind one address: only failures count. A page elsewhere must not make any.
  rejectOverLimit(c);
  if (isFromElsewhere(c.req.raw)) throw new ApiError(403, 'Only the page itself opens a session');
  requireJson(c.req.raw);
  const { code, language } = await readBody(c, codeBody).catch(async (error) => {
    await countFailedToken(c);
    throw error;
  });
  const redeemed = await redeemCode(
    servicesOf(c.env).db,
    { code, language },
    sessionOf(c),
    Date.now(),
  );
  if ('fault' in redeemed) {
    await countFailedToken(c);
    return jsonResponse(c, redeemed, 403);
  }
  setCookie(c, COOKIE_NAME, redeemed.session, {
    ...COOKIE,
    prefix: 'host',
    maxAge: PORTAL_SESSION_SECONDS,
  });
  return c.body(null, 204);
}

/** Sends a link by e-mail. Everybody gets the same response, and nothing is asked of the database before it. */
async function wantLink(c: Context<PortalEnv>): Promise<Response> {
  if (isFromElsewhere(c.req.raw)) throw new ApiError(403, 'Only the page itself asks for a link');
  requireJson(c.req.raw);
  const { email, language = null } = await readBody(c, linkRequest);
  const services = servicesOf(c.env);
  const { mailer, ceilings } = services;
  if (!mailer.sender) throw new ApiError(404, 'This service sends no mails');
  const address = addressIn(c);
  const { waitUntil } = c.get('timings');
  if (address === null || !ceilings.wantedLinks.count(clientOf(address))) {
    const newSender = () => senderOf(services, SERVICE, waitUntil);
    const sending = sendLink(newSender, mailer, { email, language, address }, secretOf(c));
    waitUntil(sending.catch((error) => logFailure('A link was not sent', error)));
  }
  return jsonResponse(c, { message: LINK_IS_COMING }, 202);
}

/** The page for the end of reminders. It is for a browser without a session, also one of the mail server. */
async function unsubscribing(
  c: Context<PortalEnv>,
  state: 'question' | 'done' | 'unknown',
): Promise<Response> {
  const seller = await servicesOf(c.env).portalSettings.get(SELLER_HELD_SECONDS * 1000);
  c.header('Content-Security-Policy', UNSUBSCRIBE_CSP);
  const page = unsubscribePage(unsubscribeLanguage(c.req.query('language')), state, seller);
  return c.html(page, state === 'unknown' ? 404 : 200);
}

/** The customer of the token in the path; null for a wrong one, which counts as a failed token. */
async function customerToUnsubscribe(c: Context<PortalEnv>): Promise<number | null> {
  rejectOverLimit(c);
  const customerId = await customerOfToken(secretOf(c), c.req.param('token') ?? '');
  if (customerId === null) await countFailedToken(c);
  return customerId;
}

async function unsubscribe(c: Context<PortalEnv>): Promise<Response> {
  const customerId = await customerToUnsubscribe(c);
  if (customerId === null) return unsubscribing(c, 'unknown');
  await stopReminders(servicesOf(c.env).db, customerId, secretOf(c), Date.now());
  return unsubscribing(c, 'done');
}

async function close(c: Context<PortalEnv>): Promise<Response> {
  if (isFromElsewhere(c.req.raw)) throw new ApiError(403, 'Only the page itself ends a session');
  const secret = sessionOf(c);
  if (secret !== undefined) {
    if ((await personOf(c, secret)) === null) await countFailedToken(c);
    else await endPortalSession(servicesOf(c.env).db, secret);
  }
  deleteCookie(c, COOKIE_NAME, { ...COOKIE, prefix: 'host' });
  // Also drops pages that Back would show.
  c.header('Clear-Site-Data', '"cache"');
  return c.body(null, 204);
}

/** For the ids of machines. */
const secretOf = (c: Context<PortalEnv>): string => c.env.ROOT_TOKEN ?? '';

const idOf = (c: Context): number => {
  const id = Number(c.req.param('id'));
  if (!Number.isSafeInteger(id) || id < 1) throw notFound('License');
  return id;
};

async function reset(c: Context<PortalEnv>): Promise<Response> {
  const { machine } = await readBody(c, resetBody);
  const choose = machine === null ? () => 'all' as const : withId(machine, secretOf(c));
  const made = await resetSlots(newSender(c), c.get('person'), idOf(c), choose);
  if (!made) throw notFound('License');
  return jsonResponse(c, made.outcome);
}

async function replaceKey(c: Context<PortalEnv>): Promise<Response> {
  const outcome = await rotateOwnKey(newSender(c), c.get('person'), idOf(c));
  if (!outcome) throw notFound('License');
  return jsonResponse(c, outcome);
}

/**
 * The id of the customer who can link an account at Discord. Null if the customer has an account, if Discord is not set
 * up, and for the session of an account, which proves no customer.
 */
async function findLinkable(c: Context<PortalEnv>): Promise<number | null> {
  const person = c.get('person');
  if (!('customerId' in person)) return null;
  const { db, discordSettings } = servicesOf(c.env);
  if (!isSetUp(await discordSettings.get(SETTINGS_HELD_MS))) return null;
  const customer = await findCustomer(db, person.customerId);
  return customer?.chatId === null ? customer.id : null;
}

async function makeDiscordCode(c: Context<PortalEnv>): Promise<Response> {
  const customerId = await findLinkable(c);
  const made =
    customerId === null
      ? undefined
      : await createLinkCode(servicesOf(c.env).db, customerId, Date.now());
  if (!made) throw new ApiError(409, 'This page cannot link an account at Discord: load it again');
  return jsonResponse(c, made);
}

export const portalRoutes = new Hono<PortalEnv>()
  .use(async (c, next) => {
    await next();
    if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
  })
  // Anybody may ask for it, and it can hold a logo.
  .get('/seller', etag(), async (c) => {
    const { portalSettings, discordSettings, mailSettings, mailer } = servicesOf(c.env);
    const seller: Seller = {
      ...(await portalSettings.get(SELLER_HELD_SECONDS * 1000)),
      hasDiscord: isSetUp(await discordSettings.get(SETTINGS_HELD_MS)),
      hasMail:
        mailer.sender !== null && (await mailSettings.get(SETTINGS_HELD_MS)).kinds.includes('link'),
    };
    c.header('Cache-Control', `public, max-age=${SELLER_HELD_SECONDS}`);
    return jsonResponse(c, seller);
  })
  .post('/session', open)
  .delete('/session', close)
  .post('/link', wantLink)
  // Programs follow links of mails: a GET does nothing.
  .get('/unsubscribe/:token', async (c) =>
    unsubscribing(c, (await customerToUnsubscribe(c)) === null ? 'unknown' : 'question'),
  )
  .post('/unsubscribe/:token', unsubscribe)
  .get('/licenses', requireSession, async (c) => {
    const listed = await licensesOf(servicesOf(c.env).db, c.get('person'), Date.now());
    const data: PortalData = { ...listed, canLinkDiscord: (await findLinkable(c)) !== null };
    return jsonResponse(c, data);
  })
  .post('/discord-code', requireSession, makeDiscordCode)
  .get('/licenses/:id/machines', requireSession, async (c) => {
    const { db } = servicesOf(c.env);
    const row = await findOwnLicense(db, idOf(c), c.get('person'));
    if (!row) throw notFound('License');
    const now = Date.now();
    return jsonResponse(c, await listMachines(db, row.id, addressIn(c), secretOf(c), now));
  })
  .post('/licenses/:id/key', requireSession, async (c) => {
    const row = await findOwnLicense(servicesOf(c.env).db, idOf(c), c.get('person'));
    if (!row) throw notFound('License');
    return jsonResponse(c, { licenseKey: row.licenseKey });
  })
  .post('/licenses/:id/resets', requireSession, reset)
  .post('/licenses/:id/rotations', requireSession, replaceKey);

export const isPortalPage = (path: string): boolean => path === PORTAL_PATH;

/** The page. It is the same for everybody: the page itself asks for its data. */
export async function portalPage(c: Context): Promise<Response> {
  const file = await c.env.ASSETS.fetch(new Request(new URL('/console/my', c.req.url), c.req.raw));
  if (file.status === 200 || file.status === 304) return file;
  return c.text('The page is not built. Stop the service and start it again.\n', 503);
}
