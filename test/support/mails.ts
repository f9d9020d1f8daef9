import { env } from 'cloudflare:workers';
import { customer } from '@licet/contract/customers';
import { event } from '@licet/contract/events';
import { license } from '@licet/contract/licenses';
import { mail, mailSettings } from '@licet/contract/mail';
import type { MailLanguage, MailTextKind } from '@licet/contract/mail-kinds';
import { expect } from 'vitest';
import type * as z from 'zod';
import { type Isolate, newIsolate, settled, type TestBindings } from './app.ts';
import type { License } from './client.ts';
import { Receivers } from './receiver.ts';
import { products } from './resources.ts';

/** A service that sends mails by a made-up Resend, which keeps them as Resend does: once for an `Idempotency-Key`. */

const RESEND = 'https://api.resend.com/emails';
export const WEBHOOK_SECRET = 'whsec_c2VjcmV0IG9mIHRoZSBub3RpY2VzIG9mIFJlc2VuZA==';
/** The service as its customers open it. */
export const ORIGIN = 'https://license.shop.example';

export type Mail = z.infer<typeof mail>;

export interface SentMail {
  id: string;
  key: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
}

export const emptyMails = async (): Promise<void> => {
  await settled();
  await env.DB.batch(
    ['mails', 'mail_blocks', 'events', 'page_links', "settings where name = 'mail'"].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
};

export class MailService {
  readonly receivers = new Receivers();
  readonly isolate: Isolate;
  /** The mails that arrived. */
  readonly sent: SentMail[] = [];
  readonly bindings: TestBindings;
  #answer: ((mail: SentMail) => Response | Promise<Response> | undefined) | undefined;

  constructor(bindings: TestBindings = {}) {
    this.bindings = {
      ...env,
      MAIL: 'resend:re_test',
      MAIL_FROM: 'Ada Games <keys@shop.example>',
      MAIL_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PUBLIC_URL: ORIGIN,
      ...bindings,
      OUTBOUND: this.receivers,
    };
    this.isolate = newIsolate(this.bindings);
    this.receivers.at(RESEND, async ({ headers, body }) => {
      const { to, ...message } = JSON.parse(body);
      const key = headers.get('Idempotency-Key') ?? '';
      const id = `resend-${key}`;
      const arrived: SentMail = { ...message, id, key, to: to[0] };
      const other = await this.#answer?.(arrived);
      if (other) return other;
      if (!this.sent.some((one) => one.key === key)) this.sent.push(arrived);
      return Response.json({ id });
    });
  }

  newIsolate(bindings: TestBindings = {}): Isolate {
    return newIsolate({ ...this.bindings, ...bindings });
  }

  /** Lets Resend respond in another way; undefined from a call, or for all, for the usual one. */
  answer(respond?: (mail: SentMail) => Response | Promise<Response> | undefined): void {
    this.#answer = respond;
  }

  async switchOn(...kinds: MailTextKind[]): Promise<void> {
    await this.set({ kinds });
  }

  async set(fields: object) {
    const { status, json, text } = await this.isolate.call('PUT', '/api/v2/settings/mail', {
      body: fields,
    });
    expect(status, text).toBe(200);
    return mailSettings.parse(json);
  }

  /** A license whose customer has an e-mail, if that is not null. */
  async license(
    fields: { customerEmail?: string | null; [field: string]: unknown } = {},
    isolate = this.isolate,
  ): Promise<License> {
    const { id: productId } = await products.create();
    const body = {
      productId,
      licenseType: 'PERMANENT',
      customerEmail: newEmail(),
      ...fields,
    };
    const { status, json, text } = await isolate.call('POST', '/api/v2/licenses', { body });
    expect(status, text).toBe(201);
    return license.parse(json);
  }

  async customer(fields: object = {}) {
    const { json, text, status } = await this.isolate.call('POST', '/api/v2/customers', {
      body: { email: newEmail(), ...fields },
    });
    expect(status, text).toBe(201);
    return customer.parse(json);
  }

  /** The mails, oldest first. */
  async mails(query = ''): Promise<Mail[]> {
    const { status, json, text } = await this.isolate.call('GET', `/api/v2/mails${query}`);
    expect(status, text).toBe(200);
    return mail.array().parse(json).toReversed();
  }

  /** The only mail. */
  async mail(query = ''): Promise<Mail> {
    const [one, ...others] = await this.mails(query);
    expect(others).toEqual([]);
    return one ?? expect.fail('There is no mail');
  }

  async post(path: string, body: object = {}, options: object = {}): Promise<Mail> {
    const { status, json, text } = await this.isolate.call('POST', `/api/v2${path}`, {
      body,
      ...options,
    });
    expect(status, text).toBe(200);
    return mail.parse(json);
  }

  async failures() {
    const { json } = await this.isolate.call('GET', '/api/v2/events?type=mail.failed');
    return event.array().parse(json);
  }

  /** The addresses that got mails, with the number of mails. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { to } of this.sent) counts[to] = (counts[to] ?? 0) + 1;
    return counts;
  }
}

let emails = 0;
export const newEmail = (): string => `buyer-${++emails}@mail.example`;

export const emailOf = ({ customer: owner }: Pick<License, 'customer'>): string =>
  owner?.email ?? expect.fail('The license has no e-mail');

/** The address of the link in a mail. */
export const linkIn = ({ text }: SentMail): string =>
  /https:\/\/\S+\/my#code=\S+/.exec(text)?.[0] ?? expect.fail('The mail has no link');

/** The only mail that arrived. */
export function onlyMail({ sent }: MailService): SentMail {
  expect(sent).toHaveLength(1);
  return sent[0] ?? expect.fail('No mail arrived');
}

export type { MailLanguage };
