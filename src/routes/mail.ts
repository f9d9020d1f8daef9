import { type Context, Hono } from 'hono';
import { countRejection, isRejectedUnread } from '../auth/middleware.ts';
import { bounceOf, isSignedBy, storeBounce } from '../channels/mail/bounces.ts';
import { SERVICE } from '../db/events.ts';
import { readBodyText } from '../http/connection.ts';
import { ApiError, TOO_MANY_REJECTED } from '../http/errors.ts';
import { type AppEnv, senderOf, servicesOf } from '../services.ts';

/** The notices of senders about mails that did not arrive (13). They hold no token: a signature proves them. */

const RESEND_PATH = '/mail/resend';
const MAX_BODY_BYTES = 64 * 1024;
const NOT_SIGNED = new ApiError(
  401,
  'The signature is missing or wrong: check MAIL_WEBHOOK_SECRET',
);

/** Resend repeats what is not 2xx. */
const UNDER_WAY = new ApiError(409, 'An attempt is under way: send the notice again later');

async function receive(c: Context<AppEnv>): Promise<Response> {
  if (isRejectedUnread(c, RESEND_PATH)) throw TOO_MANY_REJECTED;
  const services = servicesOf(c.env);
  const body = await readBodyText(c.req.raw, MAX_BODY_BYTES).catch(async (error) => {
    await countRejection(c, RESEND_PATH);
    throw error;
  });
  const secret = services.mailWebhookSecret;
  if (!secret || !(await isSignedBy(secret, c.req.raw.headers, body, Date.now()))) {
    throw (await countRejection(c, RESEND_PATH)) ? TOO_MANY_REJECTED : NOT_SIGNED;
  }
  const bounce = bounceOf(body);
  if (bounce) {
    const sender = senderOf(services, SERVICE, c.get('timings').waitUntil);
    if (!(await storeBounce(sender, bounce, c.env.ROOT_TOKEN ?? ''))) throw UNDER_WAY;
  }
  return c.body(null, 204);
}

export const mailRoutes = new Hono<AppEnv>().post('/resend', receive);
