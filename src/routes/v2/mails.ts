import { INTENTS } from '@licet/contract/intents';
import { mail, mailAction, mailQuery, mailTest } from '@licet/contract/mail';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents, senderIn } from '../../auth/middleware.ts';
import { baseOf, causeByHand, storeByHand } from '../../channels/mail/causes.ts';
import { findMail, type ListedMail, listMails, toMail } from '../../channels/mail/list.ts';
import type { MailRow } from '../../channels/mail/schema.ts';
import { change, type Sender } from '../../db/change.ts';
import { SERVICE } from '../../db/events.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import { body, idempotencyKey, pathId, query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import type { Operation } from '../../http/operation.ts';
import { listResponse } from '../../http/pagination.ts';
import { findLicense } from '../../resources/licenses/queries.ts';
import { senderOf, servicesOf } from '../../services.ts';
import { createOnce, type RepeatableInput, theOne } from './objects.ts';

const canRead = requireIntents(INTENTS.readMails);
const canWrite = requireIntents(INTENTS.everything);

const LIST: Operation = {
  operationId: 'listMails',
  tag: 'Mails',
  summary: 'List the mails to customers',
  description: 'The newest first; with `limit` a page. They are kept for 30 days. An extension.',
  success: {
    description: 'The mails.',
    headers: ['Link', 'X-Total-Count'],
    body: mail.array(),
  },
};

const RESEND: Operation = {
  operationId: 'resendMail',
  tag: 'Mails',
  summary: 'Send a mail again',
  description:
    'A mail that waits is attempted at once. Otherwise another one is sent to the e-mail that the customer has now, also if the address is blocked. The response comes after the attempt. 409 for a test, whose address is not stored, and while another attempt is under way. An extension.',
  success: { description: 'The mail that was sent, with the outcome.', body: mail },
  errors: [404, 409],
};

const TEST: Operation = {
  operationId: 'testMail',
  tag: 'Mails',
  summary: 'Send a test',
  description:
    'To any address, which is not stored. The response comes after the attempt. 409 without a sender. An extension.',
  success: { description: 'The mail, with the outcome.', body: mail },
  errors: [409],
};

/** The operation of `POST /licenses/{id}/send-key`. */
export const SEND_KEY: Operation = {
  operationId: 'sendLicenseKey',
  tag: 'Licenses',
  summary: 'Send the key to the owner by e-mail',
  description:
    'Works also while mails of the kind `key` are off, and if the address is blocked. The response comes after the attempt. 409 without an e-mail or a sender, and for a `DELETED` license. An extension.',
  success: { description: 'The mail, with the outcome.', body: mail },
  errors: [404, 409],
};

const UNDER_WAY = new ApiError(409, 'An attempt is under way: see its outcome in some minutes', {
  code: 'CHANGED_MEANWHILE',
});

/** @throws ApiError without a sender */
function requireSender(c: Context<AuthEnv>): void {
  const { sender, fault } = servicesOf(c.env).mailer;
  if (sender) return;
  throw new ApiError(
    409,
    fault ?? 'No mail can be sent, because MAIL is not set: see docs/mail.md',
  );
}

/** Attempts a mail at once. @throws ApiError if another attempt is under way */
async function attemptNow(
  c: Context<AuthEnv>,
  id: number,
  testAddress?: string,
): Promise<ListedMail> {
  const services = servicesOf(c.env);
  const { waitUntil } = c.get('timings');
  const sending = services.mailer.sendNow(
    () => senderOf(services, SERVICE, waitUntil),
    id,
    testAddress,
  );
  // The outcome is stored also if the client goes.
  waitUntil(sending.catch(() => undefined));
  if (!(await sending)) throw UNDER_WAY;
  const attempted = await findMail(services.db, id);
  if (!attempted) throw notFound('Mail');
  return attempted;
}

/** Stores a mail for which the request asks, and attempts it. */
async function sendByHand(
  c: Context<AuthEnv>,
  sender: Sender,
  values: Pick<MailRow, 'kind' | 'licenseId' | 'customerId' | 'language'>,
  base: string,
  testAddress?: string,
): Promise<ListedMail> {
  requireSender(c);
  const { id } = await storeByHand(sender, values, causeByHand(base));
  return attemptNow(c, id, testAddress);
}

/** Sends the key of a license to its owner, once for an `Idempotency-Key`. */
export const sendKey = (
  c: Context<AuthEnv, string, RepeatableInput & { out: { param: { id: number } } }>,
): Promise<Response> =>
  createOnce(c, {
    async create(sender) {
      const { id } = c.req.valid('param');
      const license = await findLicense(sender.db, id);
      if (!license) throw notFound('License');
      if (license.state === 'DELETED') {
        throw new ApiError(409, 'The license is deleted: restore it first');
      }
      const { customer } = license;
      if (!customer?.email) {
        throw new ApiError(409, 'The license has no owner with an e-mail: set customerEmail');
      }
      const { id: customerId } = customer;
      const values = { kind: 'key' as const, licenseId: id, customerId, language: null };
      return sendByHand(c, sender, values, `key:${id}`);
    },
    find: theOne(findMail),
    respond: (row) => jsonResponse(c, toMail(row)),
  });

/** Mails to customers, an extension (13). */
export const mailRoutes = new Hono<AuthEnv>()
  .get('/', canRead(LIST), query(mailQuery), (c) => {
    const { limit, after, ...filter } = c.req.valid('query');
    return listResponse(c, { limit, after }, listMails(databaseOf(c), filter), toMail);
  })
  .post('/test', canWrite(TEST), body(mailTest), async (c) => {
    const { to, language = null } = c.req.valid('json');
    const values = { kind: 'test' as const, licenseId: null, customerId: null, language };
    return jsonResponse(c, toMail(await sendByHand(c, senderIn(c), values, 'test', to)));
  })
  .post('/:id/resend', canWrite(RESEND), pathId, body(mailAction), idempotencyKey, (c) =>
    createOnce(c, {
      async create(sender) {
        const row = await findMail(sender.db, c.req.valid('param').id);
        if (!row) throw notFound('Mail');
        if (row.kind === 'test') {
          throw new ApiError(409, 'The address of a test is not stored: send another one');
        }
        requireSender(c);
        if (row.state === 'WAITING') {
          // A repetition finds the same mail, which does not wait any more.
          if (sender.key) await change(sender, { event: null, statements: {}, creates: [row.id] });
          return attemptNow(c, row.id);
        }
        if (row.email === null) throw new ApiError(409, 'The customer has no e-mail any more');
        return sendByHand(c, sender, row, baseOf(row));
      },
      find: theOne(findMail),
      respond: (row) => jsonResponse(c, toMail(row)),
    }),
  );
