import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';

/** Webhooks in one isolate: a change, its deliveries, and the requests to a receiver. */

it('an event is sent to each webhook that asks for it, signed, after the response', async () => {
  const received: Request[] = [];
  const OUTBOUND = {
    fetch: async (url: string, init: RequestInit) => {
      received.push(new Request(url, init));
      return new Response('ok');
    },
  } as unknown as Fetcher;
  const isolate = newIsolate({ ...env, OUTBOUND });
  const created = await isolate.call('POST', '/api/v2/webhooks', {
    body: { url: 'https://shop.example/hook', types: ['product.*'] },
  });
  expect(created.status).toBe(201);
  expect(created.json).toMatchObject({ format: 'standard', enabled: true });
  const product = await isolate.call('POST', '/api/v2/products', {
    body: { name: 'P', productType: 'OTHER' },
  });
  expect(product.status).toBe(201);
  expect(received).toHaveLength(1);
  const list = await isolate.call('GET', `/api/v2/webhooks/1/deliveries`);
  console.log(JSON.stringify(list.json), [...(received[0]?.headers ?? [])]);
  const test = await isolate.call('POST', `/api/v2/webhooks/1/test`, { body: {} });
  console.log(test.status, JSON.stringify(test.json));
  const again = await isolate.call('POST', `/api/v2/webhooks/1/rotate-secret`, { body: {} });
  console.log(again.status, JSON.stringify(again.json));
});
