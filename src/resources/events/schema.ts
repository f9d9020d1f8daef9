import { timestampText, toTimestamp, wireTimestamp } from '@licet/contract/time';
import * as z from 'zod';
import type { EventChanges } from '../../db/events.ts';
import type { events } from '../../db/schema.ts';
import { pageQuery } from '../../http/pagination.ts';
import { eventResource, eventType, idText } from '../../lib/fields.ts';
import { timeOfId } from '../../lib/time-id.ts';

/** An event, with the name of its token: null for ROOT_TOKEN, and for a token that is gone. */
export type EventRow = Omit<typeof events.$inferSelect, 'changes'> & {
  changes: EventChanges | null;
  tokenName: string | null;
};

/** The sender of a change. */
export const eventActor = z.strictObject({
  tokenId: z.int().nullable(),
  tokenName: z.string(),
  isConsole: z.boolean(),
});

/** A field of a changed object. */
export const eventChange = z.strictObject({ before: z.unknown(), after: z.unknown() });

/** An event on the wire (5). */
export const event = z.strictObject({
  id: z.int(),
  time: wireTimestamp,
  type: eventType,
  actor: eventActor,
  ip: z.string().nullable(),
  resourceType: eventResource,
  resourceId: z.int().nullable(),
  changes: z.record(z.string(), eventChange).nullable(),
});

/** The query of a list of events: `from` and `to` are both inclusive. */
export const eventQuery = z.strictObject({
  ...pageQuery,
  type: eventType.optional(),
  resourceType: eventResource.optional(),
  resourceId: idText.optional(),
  tokenId: idText.optional(),
  from: timestampText.optional(),
  to: timestampText.optional(),
});

export type EventQuery = z.infer<typeof eventQuery>;

const ROOT_NAME = 'root';

/** An event as responses show it. */
export const toEvent = ({ tokenId, tokenName, isConsole, ...row }: EventRow) =>
  ({
    id: row.id,
    time: toTimestamp(timeOfId(row.id)),
    type: row.type,
    actor: { tokenId, tokenName: tokenId === null ? ROOT_NAME : (tokenName ?? ''), isConsole },
    ip: row.ip,
    resourceType: row.resourceType,
    resourceId: row.resourceId,
    changes: row.changes,
  }) satisfies z.infer<typeof event>;
