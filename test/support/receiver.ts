import { env } from 'cloudflare:workers';
import { delivery, webhook, type webhookCreate, webhookWithSecret } from '@licet/contract/webhooks';
import { expect } from 'vitest';
import type * as z from 'zod';
import { type Isolate, newIsolate, type TestBindings } from './app.ts';

/** Receivers of webhooks, in the place of the network, and webhooks of an isolate that sends to them. */

export interface Received {
  url: string;
  headers: Headers;
  body: string;
  /** The wall clock. */
  at: number;
}

type Respond = (received: Received) => Response | Promise<Response>;

export const NO_CONTENT: Respond = () => new Response(null, { status: 204 });

/** All requests that a service sends, and the responses to them by their address. */
export class Receivers {
  readonly received: Received[] = [];
  readonly #responses = new Map<string, Respond>();

  /** Sets the response of an address, which is 204 unless set. */
  at(url: string, respond: Respond): void {
    this.#responses.set(url, respond);
  }

  /** The requests that an address got. */
  of(url: string): Received[] {
    return this.received.filter((one) => one.url.startsWith(url));
  }

  readonly fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { url, headers } = request;
    const received = { url, headers, body: await request.text(), at: Date.now() };
    this.received.push(received);
    const respond = this.#responses.get(url.replace(/\?wait=true$/, '')) ?? NO_CONTENT;
    return respond(received);
  };
}

export type Webhook = z.infer<typeof webhook>;
export type WebhookWithSecret = z.infer<typeof webhookWithSecret>;
export type Delivery = z.infer<typeof delivery>;

const PATH = '/api/v2/webhooks';

/** A service with receivers. Its webhooks are those of the database, which other tests have left empty. */
export class Sender {
  readonly receivers = new Receivers();
  readonly isolate: Isolate;
  readonly #bindings: TestBindings;

  constructor(bindings: TestBindings = {}) {
    this.#bindings = { ...env, ...bindings, OUTBOUND: this.receivers };
    this.isolate = newIsolate(this.#bindings);
  }

  /** Another isolate, which sends to the same receivers. */
  newIsolate(bindings: TestBindings = {}): Isolate {
    return newIsolate({ ...this.#bindings, ...bindings });
  }

  async create(fields: z.input<typeof webhookCreate>): Promise<WebhookWithSecret> {
    const { status, json, text } = await this.isolate.call('POST', PATH, { body: fields });
    expect(status, text).toBe(201);
    return webhookWithSecret.parse(json);
  }

  async get(id: number): Promise<Webhook> {
    const { status, json, text } = await this.isolate.call('GET', `${PATH}/${id}`);
    expect(status, text).toBe(200);
    return webhook.parse(json);
  }

  async update(id: number, fields: object): Promise<Webhook> {
    const { status, json, text } = await this.isolate.call('PUT', `${PATH}/${id}`, {
      body: fields,
    });
    expect(status, text).toBe(200);
    return webhook.parse(json);
  }

  async deliveries(id: number, query = ''): Promise<Delivery[]> {
    const path = `${PATH}/${id}/deliveries${query}`;
    const { status, json, text } = await this.isolate.call('GET', path);
    expect(status, text).toBe(200);
    return delivery.array().parse(json);
  }

  /** The only delivery to a webhook. */
  async delivery(id: number): Promise<Delivery> {
    const [one, ...others] = await this.deliveries(id);
    expect(others).toEqual([]);
    return one ?? expect.fail('There is no delivery');
  }

  /** A change, of which webhooks hear that ask for `product.*`. */
  async change(name = 'Chunk Guard'): Promise<number> {
    const body = { name, productType: 'OTHER' };
    const { status, json, text } = await this.isolate.call('POST', '/api/v2/products', { body });
    expect(status, text).toBe(201);
    return Number(Object(json).id);
  }
}

const bytesOf = (secret: string) => Uint8Array.fromBase64(secret.replace(/^whsec_/, ''));

/** The signatures of a message that one of its secrets makes, of those in its header. */
export async function validSignatures(
  { headers, body }: Received,
  secret: string,
): Promise<number> {
  const signed = `${headers.get('webhook-id')}.${headers.get('webhook-timestamp')}.${body}`;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytesOf(secret), algorithm, false, ['verify']);
  const results = await Promise.all(
    (headers.get('webhook-signature') ?? '').split(' ').map((signature) => {
      const [version, text = ''] = signature.split(',');
      expect(version).toBe('v1');
      const data = new TextEncoder().encode(signed);
      return crypto.subtle.verify('HMAC', key, Uint8Array.fromBase64(text), data);
    }),
  );
  return results.filter(Boolean).length;
}
