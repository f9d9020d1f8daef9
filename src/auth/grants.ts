import { MAX_GRANTS } from '@licet/contract/consent';
import { HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { and, eq, gt, isNotNull, isNull, ne, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { type TokenSnapshot, tokenColumns } from '../cache/snapshots.ts';
import { type Sender, untilNotOvertaken } from '../db/change.ts';
import { batch, type Database, isMissingValue } from '../db/client.ts';
import { removeOld } from '../db/remove-old.ts';
import type { Task } from '../db/task.ts';
import { toBase64url } from '../lib/base64url.ts';
import { DomainError } from '../lib/errors.ts';
import { sha256Bytes, sha256Hex } from '../lib/sha256.ts';
import { findToken, insertToken, revokeToken } from '../resources/tokens/queries.ts';
import { grants, tokens } from '../resources/tokens/schema.ts';

/**
 * The grants of assistants (12.7): their codes, access tokens and refresh tokens. D1 holds them and not KV, because one
 * statement redeems a code or a refresh token, however many requests send it at once.
 */

const CODE_LIFE_MS = 10 * MINUTE_MS;
export const ACCESS_LIFE_MS = HOUR_MS;
/** A second request with a refresh token within this time is a client's own, such as another window's. */
const OVERLAP_MS = MINUTE_MS;

const PREFIXES = { code: 'licet_code_', access: 'licet_access_', refresh: 'licet_refresh_' };
type SecretKind = keyof typeof PREFIXES;

export interface GrantSecret {
  tokenId: number;
  hash: string;
  /** The hash of the code of its grant, in a refresh token: one that was used long ago is known by it. */
  codeHash: string | undefined;
}

const newRandom = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(32)));

const secretOf = (kind: SecretKind, tokenId: number, secret: string): string =>
  `${PREFIXES[kind]}${tokenId}_${secret}`;

/** Reads a secret of a grant; undefined for any other text. */
export async function readGrantSecret(
  kind: SecretKind,
  text: string,
): Promise<GrantSecret | undefined> {
  if (!text.startsWith(PREFIXES[kind])) return undefined;
  const form = /^(\d{1,15})_((?:([\da-f]{64})_)?[\w-]{43})$/;
  const [, id, secret, codeHash] = form.exec(text.slice(PREFIXES[kind].length)) ?? [];
  if (secret === undefined) return undefined;
  return { tokenId: Number(id), hash: await sha256Hex(secret), codeHash };
}

const consenters = alias(tokens, 'consenters');

const isLiveNow = (table: typeof tokens | typeof consenters, now: number): SQL =>
  sql`${table.revokedAt} is null and ifnull(${table.expiresAt} > ${now}, true)`;

/** The token that consents: an id, or the hash of ROOT_TOKEN. */
export type Consenter = { tokenId: number } | { rootHash: string };

interface NewGrant {
  name: string;
  intents: TokenSnapshot['intents'];
  expiresAt: number;
  /** The host that lists show. */
  client: string;
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  consenter: Consenter;
}

const TOO_MANY = new DomainError(
  'conflict',
  `At most ${MAX_GRANTS} assistants work with your token: revoke one of them in the list of tokens, or ask an administrator to`,
);

/**
 * Stores a grant with its token.
 *
 * @returns its code, which works once
 * @throws DomainError if the consenter has {@link MAX_GRANTS} living ones
 */
export async function insertGrant(sender: Sender, grant: NewGrant): Promise<string> {
  const { name, intents, expiresAt, client, clientId, consenter } = grant;
  const code = newRandom();
  const consenterHash =
    'rootHash' in consenter
      ? sql`${consenter.rootHash}`
      : sql`(select token_hash from tokens where id = ${consenter.tokenId})`;
  // An address is required: without room the statement fails, and with it the change.
  const hasRoom = sql`(select count(*) from grants join ${tokens} on ${tokens.id} = token_id
    where consenter_hash = ${consenterHash} and ${isLiveNow(tokens, sender.now)}) < ${MAX_GRANTS}`;
  const row = await insertToken(
    sender,
    // No secret has this hash.
    { name, intents, expiresAt, client, tokenHash: await sha256Hex(newRandom()) },
    [
      sender.db.insert(grants).values({
        tokenId: sql`(select max(id) from ${tokens})`,
        consenterHash,
        clientHash: await sha256Hex(clientId),
        redirectUri: sql`iif(${hasRoom}, ${grant.redirectUri}, null)`,
        codeHash: await sha256Hex(code),
        codeChallenge: grant.codeChallenge,
        codeExpiresAt: sender.now + CODE_LIFE_MS,
      }),
    ],
  ).catch((error) => {
    throw isMissingValue(error) ? TOO_MANY : error;
  });
  return secretOf('code', row.id, code);
}

/**
 * Whether the token of a grant and the one that consented are live, in a statement about grants.
 *
 * @param rootHash the SHA-256 of ROOT_TOKEN; undefined if it is off
 */
const isAlive = (rootHash: string | undefined, now: number): SQL =>
  sql`exists (select 1 from ${tokens} where ${tokens.id} = ${grants.tokenId} and ${isLiveNow(tokens, now)})
    and (${grants.consenterHash} = ${rootHash ?? ''} or exists (select 1 from ${tokens} as consenters
      where ${consenters.tokenHash} = ${grants.consenterHash} and ${isLiveNow(consenters, now)}))`;

export interface IssuedTokens {
  access: string;
  refresh: string;
  intents: TokenSnapshot['intents'];
}

/** Replaces the secrets of the one grant that a condition finds, if it is alive. */
async function issue(
  { db, now }: Sender,
  tokenId: number,
  codeHash: string,
  when: SQL | undefined,
  rootHash: string | undefined,
): Promise<IssuedTokens | undefined> {
  const [access, refresh] = [newRandom(), `${codeHash}_${newRandom()}`];
  const { updated, held } = await batch(db, {
    updated: db
      .update(grants)
      .set({
        accessHash: await sha256Hex(access),
        accessExpiresAt: now + ACCESS_LIFE_MS,
        usedRefreshHash: sql`${grants.refreshHash}`,
        refreshHash: await sha256Hex(refresh),
        refreshedAt: now,
      })
      .where(and(eq(grants.tokenId, tokenId), when, isAlive(rootHash, now)))
      .returning({ tokenId: grants.tokenId }),
    held: db.select({ intents: tokens.intents }).from(tokens).where(eq(tokens.id, tokenId)),
  });
  const [token] = held;
  if (updated.length === 0 || token === undefined) return undefined;
  return {
    access: secretOf('access', tokenId, access),
    refresh: secretOf('refresh', tokenId, refresh),
    intents: token.intents,
  };
}

/** Ends the grant that a condition finds: somebody else has a secret of it. */
async function endStolen(sender: Sender, tokenId: number, when: SQL | undefined): Promise<void> {
  const { db } = sender;
  const found = await db
    .select({ id: grants.tokenId })
    .from(grants)
    .where(and(eq(grants.tokenId, tokenId), when))
    .get();
  if (!found) return;
  // Both owners of the secret may send it at once.
  await untilNotOvertaken(async () => {
    const token = await findToken(db, tokenId);
    if (token) await revokeToken(sender, token);
  });
}

/**
 * Redeems a code. A second request with the same proof ends the grant (RFC 9700).
 *
 * @param redirectUri that of the request; undefined if it has none, as in OAuth 2.1
 * @param rootHash the SHA-256 of ROOT_TOKEN; undefined if it is off
 */
export async function redeemGrantCode(
  sender: Sender,
  { tokenId, hash }: GrantSecret,
  proof: { clientId: string; verifier: string; redirectUri: string | undefined },
  rootHash: string | undefined,
): Promise<IssuedTokens | undefined> {
  const { clientId, verifier, redirectUri } = proof;
  const challenge = toBase64url(await sha256Bytes(new TextEncoder().encode(verifier)));
  const isProven = and(
    eq(grants.codeHash, hash),
    eq(grants.clientHash, await sha256Hex(clientId)),
    eq(grants.codeChallenge, challenge),
    redirectUri === undefined ? undefined : eq(grants.redirectUri, redirectUri),
  );
  const isUnused = and(isProven, isNull(grants.accessHash), gt(grants.codeExpiresAt, sender.now));
  const issued = await issue(sender, tokenId, hash, isUnused, rootHash);
  if (!issued) await endStolen(sender, tokenId, and(isProven, isNotNull(grants.accessHash)));
  return issued;
}

/**
 * Replaces the secrets of a grant. Any used refresh token that comes again ends the grant (RFC 9700), but the one before
 * this within a minute.
 */
export async function refreshGrant(
  sender: Sender,
  { tokenId, hash, codeHash }: GrantSecret,
  clientId: string,
  rootHash: string | undefined,
): Promise<IssuedTokens | undefined> {
  if (codeHash === undefined) return undefined;
  const isOfClient = eq(grants.clientHash, await sha256Hex(clientId));
  const isCurrent = and(isOfClient, eq(grants.refreshHash, hash));
  const issued = await issue(sender, tokenId, codeHash, isCurrent, rootHash);
  if (!issued) {
    const isUsed = and(eq(grants.codeHash, codeHash), ne(grants.refreshHash, hash));
    const isOverlap = sql`${grants.usedRefreshHash} = ${hash} and ${grants.refreshedAt} > ${sender.now - OVERLAP_MS}`;
    await endStolen(sender, tokenId, and(isOfClient, isUsed, sql`not (${isOverlap})`));
  }
  return issued;
}

/** A grant whose access token has not expired. */
export interface Grant {
  token: TokenSnapshot;
  consenterHash: string;
  /** Null for ROOT_TOKEN. */
  consenter: TokenSnapshot | null;
}

/** Finds a grant by its access token. @param now milliseconds since 1970 */
export const findGrant = (
  db: Database,
  { tokenId, hash }: GrantSecret,
  now: number,
): Promise<Grant | undefined> =>
  db
    .select({
      consenterHash: grants.consenterHash,
      token: tokenColumns,
      consenter: {
        id: consenters.id,
        revision: consenters.revision,
        intents: consenters.intents,
        expiresAt: consenters.expiresAt,
        revokedAt: consenters.revokedAt,
        lastUsedAt: consenters.lastUsedAt,
      },
    })
    .from(grants)
    .innerJoin(tokens, eq(tokens.id, grants.tokenId))
    .leftJoin(consenters, eq(consenters.tokenHash, grants.consenterHash))
    .where(
      and(
        eq(grants.tokenId, tokenId),
        eq(grants.accessHash, hash),
        gt(grants.accessExpiresAt, now),
      ),
    )
    .get();

/**
 * Revokes the tokens of codes that nobody redeemed, and those to which a revoked token consented: lists would show these
 * again without their grants. Then it removes the grants of tokens that have ended.
 */
export const REMOVE_GRANTS: Task = {
  failure: 'Old grants were not removed',
  most: 3,
  async run({ db, now }) {
    const isForgone = sql`(${grants.accessHash} is null and ${grants.codeExpiresAt} <= ${now})`;
    const isOrphan = sql`exists (select 1 from ${tokens} as consenters
      where ${consenters.tokenHash} = ${grants.consenterHash} and ${consenters.revokedAt} is not null)`;
    const isVain = sql`(${isForgone} or ${isOrphan})`;
    const isOver = sql`not exists (select 1 from ${tokens}
      where ${tokens.id} = ${grants.tokenId} and ${isLiveNow(tokens, now)})`;
    const isDue = sql`${isVain} or ${isOver}`;
    // Most runs find nothing, and make one query.
    if (!(await db.select({ id: grants.tokenId }).from(grants).where(isDue).get())) return;
    await db
      .update(tokens)
      .set({ revokedAt: now, updatedAt: now })
      .where(
        sql`${tokens.id} in (select token_id from ${grants} where ${isVain}) and ${tokens.revokedAt} is null`,
      );
    await removeOld(db, grants, sql`token_id`, isOver);
  },
};
