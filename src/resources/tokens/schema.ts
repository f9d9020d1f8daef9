import * as z from 'zod';
import type { tokens } from '../../db/schema';
import { API_INTENTS } from '../../lib/enums';
import { apiIntent, id, ignored, mustNotBeSent, text } from '../../lib/fields';
import { timestamp, toOptionalTimestamp, toTimestamp, wireTimestamp } from '../../lib/time';

export type TokenRow = typeof tokens.$inferSelect;
/** What a client can set of a token. */
export type TokenValues = Pick<TokenRow, 'name' | 'intents' | 'expiresAt'>;

const fields = {
  name: text(255).trim().min(1),
  intents: z
    .array(apiIntent)
    .min(1)
    // Stored in the order of the interface, each once.
    .transform((intents) => API_INTENTS.filter((intent) => intents.includes(intent))),
  expiresAt: timestamp.nullable(),
};

/** The body of POST /api/v2/tokens. */
export const tokenCreate = z
  .strictObject({
    id: mustNotBeSent,
    token: mustNotBeSent,
    lastUsedAt: mustNotBeSent,
    createdAt: mustNotBeSent,
    updatedAt: mustNotBeSent,
    ...fields,
    expiresAt: fields.expiresAt.default(null),
  })
  .transform(({ id, token, lastUsedAt, createdAt, updatedAt, ...values }) => values);

/** The body of PUT /api/v2/tokens/{id}: a field left out keeps its value [4.8]. */
export const tokenUpdate = z
  .strictObject({
    id: z.exactOptional(id),
    token: mustNotBeSent,
    lastUsedAt: ignored,
    createdAt: ignored,
    updatedAt: ignored,
    name: z.exactOptional(fields.name),
    intents: z.exactOptional(fields.intents),
    expiresAt: z.exactOptional(fields.expiresAt),
  })
  .transform(({ token, lastUsedAt, createdAt, updatedAt, ...changes }) => changes);

/** A token on the wire, without its secret. */
export const token = z.strictObject({
  id: z.int(),
  name: z.string(),
  intents: z.array(apiIntent),
  expiresAt: wireTimestamp.nullable(),
  lastUsedAt: wireTimestamp.nullable(),
  createdAt: wireTimestamp,
  updatedAt: wireTimestamp,
});

/** A token as it is answered once, when it is made. */
export const createdToken = token.extend({ token: z.string() });

export function toToken(row: TokenRow): z.infer<typeof token> {
  return {
    id: row.id,
    name: row.name,
    intents: [...row.intents],
    expiresAt: toOptionalTimestamp(row.expiresAt),
    lastUsedAt: toOptionalTimestamp(row.lastUsedAt),
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  };
}
