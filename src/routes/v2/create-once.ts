import type { Context } from 'hono';
import { type AuthEnv, senderOf } from '../../auth/middleware.ts';
import type { Sender } from '../../db/change.ts';
import { isUniqueViolation } from '../../db/client.ts';
import { findFirstRequest, type KeyedRequest, rowOf } from '../../db/idempotency.ts';
import { ApiError } from '../../http/errors.ts';
import { DomainError } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/sha256.ts';

/** The input of a route with {@link idempotencyKey}. */
type RepeatableInput = { out: { header: { 'Idempotency-Key'?: string | undefined } } };

interface Creation<Row> {
  create: (sender: Sender) => Promise<Row>;
  /** The created object from the JSON that was stored with the key; undefined if it is not kept. */
  restore?: (json: string) => Row;
  respond: (row: Row) => Response;
}

/**
 * Creates an object. Responds to a repetition, with the same `Idempotency-Key`, as to the first request, and creates
 * nothing (3). A request that fails stores no key.
 *
 * @throws ApiError 422 for the key of another request, 409 if the first response is not kept
 */
export async function createOnce<Row>(
  c: Context<AuthEnv, string, RepeatableInput>,
  { create, restore, respond }: Creation<Row>,
): Promise<Response> {
  const sender = senderOf(c);
  const key = await keyedRequestOf(c, sender);
  if (key === undefined) return respond(await create(sender));

  const findFirst = async (): Promise<Response | undefined> => {
    const first = await findFirstRequest(sender.db, key);
    if (!first) return undefined;
    if (first.requestHash !== key.requestHash) {
      throw new ApiError(422, 'Idempotency-Key was sent with another request: use a new key');
    }
    if (first.created === null || !restore) {
      throw new ApiError(
        409,
        'An earlier request with this Idempotency-Key was carried out, and its response cannot be repeated: the secret of a token is shown once, and a forgotten customer is erased',
      );
    }
    return respond(restore(first.created));
  };

  const known = await findFirst();
  if (known) return known;
  try {
    return respond(await create({ ...sender, key }));
  } catch (error) {
    // A concurrent request with the same key was faster, or has stored the same unique value.
    const isRace =
      isUniqueViolation(error) || (error instanceof DomainError && error.kind === 'conflict');
    const winner = isRace ? await findFirst() : undefined;
    if (winner) return winner;
    throw error;
  }
}

/** The row of a stored object that is a row of one table. */
export const restoreRow = <Row>(json: string): Row => rowOf<Row>(JSON.parse(json));

/** Undefined without an `Idempotency-Key`. */
async function keyedRequestOf(
  c: Context<AuthEnv, string, RepeatableInput>,
  { tokenId, now }: Sender,
): Promise<KeyedRequest | undefined> {
  const { 'Idempotency-Key': key } = c.req.valid('header');
  if (key === undefined) return undefined;
  return {
    tokenId: tokenId ?? 0,
    keyHash: await sha256Hex(key),
    requestHash: await sha256Hex(`${c.req.path} ${JSON.stringify(await c.req.json())}`),
    now,
  };
}
