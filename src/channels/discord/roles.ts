import { DISCORD_API } from '@licet/contract/discord';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { parseJson } from '@licet/contract/json';
import { and, eq, isNotNull, lte, min, type SQL, sql } from 'drizzle-orm';
import type { FollowUp } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import type { Run, Task } from '../../db/task.ts';
import { limitMs } from '../../lib/discord.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { isOwnedBy } from '../../resources/licenses/own.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { products } from '../../resources/products/schema.ts';
import { readSettings } from '../settings/store.ts';
import { fixedBy, isRoleId, UNKNOWN_ROLE, UNKNOWN_SERVER, WRONG_TOKEN } from './role-faults.ts';
import { discordRoles } from './schema.ts';
import { botHeaders, type DiscordSettings, NO_DISCORD, noteRoles } from './settings.ts';

/** The roles of buyers at Discord (10): given with a license, and taken when the last one that gives it ends. */

const REASON = encodeURIComponent('Licet: licenses');
/** After a refusal no role of the server is tried for this time: many refusals block the address of the service. */
const PAUSE_MS = HOUR_MS;
const MIN_PAUSE_MS = 1_000;
/** A role that met a failure of Discord is tried again after this time. */
const RETRY_MS = 10 * MINUTE_MS;
/** A role is looked at again after this time, also if nothing has announced its end. */
const MAX_KEPT_MS = DAY_MS;
/** Roles that are given, or looked at, at once. */
const MAX_CHECKED = 5;
/** The queries and requests about one role that is due, and those before the first one. */
const ROLE_QUERIES = 4;

interface Roles {
  db: Database;
  outbound: Outbound;
  settings: DiscordSettings;
  now: number;
}

/** The codes for a member who has left the server, and for a deleted account. */
const UNKNOWN_MEMBERS: readonly unknown[] = [10007, 10013];

const REFUSED = 'Your role could not be given. Tell the shop: its settings say why.';
const FOLLOWS = 'Your role follows: Discord does not take it now, and it is tried again by itself.';
const NO_MEMBER =
  'You have no role, because you are not in the server. Join it, then use /licenses.';

type Outcome =
  | { outcome: 'done' }
  /** The user is not in the server. */
  | { outcome: 'no member' }
  /** A refusal of one role, which does not say that others are refused. */
  | { outcome: 'unknown role'; code: number }
  /** A refusal that counts against the address of the service. */
  | { outcome: 'refused'; code: number }
  | { outcome: 'limited'; afterMs: number }
  /** Another response, which says nothing about other roles. */
  | { outcome: 'failed' }
  | { outcome: 'unreachable' };

async function sendRole(
  { outbound, settings, now }: Roles,
  method: 'PUT' | 'DELETE',
  userId: string,
  roleId: string,
): Promise<Outcome> {
  if (!isRoleId(roleId)) return { outcome: 'unknown role', code: UNKNOWN_ROLE };
  const url = `${DISCORD_API}/guilds/${settings.guildId}/members/${userId}/roles/${roleId}`;
  const headers = { ...botHeaders(settings), 'X-Audit-Log-Reason': REASON };
  const result = await outbound.send(url, { method, headers });
  if ('error' in result) return { outcome: 'unreachable' };
  const { status } = result;
  if (status < 300) return { outcome: 'done' };
  if (status === 429) return { outcome: 'limited', afterMs: limitMs(result, now) ?? MINUTE_MS };
  if (status === 401) return { outcome: 'refused', code: WRONG_TOKEN };
  const { code }: { code?: unknown } = Object(parseJson(result.body));
  if (UNKNOWN_MEMBERS.includes(code)) return { outcome: 'no member' };
  if (code === UNKNOWN_ROLE) return { outcome: 'unknown role', code };
  const isRefused = status === 403 || code === UNKNOWN_SERVER;
  return isRefused
    ? { outcome: 'refused', code: typeof code === 'number' && code > 0 ? code : status }
    : { outcome: 'failed' };
}

/**
 * Notes the outcome for a role in the settings.
 *
 * @returns when the roles of the server are tried again; undefined for at once
 */
async function note(roles: Roles, roleId: string, sent: Outcome): Promise<number | undefined> {
  const { db, settings, now } = roles;
  switch (sent.outcome) {
    case 'done': {
      const fixed = fixedBy(roleId, settings.roleFaults).map((id) => [id, null] as const);
      if (fixed.length > 0) await noteRoles(db, { roleFaults: Object.fromEntries(fixed) });
      return undefined;
    }
    case 'no member':
    case 'failed':
      return undefined;
    case 'unknown role':
      await noteRoles(db, { roleFaults: { [roleId]: sent.code } });
      return undefined;
    case 'refused': {
      const rolesPausedUntil = now + PAUSE_MS;
      await noteRoles(db, { roleFaults: { [roleId]: sent.code }, rolesPausedUntil });
      return rolesPausedUntil;
    }
    case 'limited': {
      // A wrong response must not switch the roles off for good.
      const rolesPausedUntil = now + Math.min(sent.afterMs, PAUSE_MS);
      // A shorter pause ends before the next command.
      if (sent.afterMs >= MIN_PAUSE_MS) await noteRoles(db, { rolesPausedUntil });
      return rolesPausedUntil;
    }
    case 'unreachable':
      return now + RETRY_MS;
  }
}

const isPaused = ({ settings: { guildId, rolesPausedUntil }, now }: Roles): boolean =>
  guildId === null || (rolesPausedUntil !== null && rolesPausedUntil > now);

/** When a role that is given is looked at again. @param endsAt the end of the first license that gives it */
const nextLook = (endsAt: number | null | undefined, now: number): number =>
  Math.min(endsAt ?? Number.POSITIVE_INFINITY, now + MAX_KEPT_MS);

/** Active licenses of an account that give a role: this one, or any. */
const gives = (userId: string, roleId: string | undefined, now: number) =>
  and(
    isOwnedBy({ chatId: userId }),
    eq(licenses.state, 'ACTIVE'),
    sql`(${licenses.expiresAt} is null or ${licenses.expiresAt} > ${now})`,
    roleId === undefined ? isNotNull(products.roleId) : eq(products.roleId, roleId),
  );

/** Lets the scheduled handler give roles to an account. */
const giveLater = (db: Database, chatId: string, roleIds: readonly string[], dueAt: number) =>
  db
    .insert(discordRoles)
    .values(roleIds.map((roleId) => ({ chatId, roleId, dueAt, isGiven: false })))
    .onConflictDoUpdate({
      target: [discordRoles.chatId, discordRoles.roleId],
      set: { dueAt, isGiven: false },
    });

/**
 * Gives an account the roles of its active licenses. The scheduled handler gives those that cannot be given now.
 *
 * @returns words for the user if a role could not be given
 */
export async function giveRoles(
  { db, outbound, now }: Omit<Roles, 'settings'>,
  userId: string,
): Promise<string | undefined> {
  // As they are stored: a refusal of a moment ago in any isolate pauses all.
  const { value: settings } = await readSettings(db, 'discord', NO_DISCORD);
  if (settings.botToken === null) return undefined;
  const roles = { db, outbound, settings, now };
  const hasFault = (roleId: string): boolean => Object.hasOwn(settings.roleFaults, roleId);
  // 0 for a role that waits; null for one that was never tried.
  const isGiven = sql<number | null>`(select is_given from ${discordRoles} where chat_id = ${userId}
    and role_id = ${products.roleId} and due_at > ${now})`;
  const found = await db
    .select({
      roleId: sql<string>`${products.roleId}`,
      endsAt: min(licenses.expiresAt),
      isGiven,
    })
    .from(licenses)
    .innerJoin(products, eq(products.id, licenses.productId))
    .where(gives(userId, undefined, now))
    .groupBy(products.roleId)
    // Roles that were never tried and have no fault come first: five that always fail must not hold up a sixth.
    .orderBy(sql`iif(${isOneOf(products.roleId, Object.keys(settings.roleFaults))}, 0, ${isGiven})`)
    .limit(MAX_CHECKED);
  // A refusal keeps the other roles waiting, so the role that had one comes last.
  const due = found.toSorted((a, b) => Number(hasFault(a.roleId)) - Number(hasFault(b.roleId)));
  const missing = due.filter((role) => !role.isGiven).map(({ roleId }) => roleId);
  if (isPaused(roles)) {
    if (missing.length === 0) return undefined;
    await giveLater(db, userId, missing, settings.rolesPausedUntil ?? now);
    return missing.some(hasFault) ? REFUSED : FOLLOWS;
  }
  let words: string | undefined;
  for (const [index, { roleId, endsAt }] of due.entries()) {
    const sent = await sendRole(roles, 'PUT', userId, roleId);
    const againAt = await note(roles, roleId, sent);
    if (againAt !== undefined) {
      const rest = due.slice(index + 1).filter((role) => !role.isGiven);
      await giveLater(db, userId, [roleId, ...rest.map((role) => role.roleId)], againAt);
      return words === REFUSED || sent.outcome === 'refused' ? REFUSED : FOLLOWS;
    }
    if (sent.outcome === 'no member') return NO_MEMBER;
    if (sent.outcome === 'failed') {
      await giveLater(db, userId, [roleId], now + RETRY_MS);
      words ??= FOLLOWS;
      continue;
    }
    if (sent.outcome !== 'done') {
      words = REFUSED;
      continue;
    }
    const dueAt = nextLook(endsAt, now);
    await db
      .insert(discordRoles)
      .values({ chatId: userId, roleId, dueAt })
      .onConflictDoUpdate({
        target: [discordRoles.chatId, discordRoles.roleId],
        set: { dueAt, isGiven: true },
      });
  }
  return words;
}

/** Lets the roles that wait for the end of a pause be given in the next minute: it has ended early. */
export const giveWaiting = (db: Database) =>
  db.update(discordRoles).set({ dueAt: 0 }).where(eq(discordRoles.isGiven, false));

/** The statement after which the roles of some accounts are looked at in the next minute. @param chatIds a select */
export const checkRoles = (db: Database, chatIds: SQL) =>
  db.update(discordRoles).set({ dueAt: 0 }).where(sql`${discordRoles.chatId} in ${chatIds}`);

/** The roles of the owners of changed licenses are looked at. */
export const ROLES_FOLLOW: FollowUp = {
  types: [
    'license.updated',
    'license.slots_freed',
    'license.redeemed',
    'license.transferred',
    'license.deleted',
  ],
  statements: (db, ids) => [
    checkRoles(
      db,
      sql`(select owner_chat_id from licenses where ${isOneOf(licenses.id, ids)}
        union select chat_id from customers where id in (
          select customer_id from licenses where ${isOneOf(licenses.id, ids)}))`,
    ),
  ],
};

/**
 * Gives a role that is due, takes it, or keeps it.
 *
 * @param spend counts a request to Discord
 * @returns whether the other roles may be tried now
 */
async function lookAfterRole(
  roles: Roles,
  { chatId, roleId, dueAt, isGiven }: typeof discordRoles.$inferSelect,
  spend: Run['spend'],
): Promise<boolean> {
  const { db, now } = roles;
  // As it was read: a change of a license in the meantime makes it due again.
  const isRole = and(
    eq(discordRoles.chatId, chatId),
    eq(discordRoles.roleId, roleId),
    eq(discordRoles.dueAt, dueAt),
  );
  const set = (values: Partial<typeof discordRoles.$inferInsert>) =>
    db.update(discordRoles).set(values).where(isRole);
  const [given] = await db
    .select({ count: sql<number>`count(*)`, endsAt: min(licenses.expiresAt) })
    .from(licenses)
    .innerJoin(products, eq(products.id, licenses.productId))
    .where(gives(chatId, roleId, now));
  const isDue = given !== undefined && given.count > 0;
  const kept = { dueAt: nextLook(given?.endsAt, now), isGiven: true };
  if (isDue && isGiven) {
    await set(kept);
    return true;
  }
  spend(1);
  const sent = await sendRole(roles, isDue ? 'PUT' : 'DELETE', chatId, roleId);
  const againAt = await note(roles, roleId, sent);
  if (againAt !== undefined) await set({ dueAt: againAt });
  else if (sent.outcome === 'failed') await set({ dueAt: now + RETRY_MS });
  else if (isDue && sent.outcome === 'done') await set(kept);
  else await db.delete(discordRoles).where(isRole);
  return againAt === undefined;
}

/** Takes the roles that no license gives any more, and gives those that could not be given. */
async function lookAfterRoles({ db, outbound, now, left, spend }: Run): Promise<void> {
  const { value: settings } = await readSettings(db, 'discord', NO_DISCORD);
  const roles = { db, outbound, settings, now };
  if (settings.botToken === null) {
    // Roles cannot be taken without a bot, and nothing about the accounts is kept.
    await db.delete(discordRoles).where(lte(discordRoles.dueAt, now));
    return;
  }
  if (isPaused(roles)) return;
  const due = await db
    .select()
    .from(discordRoles)
    .where(lte(discordRoles.dueAt, now))
    // A refusal keeps the other roles waiting, so the roles that had one come last.
    .orderBy(isOneOf(discordRoles.roleId, Object.keys(settings.roleFaults)), discordRoles.dueAt)
    .limit(MAX_CHECKED);
  for (const role of due) {
    if (left() < ROLE_QUERIES || !(await lookAfterRole(roles, role, spend))) return;
  }
}

export const LOOK_AFTER_ROLES: Task = {
  failure: 'Roles at Discord were not looked after',
  most: 2 + ROLE_QUERIES,
  run: lookAfterRoles,
};
