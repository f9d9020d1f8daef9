import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents, writerOf } from '../../auth/middleware';
import { NOT_LIVE, newToken } from '../../auth/tokens';
import { ApiError, notFound } from '../../http/errors';
import { createdResponse, objectResponse } from '../../http/etag';
import { body, pathId, query } from '../../http/input';
import { checkSameId, optimisticUpdate } from '../../http/optimistic-update';
import { listResponse, pageQuery } from '../../http/pagination';
import { sha256Hex } from '../../lib/sha256';
import { findToken, insertToken, listTokens, updateToken } from '../../resources/tokens/queries';
import {
  type createdToken,
  type ownToken,
  tokenCreate,
  tokenUpdate,
  toOwnToken,
  toToken,
} from '../../resources/tokens/schema';
import { createOnce } from './create-once';
import { databaseOf } from './database';

const ROOT = { id: null, name: 'root', expiresAt: null };

const all = requireIntents(INTENTS.everything);

/** API tokens, an extension: the interface does not say how they are issued [5]. */
export const tokenRoutes = new Hono<AuthEnv>()
  .get('/', all, query(z.strictObject(pageQuery)), (c) =>
    listResponse(c, c.req.valid('query'), listTokens(databaseOf(c)), toToken),
  )
  .get('/self', requireIntents(INTENTS.any), async (c) => {
    const { tokenId, intents } = c.get('actor');
    const row = tokenId === null ? ROOT : await findToken(databaseOf(c), tokenId);
    // Revoked just now.
    if (!row) throw new ApiError(401, NOT_LIVE);
    const self: z.infer<typeof ownToken> = toOwnToken({ ...row, intents });
    return c.json(self);
  })
  .get('/:id', all, pathId, async (c) => {
    const row = await findToken(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Token');
    return objectResponse(c, row, toToken(row));
  })
  .post('/', all, body(tokenCreate), async (c) => {
    const token = newToken();
    const tokenHash = await sha256Hex(token);
    const values = { ...c.req.valid('json'), tokenHash };
    return createOnce(c, {
      create: (writer) => insertToken(writer, values, Date.now()),
      respond(row) {
        // Only this response shows the secret.
        const created: z.infer<typeof createdToken> = { ...toToken(row), token };
        return createdResponse(c, 'tokens', row, created);
      },
    });
  })
  .put('/:id', all, pathId, body(tokenUpdate), async (c) => {
    const db = databaseOf(c);
    const { id } = c.req.valid('param');
    const { id: bodyId, ...changes } = c.req.valid('json');
    checkSameId(id, bodyId);
    const row = await optimisticUpdate(c, {
      name: 'Token',
      read: () => findToken(db, id),
      write: (current) => updateToken(writerOf(c), current, changes, Date.now()),
    });
    return objectResponse(c, row, toToken(row));
  })
  .delete('/:id', all, pathId, async (c) => {
    const db = databaseOf(c);
    await optimisticUpdate(c, {
      name: 'Token',
      read: () => findToken(db, c.req.valid('param').id),
      write: (current) => updateToken(writerOf(c), current, { revokedAt: Date.now() }, Date.now()),
    });
    return c.body(null, 204);
  });
