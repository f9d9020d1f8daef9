import { env } from 'cloudflare:workers';
import { license } from '@licet/contract/licenses';
import { market, type marketCreate, marketDelivery } from '@licet/contract/markets';
import { purchase } from '@licet/contract/purchases';
import { expect } from 'vitest';
import type * as z from 'zod';
import { type Isolate, newIsolate, type TestBindings } from './app.ts';

/** A service with markets, and requests of those markets. */

export const SECRET = 'f3b9c2d1e0a45b6c7d8e9f00';
export const OLD_PATH = '/api/v1/bbb';

export type Market = z.infer<typeof market>;

interface Sent {
  status: number;
  text: string;
  headers: Headers;
}

export class MarketService {
  readonly isolate: Isolate;
  readonly #bindings: TestBindings;

  constructor(bindings: TestBindings = {}) {
    this.#bindings = bindings;
    this.isolate = newIsolate({ ...env, ...bindings });
  }

  newIsolate(bindings: TestBindings = {}): Isolate {
    return newIsolate({ ...env, ...this.#bindings, ...bindings });
  }

  async create(fields: Partial<z.input<typeof marketCreate>> = {}): Promise<Market> {
    const body = { kind: 'builtbybit', name: 'Market', secrets: [SECRET], ...fields };
    const { status, json, text } = await this.isolate.call('POST', '/api/v2/markets', { body });
    expect(status, text).toBe(201);
    return market.parse(json);
  }

  async update(id: number, fields: object): Promise<Market> {
    const { status, json, text } = await this.isolate.call('PUT', `/api/v2/markets/${id}`, {
      body: fields,
    });
    expect(status, text).toBe(200);
    return market.parse(json);
  }

  /** A download from BuiltByBit. */
  download(
    to: Market | string,
    fields: Record<string, string> = {},
    isolate = this.isolate,
  ): Promise<Sent> {
    const form = {
      builtbybit: 'true',
      steam_id: '',
      user_id: '540773',
      resource_id: '62494',
      version_id: '1001',
      version_number: '1.4.0',
      secret: SECRET,
      ...fields,
    };
    return this.send(to, String(new URLSearchParams(form)), {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      isolate,
    });
  }

  /** The notice of a purchase at BuiltByBit. */
  bought(to: Market, fields: Record<string, string> = {}, isolate = this.isolate): Promise<Sent> {
    const body = {
      secret: SECRET,
      user_id: '540773',
      username: 'kas',
      resource_id: '62494',
      addon_id: '0',
      bundle_id: '0',
      renewal: 'none',
      final_price: '9.99',
      purchase_date: '1790000000',
      ...fields,
    };
    return this.send(to, JSON.stringify(body), { isolate });
  }

  /** A request of a market. */
  async send(
    to: Market | string,
    body: string,
    {
      headers = { 'Content-Type': 'application/json' },
      isolate = this.isolate,
    }: { headers?: Record<string, string>; isolate?: Isolate } = {},
  ): Promise<Sent> {
    const path = typeof to === 'string' ? to : new URL(to.addresses[0] ?? '').pathname;
    const {
      status,
      text,
      headers: sent,
    } = await isolate.call('POST', path, {
      body,
      headers,
      token: null,
    });
    return { status, text, headers: sent };
  }

  async purchases(query = '') {
    const { status, json, text } = await this.isolate.call('GET', `/api/v2/purchases${query}`);
    expect(status, text).toBe(200);
    return purchase.array().parse(json);
  }

  /** The only purchase. */
  async purchase() {
    const [one, ...others] = await this.purchases();
    expect(others).toEqual([]);
    return one ?? expect.fail('There is no purchase');
  }

  async arrived(id: number) {
    const { status, json, text } = await this.isolate.call(
      'GET',
      `/api/v2/markets/${id}/deliveries`,
    );
    expect(status, text).toBe(200);
    return marketDelivery.array().parse(json);
  }

  async license(id: number | null) {
    const { status, json, text } = await this.isolate.call('GET', `/api/v2/licenses/${id}`);
    expect(status, text).toBe(200);
    return license.parse(json);
  }
}
