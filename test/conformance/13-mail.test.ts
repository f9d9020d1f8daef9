import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { signatureHeaders } from '../../src/channels/webhooks/formats/standard.ts';
import { expectError } from '../support/client.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import {
  emailOf,
  emptyMails,
  linkIn,
  MailService,
  newEmail,
  ORIGIN,
  onlyMail,
  type SentMail,
  WEBHOOK_SECRET,
} from '../support/mails.ts';
import { ask, codeIn } from '../support/my-page.ts';

/** Mails to customers (13). */

const NOON = Date.UTC(2027, 2, 10, 12);

let service: MailService;
beforeEach(async () => {
  setNow(NOON);
  await emptyMails();
  await env.DB.prepare(
    `delete from counters where name in ('alerts_since', 'expiries_checked_at')`,
  ).run();
  service = new MailService();
});
afterEach(() => {
  vi.useRealTimers();
});

async function passTime(milliseconds: number): Promise<void> {
  setNow(Date.now() + milliseconds);
  await service.isolate.runScheduled();
}

const inDays = (days: number): string => new Date(NOON + days * DAY_MS).toISOString();
const expiring = (days: number, customerEmail: string = newEmail()) => ({
  licenseType: 'TEMPORARY',
  expiryDate: inDays(days),
  customerEmail,
});

describe('the settings', () => {
  it('no kind of mail is sent until it is switched on [13.1.1]', async () => {
    await service.license();
    expect(await service.set({})).toMatchObject({ kinds: [], language: 'en', texts: {} });
    expect(await service.mails()).toEqual([]);
  });

  it('without MAIL nothing is stored, and the settings say that there is no sender [13.1.2]', async () => {
    service = new MailService({ MAIL: '' });
    expect(await service.set({ kinds: ['key'] })).toMatchObject({ sender: null, fault: null });
    await service.license();
    expect(await service.mails()).toEqual([]);
    expectError(
      await service.isolate.call('POST', '/api/v2/mails/test', { body: { to: newEmail() } }),
      409,
      'No mail can be sent, because MAIL is not set: see docs/mail.md',
    );
  });

  it('mails of a wrong MAIL wait for a right one, and the settings name the fault [13.1.2]', async () => {
    const wrong = new MailService({ MAIL: 'carrier-pigeon' });
    const { sender, fault } = await wrong.set({ kinds: ['key'] });
    expect([sender, fault]).toEqual([null, expect.stringMatching(/^MAIL must be /)]);
    const sold = await wrong.license();
    expect(await wrong.mail()).toMatchObject({ state: 'WAITING', attempts: 0 });
    await passTime(MINUTE_MS);
    expect(service.counts()).toEqual({ [emailOf(sold)]: 1 });
  });

  it.each(['produkt', 'clé', 'first-name'])(
    'the unknown placeholder {%s} in a text is 400, and changes nothing [13.1.3]',
    async (name) => {
      const before = await service.set({ texts: { de: { key: { subject: 'Für {product}' } } } });
      const texts = { de: { key: { subject: `Für {${name}}` } } };
      const response = await service.isolate.call('PUT', '/api/v2/settings/mail', {
        body: { texts },
      });
      expect(response.status).toBe(400);
      expect(response.text).toContain(`texts.de.key.subject has {${name}}`);
      expect(response.headers.get('Error-Field')).toBe('texts.de.key');
      expect(await service.set({})).toEqual(before);
    },
  );

  it('a preview shows a mail with made-up values, and stores and sends nothing [13.1.3]', async () => {
    const body = { kind: 'key', language: 'de', text: { subject: 'Für {product}' } };
    const { json } = await service.isolate.call('POST', '/api/v2/settings/mail/preview', { body });
    expect(json).toMatchObject({
      subject: 'Für ChunkGuard',
      html: expect.stringMatching(/^<!doctype html>/i),
    });
    expect([await service.mails(), service.sent]).toEqual([[], []]);
  });
});

describe('the key of a license', () => {
  beforeEach(() => service.switchOn('key'));

  it('the owner of a new license gets its key once [13.2.1]', async () => {
    const sold = await service.license();
    const mail = onlyMail(service);
    expect(mail).toMatchObject({
      to: emailOf(sold),
      headers: expect.objectContaining({ 'Auto-Submitted': 'auto-generated' }),
    });
    expect(mail.text).toContain(sold.licenseKey);
    expect(await service.mail()).toMatchObject({
      kind: 'key',
      cause: expect.stringMatching(new RegExp(`^key:${sold.id}:\\d+$`)),
      state: 'SENT',
      licenseId: sold.id,
      customerId: sold.customer?.id,
      email: emailOf(sold),
      attempts: 1,
      error: null,
      nextAttemptAt: null,
    });
    await passTime(MINUTE_MS);
    expect(service.sent).toHaveLength(1);
  });

  it('a license without an e-mail, one that is deactivated, and a large batch send none [13.2.1, 13.2.2]', async () => {
    await service.license({ customerEmail: null });
    await service.license({ licenseStatus: 'DEACTIVATED' });
    const { productId } = await service.license({ customerEmail: null });
    const batch = { productId, licenseType: 'PERMANENT', customerEmail: newEmail() };
    const make = (count: number) =>
      service.isolate.call('POST', '/api/v2/licenses/batch', { body: { ...batch, count } });
    expect((await make(11)).status).toBe(201);
    expect(await service.mails()).toEqual([]);
    expect((await make(10)).status).toBe(201);
    expect(await service.mails()).toHaveLength(10);
  });

  it('an import sends no mail [13.2.2]', async () => {
    const { productId } = await service.license({ customerEmail: null });
    const body = {
      kind: 'licenses',
      items: [
        {
          licenseKey: 'OLD-KEY-1',
          productId,
          licenseType: 'PERMANENT',
          customer: { email: newEmail() },
        },
      ],
    };
    const { status, text } = await service.isolate.call('POST', '/api/v2/import', { body });
    expect(status, text).toBe(200);
    expect(await service.mails()).toEqual([]);
  });

  it('an administrator can send the key of a license, also while the kind is off [13.2.3]', async () => {
    const sold = await service.license({ licenseStatus: 'DEACTIVATED' });
    await service.switchOn();
    const path = `/licenses/${sold.id}/send-key`;
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const first = await service.post(path, {}, { headers });
    expect(first).toMatchObject({ kind: 'key', state: 'SENT', licenseId: sold.id });
    expect(await service.post(path, {}, { headers })).toEqual(first);
    expect(service.counts()).toEqual({ [emailOf(sold)]: 1 });
    await service.post(path);
    expect(service.counts()).toEqual({ [emailOf(sold)]: 2 });
  });

  it('no key is sent to a license without an e-mail, or of a deleted one [13.2.3]', async () => {
    const send = (id: number) => service.isolate.call('POST', `/api/v2/licenses/${id}/send-key`);
    const { id } = await service.license({ customerEmail: null });
    expectError(await send(id), 409, 'The license has no owner with an e-mail: set customerEmail');
    const sold = await service.license({ licenseStatus: 'DEACTIVATED' });
    await service.isolate.call('DELETE', `/api/v2/licenses/${sold.id}`);
    expectError(await send(sold.id), 409, 'The license is deleted: restore it first');
    expectError(await send(999_999), 404, 'License not found');
  });
});

describe('reminders', () => {
  beforeEach(async () => {
    await service.switchOn('expiring');
    await service.isolate.runScheduled();
  });

  it('a customer is reminded seven days and one day before, once a day for all licenses [13.3.1]', async () => {
    const email = newEmail();
    const first = await service.license(expiring(10, email));
    await service.license({ ...expiring(10, email), expiryDate: inDays(10.2) });
    await service.license({ ...expiring(20, email) });
    await passTime(2.9 * DAY_MS);
    expect(service.sent).toEqual([]);
    await passTime(0.2 * DAY_MS);
    const mail = onlyMail(service);
    expect(mail.text).not.toContain(first.licenseKey);
    expect(mail.text.match(/…[A-Z0-9]{4}/g)).toHaveLength(2);
    await passTime(0.3 * DAY_MS);
    expect(service.sent).toHaveLength(1);
    await passTime(5.8 * DAY_MS);
    expect(service.sent).toHaveLength(2);
    const day = inDays(10).slice(0, 10);
    const customerId = first.customer?.id;
    expect((await service.mails()).map(({ cause, licenseId }) => [cause, licenseId])).toEqual([
      [`expiring:${customerId}:${day}:7`, null],
      [`expiring:${customerId}:${day}:1`, null],
    ]);
  });

  it('a reminder can be stopped with one click, and by no GET [13.3.2]', async () => {
    const email = newEmail();
    await service.license(expiring(8, email));
    await passTime(1.5 * DAY_MS);
    const { headers } = onlyMail(service);
    expect(headers['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click');
    const url = new URL(headers['List-Unsubscribe']?.slice(1, -1) ?? '');
    expect(url.origin).toBe(ORIGIN);
    const path = url.pathname + url.search;
    const options = { token: null, headers: { 'CF-Connecting-IP': '192.0.2.77' } };
    const page = await service.isolate.call('GET', path, options);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<form method="post">');
    expect(await env.DB.prepare('select count(*) n from mail_blocks').first('n')).toBe(0);
    const body = 'List-Unsubscribe=One-Click';
    const done = await service.isolate.call('POST', path, { ...options, body });
    expect(done.status).toBe(200);
    expect(done.text).not.toContain('<form');
    await passTime(6 * DAY_MS);
    expect(service.sent).toHaveLength(1);
    expect((await service.mails()).at(-1)).toMatchObject({
      state: 'SKIPPED',
      error: 'The customer has stopped reminders',
    });
    await service.switchOn('key', 'expiring');
    await service.license({ customerEmail: email });
    expect(service.sent).toHaveLength(2);
  });

  it('a wrong address of an unsubscribe page stops nothing [13.3.2]', async () => {
    const { customer } = await service.license();
    const path = `/my/unsubscribe/${customer?.id}.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA?language=de`;
    const options = { token: null, headers: { 'CF-Connecting-IP': '192.0.2.78' } };
    for (const method of ['GET', 'POST']) {
      const response = await service.isolate.call(method, path, options);
      expect(response.status).toBe(404);
      expect(response.text).toContain('nicht vollständig');
    }
    expect(await env.DB.prepare('select count(*) n from mail_blocks').first('n')).toBe(0);
  });
});

describe('what holds when a mail is sent', () => {
  /** Stores the mail of a cause, whose first attempt fails. */
  async function storeOnly(make: () => Promise<unknown>): Promise<void> {
    service.answer(() => new Response('', { status: 500 }));
    await make();
    service.answer();
  }

  it('an extended license sends no reminder [13.4.1]', async () => {
    await service.switchOn('expiring');
    await service.isolate.runScheduled();
    const { id } = await service.license(expiring(8));
    await storeOnly(() => passTime(1.5 * DAY_MS));
    await service.isolate.call('PUT', `/api/v2/licenses/${id}`, {
      body: { expiryDate: inDays(100) },
    });
    await passTime(2 * MINUTE_MS);
    expect(service.sent).toEqual([]);
    expect(await service.mail()).toMatchObject({
      state: 'SKIPPED',
      error: 'No license of the customer expires on that day any more',
      attempts: 2,
    });
  });

  it('a forgotten customer gets no mail, and the mails are erased [13.4.1, 13.4.2]', async () => {
    await service.switchOn('key');
    const sold = await service.license({ customerEmail: newEmail() });
    await storeOnly(() => service.license({ customerEmail: emailOf(sold) }));
    const path = `/api/v2/customers/${sold.customer?.id}`;
    const { text } = await service.isolate.call('GET', `${path}/export`);
    expect(JSON.parse(text).mails).toHaveLength(2);
    expect((await service.isolate.call('DELETE', path)).status).toBe(204);
    await passTime(2 * MINUTE_MS);
    expect(service.sent).toHaveLength(1);
    expect(await service.mails()).toEqual([]);
  });

  it('neither the address nor the text of a mail is stored [13.4.2]', async () => {
    await service.switchOn('key', 'link');
    const sold = await service.license();
    await ask('POST', '/link', { body: { email: emailOf(sold) } }, service.isolate);
    await service.post('/mails/test', { to: 'somebody@test.example' });
    expect(service.sent).toHaveLength(3);
    const { results } = await env.DB.prepare('select * from mails').all();
    const stored = JSON.stringify(results);
    expect(results).toHaveLength(3);
    expect(stored).not.toContain(emailOf(sold));
    expect(stored).not.toContain('test.example');
    expect(stored).not.toContain(sold.licenseKey);
  });

  it('a kind that was switched off meanwhile, and a license that changed hands, send nothing [13.4.1]', async () => {
    await service.switchOn('key');
    await storeOnly(() => service.license());
    await service.switchOn();
    await passTime(2 * MINUTE_MS);
    expect(await service.mail()).toMatchObject({
      state: 'SKIPPED',
      error: 'Mails of this kind are switched off',
    });
    await service.switchOn('key');
    let id = 0;
    await storeOnly(async () => {
      id = (await service.license()).id;
    });
    const body = { customerEmail: newEmail() };
    await service.isolate.call('POST', `/api/v2/licenses/${id}/transfer`, { body });
    await passTime(2 * MINUTE_MS);
    expect((await service.mails()).at(-1)).toMatchObject({
      state: 'SKIPPED',
      error: 'The license has another owner',
    });
    expect(service.sent).toEqual([]);
  });

  it('mails are kept for 30 days [13.4.3]', async () => {
    await service.switchOn('key');
    await service.license();
    await passTime(29.9 * DAY_MS);
    expect(await service.mails()).toHaveLength(1);
    await passTime(0.2 * DAY_MS);
    expect(await service.mails()).toEqual([]);
  });
});

describe('attempts', () => {
  beforeEach(() => service.switchOn('key'));

  it('a mail that fails has seven more attempts within two days, and then fails with an event [13.5.1]', {
    tags: 'long',
  }, async () => {
    service.answer(() => new Response('', { status: 500 }));
    const { id } = await service.license();
    expect(await service.mail()).toMatchObject({
      state: 'WAITING',
      attempts: 1,
      error: expect.stringContaining('500'),
    });
    for (let hour = 0; hour < 60; hour++) await passTime(HOUR_MS);
    const mail = await service.mail();
    expect(mail).toMatchObject({ state: 'FAILED', attempts: 8, nextAttemptAt: null });
    const [failure, ...others] = await service.failures();
    expect(others).toEqual([]);
    expect(failure).toMatchObject({
      resourceType: 'mail',
      resourceId: mail.id,
      changes: { licenseId: { before: null, after: id } },
    });
  });

  it('all attempts of a mail have the same identity, and the same link [13.5.2]', async () => {
    await service.switchOn('link');
    const { email } = await service.customer();
    const tried: string[] = [];
    service.answer(({ key, text }) => {
      tried.push(`${key} ${text}`);
      return new Response('', { status: 500 });
    });
    await ask('POST', '/link', { body: { email } }, service.isolate);
    service.answer((mail) => {
      tried.push(`${mail.key} ${mail.text}`);
      return undefined;
    });
    await passTime(2 * MINUTE_MS);
    expect(tried).toHaveLength(2);
    expect(new Set(tried).size).toBe(1);
    const code = codeIn(linkIn(onlyMail(service)));
    const opened = await ask('POST', '/session', { body: { code } }, service.isolate);
    expect(opened.status).toBe(204);
  });

  it('an address that is refused for good gets no further mail, and its mail leaves an event [13.5.3]', async () => {
    service.answer(() => Response.json({ message: 'Invalid `to` field' }, { status: 422 }));
    const email = newEmail();
    const { id } = await service.license({ customerEmail: email });
    service.answer();
    expect(await service.mail()).toMatchObject({ state: 'FAILED', attempts: 1, licenseId: id });
    expect(await service.failures()).toHaveLength(1);
    await service.license({ customerEmail: email.toUpperCase() });
    expect((await service.mails()).at(-1)).toMatchObject({
      state: 'SKIPPED',
      error: 'The address is blocked, because its server refused a mail',
    });
    expect(service.sent).toEqual([]);
    const { results } = await env.DB.prepare('select * from mail_blocks').all();
    expect(JSON.stringify(results)).not.toContain('mail.example');
  });

  it('a mail that a person sends goes in spite of a block, and its success removes it [13.5.4]', async () => {
    service.answer(() => Response.json({ message: 'Invalid `to` field' }, { status: 422 }));
    const email = newEmail();
    await service.license({ customerEmail: email });
    const failed = await service.mail();
    service.answer();
    const again = await service.post(`/mails/${failed.id}/resend`);
    expect(again).toMatchObject({ kind: 'key', state: 'SENT', licenseId: failed.licenseId });
    expect(again.id).toBeGreaterThan(failed.id);
    await service.license({ customerEmail: email });
    expect(service.counts()).toEqual({ [email]: 2 });
  });

  it('a mail that waits is attempted at once when it is sent again, and is not sent twice [13.5.4]', async () => {
    service.answer(() => new Response('', { status: 500 }));
    await service.license();
    service.answer();
    const { id } = await service.mail();
    expect(await service.post(`/mails/${id}/resend`)).toMatchObject({
      id,
      state: 'SENT',
      attempts: 2,
    });
    await passTime(HOUR_MS);
    expect(service.sent).toHaveLength(1);
  });
});

describe('limits', () => {
  it('a day has its limit of mails, of which reminders take three quarters at most [13.6.1]', async () => {
    service = new MailService({ MAIL_DAILY_LIMIT: '8' });
    await service.switchOn('key', 'expiring');
    await service.isolate.runScheduled();
    for (let count = 0; count < 8; count++) {
      await service.license({ ...expiring(8), licenseStatus: 'DEACTIVATED' });
    }
    await env.DB.prepare(`update licenses set state = 'ACTIVE' where expires_at = ?`)
      .bind(NOON + 8 * DAY_MS)
      .run();
    await passTime(1.4 * DAY_MS);
    // Licenses of other tests that expire take a part of the requests of a run.
    await passTime(MINUTE_MS);
    expect(service.sent).toHaveLength(6);
    for (let count = 0; count < 3; count++) await service.license();
    expect(service.sent).toHaveLength(8);
    const { sender } = await service.set({});
    expect(sender).toMatchObject({ dailyLimit: 8, sentToday: 8 });
    // The next day (UTC).
    await passTime(12 * HOUR_MS);
    expect(service.sent).toHaveLength(11);
    expect((await service.mails()).every(({ state }) => state === 'SENT')).toBe(true);
  });
});

describe('a link by e-mail', () => {
  beforeEach(() => service.switchOn('link'));
  const want = (email: string, headers = {}) =>
    ask('POST', '/link', { body: { email, language: 'de' }, headers }, service.isolate);

  it('the page sends a link that works once within 60 minutes, in its language [13.7.1]', async () => {
    const { email } = await service.customer();
    expect((await want(` ${email?.toUpperCase()} `)).status).toBe(202);
    const mail = onlyMail(service);
    expect(mail.subject).toBe('Dein Link zu deinen Lizenzen');
    const code = codeIn(linkIn(mail));
    setNow(NOON + 59 * MINUTE_MS);
    const open = () => ask('POST', '/session', { body: { code, language: 'fr' } }, service.isolate);
    expect([(await open()).status, (await open()).status]).toEqual([204, 403]);
    setNow(NOON + 2 * HOUR_MS);
    await ask('POST', '/link', { body: { email } }, service.isolate);
    expect(service.sent[1]?.subject).toBe('Votre lien vers vos licences');
    setNow(NOON + 3.1 * HOUR_MS);
    const late = codeIn(linkIn(service.sent[1] ?? mail));
    const response = await ask('POST', '/session', { body: { code: late } }, service.isolate);
    expect(response.json).toEqual({ fault: 'expired' });
  });

  it('everybody gets the same response [13.7.2]', async () => {
    const { email } = await service.customer();
    const responses = [
      await want(email ?? ''),
      await want(email ?? ''),
      await want(newEmail()),
      await want('nonsense'),
    ];
    const [first] = responses;
    for (const { status, text } of responses) expect([status, text]).toEqual([202, first?.text]);
    expect(service.sent).toHaveLength(1);
  });

  it('a customer gets a link each five minutes and five a day, an address asks for five an hour [13.7.3]', async () => {
    const { email } = await service.customer();
    await want(email ?? '');
    await want(email ?? '');
    expect(service.sent).toHaveLength(1);
    for (let count = 0; count < 6; count++) {
      setNow(Date.now() + 6 * MINUTE_MS);
      await want(email ?? '');
    }
    expect(service.sent).toHaveLength(5);
    setNow(Date.now() + DAY_MS);
    await want(email ?? '');
    expect(service.sent).toHaveLength(6);
    service.sent.splice(0);
    const headers = { 'CF-Connecting-IP': '2001:db8:1:2::1' };
    for (let count = 0; count < 6; count++) {
      await want((await service.customer()).email ?? '', {
        'CF-Connecting-IP': `2001:db8:1:2::${count + 1}`,
      });
    }
    expect(service.sent).toHaveLength(5);
    setNow(Date.now() + 1.1 * HOUR_MS);
    await want((await service.customer()).email ?? '', headers);
    expect(service.sent).toHaveLength(6);
  });

  it('a page elsewhere cannot ask for a link [13.7.2]', async () => {
    const { email } = await service.customer();
    const response = await want(email ?? '', { 'Sec-Fetch-Site': 'cross-site' });
    expect(response.status).toBe(403);
    expect(service.sent).toEqual([]);
  });

  it('the page shows the form only where links are sent [13.7.4]', async () => {
    const hasMail = async () =>
      Object((await new MailService().isolate.call('GET', '/my/seller', { token: null })).json)
        .hasMail;
    expect(await hasMail()).toBe(true);
    await service.switchOn('key');
    expect(await hasMail()).toBe(false);
  });
});

describe('bounces', () => {
  const notify = async (body: object, { secret = WEBHOOK_SECRET, at = Date.now() } = {}) => {
    const text = JSON.stringify(body);
    const signed = await signatureHeaders({ id: 'msg_1', body: text }, [secret], at);
    const headers = Object.fromEntries(
      Object.entries(signed).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
    );
    return service.isolate.call('POST', '/mail/resend', {
      body: text,
      token: null,
      headers: { ...headers, 'CF-Connecting-IP': '192.0.2.200' },
    });
  };
  const bounced = (mail: { id: string; to: string }, type = 'Permanent') => ({
    type: 'email.bounced',
    data: { email_id: mail.id, to: [mail.to], bounce: { type } },
  });

  it.each([
    ['a bounce', bounced, 'The mail bounced: ask the customer for another address'],
    [
      'a complaint',
      (mail: { id: string; to: string }) => ({
        type: 'email.complained',
        data: { email_id: mail.id, to: [mail.to] },
      }),
      'The customer has marked the mail as spam',
    ],
    [
      'a suppression',
      (mail: { id: string; to: string }) => ({
        type: 'suppression.added',
        data: { id: 's', email: mail.to, origin: 'bounce', source_id: mail.id },
      }),
      'The mail bounced: ask the customer for another address',
    ],
  ])(
    '%s blocks the address, and the mail says so with one event [13.8.1]',
    async (_, notice, error) => {
      await service.switchOn('key');
      const sold = await service.license();
      const mail = onlyMail(service);
      for (let count = 0; count < 2; count++) expect((await notify(notice(mail))).status).toBe(204);
      expect(await service.mail()).toMatchObject({ state: 'FAILED', error, licenseId: sold.id });
      expect(await service.failures()).toHaveLength(1);
      await service.license({ customerEmail: mail.to });
      expect((await service.mails()).at(-1)).toMatchObject({ state: 'SKIPPED' });
    },
  );

  it('a mailbox that is full, and a mail of another service, block nothing [13.8.1]', async () => {
    await service.switchOn('key');
    await service.license();
    const mail = onlyMail(service);
    expect((await notify(bounced(mail, 'Transient'))).status).toBe(204);
    expect((await notify(bounced({ id: 'resend-other', to: mail.to }))).status).toBe(204);
    expect((await notify({ type: 'email.delivered', data: {} })).status).toBe(204);
    expect(await service.mail()).toMatchObject({ state: 'SENT' });
    expect(await env.DB.prepare('select count(*) n from mail_blocks').first('n')).toBe(0);
  });

  it('a mail that bounced still counts on its day [13.6.1]', async () => {
    await service.switchOn('key');
    await service.license();
    expect((await notify(bounced(onlyMail(service)))).status).toBe(204);
    expect((await service.set({})).sender).toMatchObject({ sentToday: 1 });
  });

  it('a notice that comes before the end of the attempt is taken when it is repeated [13.8.1]', async () => {
    await service.switchOn('key');
    const early: { mail: SentMail; status: number }[] = [];
    service.answer(async (mail) => {
      early.push({ mail, status: (await notify(bounced(mail))).status });
      return Response.json({ id: mail.id });
    });
    await service.license();
    expect(early).toEqual([expect.objectContaining({ status: 409 })]);
    const mail = early[0]?.mail ?? expect.fail('No mail arrived');
    expect((await notify(bounced(mail))).status).toBe(204);
    expect(await service.mail()).toMatchObject({ state: 'FAILED' });
  });

  it('a notice with a wrong or an old signature is 401, and changes nothing [13.8.2]', async () => {
    await service.switchOn('key');
    await service.license();
    const notice = bounced(onlyMail(service));
    expect((await notify(notice, { secret: 'whsec_b3RoZXI=' })).status).toBe(401);
    expect((await notify(notice, { at: NOON - HOUR_MS })).status).toBe(401);
    service = new MailService({ MAIL_WEBHOOK_SECRET: '' });
    expect((await notify(notice)).status).toBe(401);
    expect(await service.mail()).toMatchObject({ state: 'SENT' });
  });
});

describe('the list', () => {
  it('mails are listed newest first, by kind, state, license and customer [13.9.1]', async () => {
    await service.switchOn('key');
    const [one, other] = [await service.license(), await service.license()];
    await service.post('/mails/test', { to: newEmail() });
    const ids = async (query: string) =>
      (await service.mails(query)).map(({ kind, licenseId }) => [kind, licenseId]);
    expect(await ids('')).toEqual([
      ['key', one.id],
      ['key', other.id],
      ['test', null],
    ]);
    expect(await ids('?kind=test')).toEqual([['test', null]]);
    expect(await ids(`?licenseId=${one.id}`)).toEqual([['key', one.id]]);
    expect(await ids(`?customerId=${other.customer?.id}&state=SENT`)).toEqual([['key', other.id]]);
    expect(await ids('?state=FAILED')).toEqual([]);
    const page = await service.isolate.call('GET', '/api/v2/mails?limit=2');
    expect(page.headers.get('X-Total-Count')).toBe('3');
    const next = /<([^>]+)>/.exec(page.headers.get('Link') ?? '')?.[1] ?? '';
    const { pathname, search } = new URL(next);
    const rest = await service.isolate.call('GET', pathname + search);
    expect(rest.json).toHaveLength(1);
  });

  it('a test is sent at once, once, to an address that is not stored, also if mails failed before [13.9.2]', async () => {
    const to = newEmail();
    expect(await service.post('/mails/test', { to, language: 'pt' })).toMatchObject({
      kind: 'test',
      state: 'SENT',
      email: null,
      customerId: null,
    });
    expect(service.counts()).toEqual({ [to]: 1 });
    service.answer(() => Response.json({ message: 'API key is invalid' }, { status: 401 }));
    const failed = await service.post('/mails/test', { to });
    expect(failed).toMatchObject({ state: 'FAILED', attempts: 1, nextAttemptAt: null });
    expect(failed.error).toContain('Check the key in MAIL');
    expect(await service.failures()).toEqual([]);
    expectError(
      await service.isolate.call('POST', `/api/v2/mails/${failed.id}/resend`),
      409,
      'The address of a test is not stored: send another one',
    );
  });
});
