import { withoutToken } from '@licet/contract/discord';
import { DAY_MS } from '@licet/contract/durations';
import type { WebhookFormat, WebhookType } from '@licet/contract/enums';
import { MAX_WEBHOOKS } from '@licet/contract/limits';
import { settable } from '@licet/contract/resource';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { pickWebhook, webhookFields } from '@licet/contract/webhooks';
import { eq, sql } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import { type Database, isMissingValue } from '../../db/client.ts';
import { differ, newestId } from '../../db/events.ts';
import { nextRevision } from '../../db/outbox.ts';
import { rowsById, rowValues } from '../../db/predicates.ts';
import { DomainError } from '../../lib/errors.ts';
import { newSecret } from './formats/standard.ts';
import { formatFor } from './formats.ts';
import { type WebhookRow, webhooks } from './schema.ts';
import { closeDeliveriesOf } from './store.ts';

/** The fields that a client sets. */
interface WebhookValues {
  url: string;
  format: WebhookFormat;
  types: readonly WebhookType[];
  enabled: boolean;
  description: string;
}

/** Values of a client, and the origin of the console for links in messages: null if others cannot open it. */
type Sent<Values> = Values & { consoleOrigin: string | null };

/** The time for which a replaced secret still signs. */
const ROTATION_MS = DAY_MS;
const MAX_REPLACED_SECRETS = 3;
const TOO_MANY = new DomainError(
  'conflict',
  `There are at most ${MAX_WEBHOOKS} webhooks: delete one first`,
);

/** The fields that a client sets, as GET shows them: a token in the address lets its reader write into a channel. */
const shown = ({ url, types, isEnabled, ...row }: WebhookRow) => ({
  ...row,
  url: withoutToken(url),
  types: [...types],
  enabled: isEnabled,
});

/** A webhook as responses show it, without its secret. */
export const toWebhook = (row: WebhookRow) =>
  pickWebhook({
    ...shown(row),
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
    lastSuccessAt: toOptionalTimestamp(row.lastSuccessAt),
    failingSince: toOptionalTimestamp(row.failingSince),
  });

/** The fields that events show. They do not include the secret. */
const diff = differ(Object.keys(settable(webhookFields)));

/** A webhook in events, which others read for a year: many receivers take an address for a password. */
const inEvent = (row: WebhookRow) => ({ ...shown(row), url: new URL(row.url).origin });

export const listWebhooks = (db: Database) => rowsById(db, webhooks, undefined);

export const findWebhook = (db: Database, id: number): Promise<WebhookRow | undefined> =>
  db.select().from(webhooks).where(eq(webhooks.id, id)).get();

/** Whether an address is the one of a webhook, also as GET shows it. */
export const isAddressOf = ({ url }: WebhookRow, sent: string): boolean =>
  sent === url || sent === withoutToken(url);

/** @throws DomainError if there are as many as may be */
export async function insertWebhook(
  sender: Sender,
  {
    enabled,
    format,
    url,
    ...values
  }: Sent<Omit<WebhookValues, 'format'>> & {
    format?: WebhookFormat | null | undefined;
  },
): Promise<WebhookRow> {
  const { db, now } = sender;
  const row = {
    ...values,
    url,
    format: format ?? formatFor(url),
    isEnabled: enabled,
    secret: newSecret(),
    createdAt: now,
    updatedAt: now,
    revision: now,
  };
  const columns = { ...row, types: JSON.stringify(row.types), isEnabled: Number(enabled) };
  // An address is required: without room the statement fails, and with it the change.
  const hasRoom = sql`(select count(*) from webhooks) < ${MAX_WEBHOOKS}`;
  const { stored } = await change(sender, {
    event: {
      type: 'webhook.created',
      id: newestId(webhooks),
      changes: diff(null, { ...row, url: new URL(url).origin, enabled }),
    },
    statements: {
      stored: db
        .insert(webhooks)
        .select(
          sql`select ${rowValues(webhooks, { ...columns, url: sql`iif(${hasRoom}, ${url}, null)` })}`,
        )
        .returning(),
    },
    // Its secret is shown once.
    creates: null,
  }).catch((error) => {
    throw isMissingValue(error) ? TOO_MANY : error;
  });
  return only(stored);
}

/** Changes a webhook. @throws DomainError if another request has changed it since it was read */
export async function updateWebhook(
  sender: Sender,
  row: WebhookRow,
  { enabled = row.isEnabled, url = row.url, format, ...values }: Sent<Partial<WebhookValues>>,
): Promise<WebhookRow> {
  const isOtherAddress = url !== row.url;
  const updated = {
    ...values,
    url,
    format: format ?? (isOtherAddress ? formatFor(url) : row.format),
    isEnabled: enabled,
    // A new address and a webhook that is switched on start without failures.
    ...((isOtherAddress || (enabled && !row.isEnabled)) && {
      failingSince: null,
      pausedUntil: null,
    }),
    ...(enabled && { disabledReason: null }),
  };
  return write(sender, row, updated, {
    ...diff(inEvent(row), inEvent({ ...row, ...updated })),
    ...(isOtherAddress && { url: { before: null, after: null } }),
  });
}

/**
 * Gives a webhook a new secret. The secrets of the last day sign for another day: if the response to a rotation gets
 * lost, the receiver still has the replaced one. Throws like {@link updateWebhook}.
 */
export function rotateSecret(sender: Sender, row: WebhookRow): Promise<WebhookRow> {
  const isKnown = (row.previousSecretUntil ?? 0) > sender.now;
  const replaced = isKnown ? (row.previousSecret?.split(' ') ?? []) : [];
  const values = {
    secret: newSecret(),
    previousSecret: [row.secret, ...replaced].slice(0, MAX_REPLACED_SECRETS).join(' '),
    previousSecretUntil: sender.now + ROTATION_MS,
  };
  return write(sender, row, values, { secret: { before: null, after: null } });
}

async function write(
  sender: Sender,
  row: WebhookRow,
  values: Partial<WebhookRow>,
  changes: ReturnType<typeof diff>,
): Promise<WebhookRow> {
  const { db, now } = sender;
  const { stored } = await change(sender, {
    event: { type: 'webhook.updated', id: row.id, changes },
    when: [isUnchanged(webhooks, row)],
    statements: {
      // Before it is switched on: it gets no events from the time in which it was off.
      closed: row.isEnabled ? [] : closeDeliveriesOf(db, row.id),
      stored: db
        .update(webhooks)
        .set({ ...values, updatedAt: now, revision: nextRevision(row.revision, now) })
        .where(eq(webhooks.id, row.id))
        .returning(),
    },
  });
  return only(stored);
}

/** Deletes a webhook. Its deliveries are removed by the scheduled handler. Throws like {@link updateWebhook}. */
export async function deleteWebhook(sender: Sender, row: WebhookRow): Promise<void> {
  const { db } = sender;
  await change(sender, {
    event: { type: 'webhook.deleted', id: row.id, changes: diff(inEvent(row), null) },
    when: [isUnchanged(webhooks, row)],
    statements: { deleted: db.delete(webhooks).where(eq(webhooks.id, row.id)) },
  });
}
