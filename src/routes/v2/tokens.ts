import { Hono } from 'hono';
import * as z from 'zod';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import { NOT_LIVE, newToken } from '../../auth/tokens';
import { notFound } from '../../http/errors';
import { createdResponse, objectResponse } from '../../http/etag';
import { body, idempotencyKey, ifMatch, pathId, query } from '../../http/input';
import { listResponse, pageQuery } from '../../http/pagination';
import { sha256Hex } from '../../lib/sha256';
import {
  findToken,
  insertToken,
  listTokens,
  revokeToken,
  updateToken,
} from '../../resources/tokens/queries';
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
import { optimisticUpdate } from './optimistic-update';

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
    if (!row) throw NOT_LIVE;
    const self: z.infer<typeof ownToken> = toOwnToken({ ...row, intents });
    return c.json(self);
  })
  .get('/:id', all, pathId, async (c) => {
    const row = await findToken(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Token');
    return objectResponse(c, row, toToken(row));
  })
  .post('/', all, body(tokenCreate), idempotencyKey, async (c) => {
    const token = newToken();
    const tokenHash = await sha256Hex(token);
    const values = { ...c.req.valid('json'), tokenHash };
    return createOnce(c, {
      create: (sender) => insertToken(sender, values),
      respond(row) {
        // Only this response shows the secret.
        const created: z.infer<typeof createdToken> = { ...toToken(row), token };
        return createdResponse(c, 'tokens', row, created);
      },
    });
  })
  .put('/:id', all, pathId, ifMatch, body(tokenUpdate), async (c) => {
    const { id: bodyId, ...changes } = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      ...{ name: 'Token', bodyId },
      find: findToken,
      write: (sender, current) => updateToken(sender, current, changes),
    });
    return objectResponse(c, row, toToken(row));
  })
  .delete('/:id', all, pathId, ifMatch, async (c) => {
    await optimisticUpdate(c, { name: 'Token', find: findToken, write: revokeToken });
    return c.body(null, 204);
  });
