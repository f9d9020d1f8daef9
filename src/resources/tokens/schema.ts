import { API_INTENTS } from '@licet/contract/enums';
import { timestamp, toOptionalTimestamp, toTimestamp, wireTimestamp } from '@licet/contract/time';
import * as z from 'zod';
import type { tokens } from '../../db/schema.ts';
import { apiIntent, mustNotBeSent, text } from '../../lib/fields.ts';
import {
  createBody,
  objectId,
  optional,
  required,
  setByService,
  systemTime,
  updateBody,
  wireBody,
  wireMapper,
} from '../fields.ts';

export type TokenRow = typeof tokens.$inferSelect;
/** The columns that a client sets. */
export type TokenValues = Pick<TokenRow, 'name' | 'intents' | 'expiresAt'>;

const intents = z
  .array(apiIntent)
  .min(1)
  // Stored in the order of the interface, each once.
  .transform((sent) => API_INTENTS.filter((intent) => sent.includes(intent)));

export const tokenFields = {
  id: objectId(),
  name: required(text(255).trim().min(1), z.string(), 'The name of the user or program.'),
  intents: required(intents, z.array(apiIntent), 'The permissions.'),
  expiresAt: optional(
    timestamp.nullable().default(null),
    timestamp.nullable(),
    wireTimestamp.nullable(),
    'From this millisecond on it is refused; null for never.',
  ),
  lastUsedAt: setByService(wireTimestamp.nullable(), 'To within five minutes.'),
  createdAt: systemTime,
  updatedAt: systemTime,
};

/** A token in the response to its creation, the only one that shows the secret. */
export const createdTokenFields = {
  ...tokenFields,
  token: {
    create: mustNotBeSent,
    update: mustNotBeSent,
    wire: z.string(),
    description: 'The secret, shown this once.',
  },
};

export const tokenCreate = createBody(createdTokenFields);
export const tokenUpdate = updateBody(createdTokenFields);
export const token = wireBody(tokenFields);
export const createdToken = wireBody(createdTokenFields);

const toWire = wireMapper(tokenFields);

/** A token as responses show it, without its secret. */
export const toToken = (row: TokenRow) =>
  toWire({
    ...row,
    intents: [...row.intents],
    expiresAt: toOptionalTimestamp(row.expiresAt),
    lastUsedAt: toOptionalTimestamp(row.lastUsedAt),
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  });

/** The token or session of a request, as the request itself may see it. */
export const ownToken = z.strictObject({
  id: z.int().nullable(),
  name: z.string(),
  intents: z.array(apiIntent),
  expiresAt: wireTimestamp.nullable(),
});

/** The token of a request; `id` is null for ROOT_TOKEN. */
export const toOwnToken = ({
  id,
  name,
  intents,
  expiresAt,
}: Pick<TokenRow, 'name' | 'intents' | 'expiresAt'> & { id: number | null }): z.infer<
  typeof ownToken
> => ({ id, name, intents: [...intents], expiresAt: toOptionalTimestamp(expiresAt) });
