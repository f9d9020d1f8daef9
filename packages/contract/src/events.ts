import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { EVENT_ACTORS } from './enums.ts';
import { eventResource, eventType, idText } from './fields.ts';
import { pageQuery, period } from './parameters.ts';
import { wireTimestamp } from './time.ts';

const actorExample = {
  tokenId: 3,
  tokenName: 'Support',
  isConsole: true,
  isMcp: false,
  customerId: null,
};
const changeExample = { before: CREATED, after: UPDATED };

const eventActor = named(
  'EventActor',
  'The sender of a change: a token, a customer, a program, or the service.',
  z.strictObject({
    tokenId: z
      .int()
      .nullable()
      .describe('The id of the token; null for `ROOT_TOKEN`, a customer and the service.'),
    tokenName: z
      .string()
      .describe(
        'The name of the token, `root` for `ROOT_TOKEN`, `customer` for a customer, `program` for a program that took the license over, `service` for the service, and `discord:` with the id of the account for an administrator at Discord.',
      ),
    isConsole: z.boolean().describe('Whether the change was made in the console.'),
    isMcp: z.boolean().describe('Whether an assistant made the change with the token.'),
    customerId: z
      .int()
      .nullable()
      .describe('The id of the customer who made the change; null for others.'),
  }),
  actorExample,
);

const eventChange = named(
  'EventChange',
  'A field of a changed object.',
  z.strictObject({
    before: z.unknown().describe('The value before; null for a new object.'),
    after: z.unknown().describe('The value after; null for a deleted object.'),
  }),
  changeExample,
);

/** An event on the wire (5). */
export const event = named(
  'Event',
  'An event: a change and its sender, or what the service has found in the history [6].',
  z.strictObject({
    id: z.int().describe('Its id, which grows with the time.'),
    time: wireTimestamp.describe('The time of the change.'),
    type: eventType.describe(
      'The resource and its change. `license.slots_freed`: fewer addresses or hardware IDs are bound. `license.rotated`: it has a new key. `license.transferred`: it has another owner, and a new key. `license.redeemed`: an account at Discord got it by its key; the service makes this event. The service also makes these, each at most once for a license and day: `license.first_used`, `license.limit_reached` (a validation found no free slot), `license.expiring` (7 days and 1 day before), `license.expired`, `license.many_addresses`, `blacklist.hit` (a program of the license was blocked); and `webhook.disabled`.',
    ),
    actor: eventActor.describe('The sender of the change.'),
    ip: z
      .string()
      .nullable()
      .describe('The address from which the request came; null if it is unknown.'),
    resourceType: eventResource.describe('The kind of object.'),
    resourceId: z
      .int()
      .nullable()
      .describe('Its id; null for many objects at once, and for a session.'),
    changes: z
      .record(z.string(), eventChange)
      .nullable()
      .describe(
        'The fields that changed, with `customerId` for the owner of a license, and `count` for the objects of a batch or an import. A license key is cut to its last group; a secret is never shown. Long values are shortened. Null without fields. An event of the service has in `after` the values that it is about.',
      ),
  }),
  {
    id: 11800166572032,
    time: UPDATED,
    type: 'license.updated',
    actor: actorExample,
    ip: '192.0.2.10',
    resourceType: 'license',
    resourceId: 50,
    changes: { expiryDate: changeExample },
  },
);

export type Event = z.infer<typeof event>;

/** The query of a list of events. */
export const eventQuery = z.strictObject({
  ...pageQuery,
  type: eventType
    .optional()
    .meta({ description: 'Only events of this type.', example: 'license.updated' }),
  resourceType: eventResource
    .optional()
    .meta({ description: 'Only events of this kind of object.', example: 'license' }),
  resourceId: idText.optional().meta({
    description: 'Only events of the object with this id; needs `resourceType` to be found fast.',
    example: 50,
  }),
  tokenId: idText
    .optional()
    .meta({ description: 'Only changes that came with this token.', example: 3 }),
  actor: z.enum(EVENT_ACTORS).optional().meta({
    description:
      'Only events of the service, of customers, or of programs that took a license over.',
    example: 'service',
  }),
  ...period,
});
export type EventQuery = z.infer<typeof eventQuery>;
