import { isShownDiscordWebhook } from '@licet/contract/discord';
import { INTENTS } from '@licet/contract/intents';
import { MAX_PAGE_DELIVERIES } from '@licet/contract/limits';
import { objectPath } from '@licet/contract/parameters';
import {
  type Delivery,
  delivery,
  deliveryPath,
  deliveryQuery,
  webhook,
  webhookAction,
  webhookCreate,
  webhookQuery,
  webhookUpdate,
  webhookWithSecret,
} from '@licet/contract/webhooks';
import { type Context, Hono } from 'hono';
import type * as z from 'zod';
import { type AuthEnv, databaseOf, hasIntent, requireIntents } from '../../auth/middleware.ts';
import { findDelivery, insertPing, listDeliveries } from '../../channels/webhooks/deliveries.ts';
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  isAddressOf,
  listWebhooks,
  rotateSecret,
  toWebhook,
  updateWebhook,
} from '../../channels/webhooks/queries.ts';
import type { WebhookRow } from '../../channels/webhooks/schema.ts';
import { claimDelivery } from '../../channels/webhooks/store.ts';
import type { StoredDelivery } from '../../db/change.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import { body, idempotencyKey, ifMatch, path, pathId, query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { type Operation, operationsOn } from '../../http/operation.ts';
import { linkNextPage, listResponse } from '../../http/pagination.ts';
import { ownHostsOf, publicOriginOf } from '../../lib/public-url.ts';
import { servicesOf } from '../../services.ts';
import { createdResponse, createOnce, objectResponse, optimisticUpdate } from './objects.ts';

const canRead = requireIntents(INTENTS.readWebhooks);
const canWrite = requireIntents(INTENTS.everything);

const { list, get, create, update, remove } = operationsOn({
  tag: 'Webhooks',
  names: ['Webhook', 'Webhooks'],
  one: 'a webhook',
  many: 'webhooks',
  section: 'An extension.',
  body: webhook,
  creating: 'Only this response shows the secret.',
  created: webhookWithSecret,
  deleting: 'What is not delivered yet is not sent.',
});

const ROTATE: Operation = {
  operationId: 'rotateWebhookSecret',
  tag: 'Webhooks',
  summary: 'Give a webhook a new secret',
  description:
    'Only this response shows it. For 24 hours, messages have a signature with each of the two. An extension.',
  success: {
    description: 'The webhook, with its secret.',
    headers: ['ETag'],
    body: webhookWithSecret,
  },
};

const TEST: Operation = {
  operationId: 'testWebhook',
  tag: 'Webhooks',
  summary: 'Send a test to a webhook',
  description:
    'Sends a message of the type `ping` once, also if the webhook is off, and responds when the receiver has, or after ten seconds. An extension.',
  success: { description: 'The delivery, with the response of the receiver.', body: delivery },
  errors: [404],
};

const DELIVERIES: Operation = {
  operationId: 'listDeliveries',
  tag: 'Webhooks',
  summary: 'List the deliveries to a webhook',
  description: `Newest first, at most ${MAX_PAGE_DELIVERIES} a page. They are kept for 30 days. The total is not counted. An extension.`,
  success: { description: 'The deliveries.', headers: ['Link'], body: delivery.array() },
  errors: [404],
};

const RESEND: Operation = {
  operationId: 'resendDelivery',
  tag: 'Webhooks',
  summary: 'Send a delivery again',
  description:
    'With the same `webhook-id`, also if it was delivered. Responds when the receiver has. If it fails, the retries begin again. 409 while another attempt is under way. An extension.',
  success: { description: 'The delivery, with the response of the receiver.', body: delivery },
  errors: [404, 409],
};

async function webhookOf(c: Context<AuthEnv>, id: number): Promise<WebhookRow> {
  const row = await findWebhook(databaseOf(c), id);
  if (!row) throw notFound('Webhook');
  return row;
}

const NEEDS_TOKEN = 'must have the token of the Discord webhook in the place of ***';

/** An address in its usual spelling. @throws ApiError for one to which nothing may be sent (8) */
function checkedAddress(c: Context<AuthEnv>, sent: string): string {
  const fault = servicesOf(c.env).outbound.faultOf(sent, ownHostsOf(c.env, c.req.url));
  // As it is sent later: otherwise an unusual spelling would hide that it is an address of Discord.
  const url = fault === undefined ? new URL(sent).href : sent;
  const message = fault ?? (isShownDiscordWebhook(url) ? NEEDS_TOKEN : undefined);
  if (message !== undefined) throw new ApiError(400, `url ${message}`, { field: 'url' });
  return url;
}

/** A receiver's response can reveal an internal network, so only tokens that may set webhook URLs see it. */
const visible = (c: Context<AuthEnv>, one: Delivery): Delivery =>
  hasIntent(c, INTENTS.everything) ? one : { ...one, response: null };

/** Attempts a delivery at once, and responds with its outcome. */
async function attemptNow(
  c: Context<AuthEnv>,
  webhookRow: WebhookRow,
  claimed: readonly StoredDelivery[],
): Promise<Response> {
  const [one] = claimed;
  if (!one) {
    throw new ApiError(409, 'An attempt is under way: see its outcome in a minute', {
      code: 'CHANGED_MEANWHILE',
    });
  }
  const { db, deliverer } = servicesOf(c.env);
  const attempting = deliverer.deliver(claimed);
  // The outcome is stored also if the client goes.
  c.get('timings').waitUntil(attempting);
  await attempting;
  const attempted = await findDelivery(db, c.env, webhookRow, one.id);
  if (!attempted) throw notFound('Delivery');
  return jsonResponse(c, attempted);
}

const withSecret = (row: WebhookRow): z.infer<typeof webhookWithSecret> => ({
  ...toWebhook(row),
  secret: row.secret,
});

/** Webhooks, an extension (8). */
export const webhookRoutes = new Hono<AuthEnv>()
  .get('/', canRead(list), query(webhookQuery), (c) =>
    listResponse(c, c.req.valid('query'), listWebhooks(databaseOf(c)), toWebhook),
  )
  .get('/:id', canRead(get), pathId, async (c) => {
    const row = await webhookOf(c, c.req.valid('param').id);
    return objectResponse(c, row, toWebhook(row));
  })
  .post('/', canWrite(create), body(webhookCreate), idempotencyKey, async (c) => {
    const sent = c.req.valid('json');
    const url = checkedAddress(c, sent.url);
    const values = { ...sent, url, consoleOrigin: publicOriginOf(c.env, c.req.url) };
    return createOnce(c, {
      create: (sender) => insertWebhook(sender, values),
      respond: (row) => createdResponse(c, 'webhooks', row, withSecret(row)),
    });
  })
  .put('/:id', canWrite(update), pathId, ifMatch, body(webhookUpdate), async (c) => {
    const { id: bodyId, url: sentUrl, ...changes } = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      name: 'Webhook',
      bodyId,
      find: findWebhook,
      write(sender, current) {
        const isKept = sentUrl === undefined || isAddressOf(current, sentUrl);
        const url = isKept ? current.url : checkedAddress(c, sentUrl);
        // One that nobody else can open does not replace one that they can.
        const consoleOrigin = publicOriginOf(c.env, c.req.url) ?? current.consoleOrigin;
        return updateWebhook(sender, current, { ...changes, url, consoleOrigin });
      },
    });
    return objectResponse(c, row, toWebhook(row));
  })
  .delete('/:id', canWrite(remove), pathId, ifMatch, async (c) => {
    await optimisticUpdate(c, { name: 'Webhook', find: findWebhook, write: deleteWebhook });
    return c.body(null, 204);
  })
  .post('/:id/rotate-secret', canWrite(ROTATE), pathId, ifMatch, body(webhookAction), async (c) => {
    const row = await optimisticUpdate(c, {
      name: 'Webhook',
      find: findWebhook,
      write: rotateSecret,
    });
    return objectResponse(c, row, withSecret(row));
  })
  .post('/:id/test', canWrite(TEST), pathId, body(webhookAction), async (c) => {
    const row = await webhookOf(c, c.req.valid('param').id);
    return attemptNow(c, row, await insertPing(databaseOf(c), row.id, Date.now()));
  })
  .get('/:id/deliveries', canRead(DELIVERIES), pathId, query(deliveryQuery), async (c) => {
    const row = await webhookOf(c, c.req.valid('param').id);
    const { limit = MAX_PAGE_DELIVERIES, ...filter } = c.req.valid('query');
    const { deliveries, next } = await listDeliveries(databaseOf(c), c.env, row, filter, limit);
    linkNextPage(c, next);
    return jsonResponse(
      c,
      deliveries.map((one) => visible(c, one)),
    );
  })
  .post(
    '/:id/deliveries/:deliveryId/resend',
    canWrite(RESEND),
    path({ ...objectPath, ...deliveryPath }),
    body(webhookAction),
    async (c) => {
      const { id, deliveryId } = c.req.valid('param');
      const row = await webhookOf(c, id);
      const db = databaseOf(c);
      const known = await findDelivery(db, c.env, row, deliveryId);
      if (!known) throw notFound('Delivery');
      if (known.request === null) throw new ApiError(409, 'The event is no longer kept');
      const delivery = { webhookId: id, id: deliveryId };
      return attemptNow(c, row, await claimDelivery(db, delivery, Date.now()));
    },
  );
