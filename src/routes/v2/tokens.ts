import { INTENTS } from '@licet/contract/intents';
import {
  createdToken,
  ownToken,
  token,
  tokenCreate,
  tokenQuery,
  tokenUpdate,
} from '@licet/contract/tokens';
import { Hono } from 'hono';
import type * as z from 'zod';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { NOT_LIVE, newToken } from '../../auth/tokens.ts';
import { notFound } from '../../http/errors.ts';
import { body, idempotencyKey, ifMatch, pathId, query } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import { type Operation, operationsOn } from '../../http/operation.ts';
import { listResponse } from '../../http/pagination.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import {
  findToken,
  insertToken,
  listTokens,
  revokeToken,
  toOwnToken,
  toToken,
  updateToken,
} from '../../resources/tokens/queries.ts';
import { createdResponse, createOnce, objectResponse, optimisticUpdate } from './objects.ts';

const ROOT = { id: null, name: 'root', expiresAt: null };

const all = requireIntents(INTENTS.everything);

const { list, get, create, update, remove } = operationsOn({
  tag: 'Tokens',
  names: ['Token', 'Tokens'],
  one: 'a token',
  many: 'tokens',
  section: '[5]',
  body: token,
  creating: 'Only this response shows the secret.',
  created: createdToken,
  deleting: 'It is revoked at once.',
});

const GET_OWN: Operation = {
  operationId: 'getOwnToken',
  tag: 'Tokens',
  summary: 'Get the token of the request',
  description: 'An extension. [5]',
  success: { description: 'The token.', body: ownToken },
};

/** API tokens, an extension: the interface does not say how they are issued [5]. */
export const tokenRoutes = new Hono<AuthEnv>()
  .get('/', all(list), query(tokenQuery), (c) =>
    listResponse(c, c.req.valid('query'), listTokens(databaseOf(c)), toToken),
  )
  .get('/self', requireIntents(INTENTS.any)(GET_OWN), async (c) => {
    const { tokenId, intents } = c.get('actor');
    const row = tokenId === null ? ROOT : await findToken(databaseOf(c), tokenId);
    // Revoked just now.
    if (!row) throw NOT_LIVE;
    return jsonResponse(c, toOwnToken({ ...row, intents }));
  })
  // Before the routes of one token, to which it is an id: it has no other methods.
  .all('/self', (c) => c.notFound())
  .get('/:id', all(get), pathId, async (c) => {
    const row = await findToken(databaseOf(c), c.req.valid('param').id);
    if (!row) throw notFound('Token');
    return objectResponse(c, row, toToken(row));
  })
  .post('/', all(create), body(tokenCreate), idempotencyKey, async (c) => {
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
  .put('/:id', all(update), pathId, ifMatch, body(tokenUpdate), async (c) => {
    const { id: bodyId, ...changes } = c.req.valid('json');
    const row = await optimisticUpdate(c, {
      name: 'Token',
      bodyId,
      find: findToken,
      write: (sender, current) => updateToken(sender, current, changes),
    });
    return objectResponse(c, row, toToken(row));
  })
  .delete('/:id', all(remove), pathId, ifMatch, async (c) => {
    await optimisticUpdate(c, { name: 'Token', find: findToken, write: revokeToken });
    return c.body(null, 204);
  });
