import { expect, it } from 'vitest';
import { type MailBindings, mailSenderOf } from '../../src/channels/mail/adapters.ts';
import type { OutgoingMail } from '../../src/channels/mail/sender.ts';
import { Outbound } from '../../src/lib/outbound.ts';

/** Mails by Resend and by Cloudflare's binding, which misbehave. */

const MAIL: OutgoingMail = {
  id: 'licet-7-0a1b2c3d',
  to: 'ada@example.com',
  subject: 'Your key\r\nBcc: eve@example.com',
  text: 'Hello',
  html: '<p>Hello</p>',
  language: 'en',
  unsubscribeUrl: 'https://license.example.com/my/unsubscribe/abc',
};
const SETTINGS = { MAIL_FROM: 'Shop, Inc <keys@example.com>', MAIL_REPLY_TO: 'help@example.com' };

/** Sends by a Resend of our own. @returns the outcome, and the requests */
async function byResend(
  respond: () => Response | Promise<Response>,
  mail: Partial<OutgoingMail> = {},
) {
  const requests: { url: string; headers: Headers; body: unknown }[] = [];
  const fetch: Fetcher['fetch'] = async (input, init) => {
    const request = new Request(input, init);
    requests.push({ url: request.url, headers: request.headers, body: await request.json() });
    return respond();
  };
  const outbound = new Outbound({ OUTBOUND: { fetch } });
  const { sender } = mailSenderOf({ MAIL: 'resend:re_se-cret', ...SETTINGS }, outbound);
  const outcome = await sender?.send({ ...MAIL, ...mail });
  expect(JSON.stringify(outcome)).not.toContain('se-cret');
  return { outcome, requests };
}

it('Resend gets the mail once, with its identity and its headers [13.1.5]', async () => {
  const { outcome, requests } = await byResend(() => Response.json({ id: 'abc' }));
  expect(outcome).toEqual({ state: 'sent', providerId: 'abc' });
  expect(requests).toHaveLength(1);
  const [request] = requests;
  expect(request?.url).toBe('https://api.resend.com/emails');
  expect(request?.headers.get('Authorization')).toBe('Bearer re_se-cret');
  expect(request?.headers.get('Idempotency-Key')).toBe(MAIL.id);
  expect(request?.body).toEqual({
    from: '"Shop, Inc" <keys@example.com>',
    to: ['ada@example.com'],
    reply_to: 'help@example.com',
    subject: 'Your key Bcc: eve@example.com',
    text: 'Hello',
    html: '<p>Hello</p>',
    headers: {
      'Auto-Submitted': 'auto-generated',
      'Content-Language': 'en',
      'List-Unsubscribe': '<https://license.example.com/my/unsubscribe/abc>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  });
});

const failure = (status: number, name: string, message: string, headers = {}) =>
  Response.json({ statusCode: status, name, message }, { status, headers });

it.each<[what: string, response: () => Response | Promise<Response>, outcome: object]>([
  [
    'a limit with its pause',
    () => failure(429, 'rate_limit_exceeded', 'Too many', { 'retry-after': '7' }),
    { state: 'retry', error: 'Resend returned 429: Too many', retryAfterMs: 7_000 },
  ],
  [
    'a used quota without one',
    () => failure(429, 'daily_quota_exceeded', 'You have reached your daily quota'),
    { state: 'retry', error: 'Resend returned 429: You have reached your daily quota' },
  ],
  [
    '500',
    () => new Response('<html>', { status: 500 }),
    { state: 'retry', error: 'Resend returned 500' },
  ],
  [
    'a lost connection',
    () => Promise.reject(new Error('Network connection lost.')),
    { state: 'retry', error: expect.stringContaining('could not be reached') },
  ],
  [
    'a timeout',
    () => Promise.reject(new DOMException('', 'TimeoutError')),
    { state: 'retry', error: expect.stringContaining('did not respond within 10 seconds') },
  ],
  [
    'a wrong key',
    () => failure(401, 'validation_error', 'API key is invalid'),
    {
      state: 'retry',
      error:
        'Resend returned 401: API key is invalid. Check the key in MAIL: it must be able to send.',
    },
  ],
  [
    'a wrong key, in an older form',
    () => failure(403, 'invalid_api_key', 'API key is invalid'),
    { state: 'retry', error: expect.stringContaining('Check the key in MAIL') },
  ],
  [
    'a domain that is not verified',
    () => failure(403, 'validation_error', 'The example.com domain is not verified'),
    { state: 'retry', error: expect.stringContaining('domain of MAIL_FROM is verified') },
  ],
  [
    'a wrong sender',
    () => failure(422, 'invalid_from_address', 'Invalid `from` field'),
    { state: 'retry', error: expect.stringContaining('domain of MAIL_FROM is verified') },
  ],
  [
    'a wrong address, which it repeats',
    () => failure(422, 'validation_error', 'Invalid `to` field: ADA@example.com'),
    { state: 'refused', error: 'Resend returned 422: Invalid `to` field: …', isAddress: true },
  ],
  [
    'another wrong field',
    () => failure(422, 'validation_error', 'Invalid `subject` field'),
    { state: 'refused', error: 'Resend returned 422: Invalid `subject` field', isAddress: false },
  ],
  [
    'a mail that it has taken in other words',
    () => failure(409, 'invalid_idempotent_request', 'Same key, other payload'),
    { state: 'sent', providerId: null },
  ],
  [
    'a mail that it is just taking',
    () => failure(409, 'concurrent_idempotent_requests', 'In progress'),
    { state: 'retry', error: 'Resend returned 409: In progress' },
  ],
])('Resend reports %s', async (_, respond, outcome) => {
  expect((await byResend(respond)).outcome).toEqual(outcome);
});

it.each([
  'ada',
  'ada@example.com\r\nRCPT TO:<eve@example.com>',
  'ada@example.com, eve@example.com',
  'ädä@example.com',
  '<ada@example.com>',
])('no server gets the address %j', async (to) => {
  const { outcome, requests } = await byResend(() => Response.json({ id: 'abc' }), { to });
  expect(outcome).toMatchObject({ state: 'refused', isAddress: true });
  expect(requests).toEqual([]);
});

/** Sends by a binding of our own. */
async function byBinding(send: SendEmail['send']) {
  const bindings: MailBindings = { MAIL: 'cloudflare:', ...SETTINGS, EMAIL: { send } };
  return mailSenderOf(bindings, new Outbound({})).sender?.send(MAIL);
}

it('the binding gets the mail with its headers', async () => {
  const sent: unknown[] = [];
  const outcome = await byBinding(async (message: unknown) => {
    sent.push(message);
    return { messageId: 'abc' };
  });
  expect(outcome).toEqual({ state: 'sent', providerId: 'abc' });
  expect(sent).toEqual([
    {
      from: { name: 'Shop, Inc', email: 'keys@example.com' },
      to: 'ada@example.com',
      replyTo: 'help@example.com',
      subject: 'Your key Bcc: eve@example.com',
      text: 'Hello',
      html: '<p>Hello</p>',
      headers: expect.objectContaining({ 'Auto-Submitted': 'auto-generated' }),
    },
  ]);
});

it.each([
  ['E_RECIPIENT_SUPPRESSED', { state: 'refused', isAddress: true }],
  ['E_VALIDATION_ERROR', { state: 'refused', isAddress: false }],
  ['E_SENDER_NOT_VERIFIED', { state: 'retry' }],
  ['E_RECIPIENT_NOT_ALLOWED', { state: 'retry' }],
  ['E_RATE_LIMIT_EXCEEDED', { state: 'retry' }],
  ['E_DAILY_LIMIT_EXCEEDED', { state: 'retry' }],
  ['E_DELIVERY_FAILED', { state: 'retry' }],
  ['E_INTERNAL_SERVER_ERROR', { state: 'retry' }],
  [undefined, { state: 'lost' }],
])('the binding fails with %s', async (code, outcome) => {
  const error = Object.assign(new Error('no'), code && { code });
  expect(await byBinding(() => Promise.reject(error))).toMatchObject(outcome);
});
