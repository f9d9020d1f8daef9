import { DISCORD_API, DISCORD_USER_AGENT } from '@licet/contract/discord';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { parseJson } from '@licet/contract/json';
import { and, eq, isNotNull, lte, min, type SQL, sql } from 'drizzle-orm';
import type { FollowUp } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import type { Task } from '../../db/task.ts';
import { limitMs } from '../../lib/discord.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { isOwnedBy } from '../../resources/licenses/own.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { products } from '../../resources/products/schema.ts';
import { readSettings } from '../settings/store.ts';
import { discordRoles } from './schema.ts';
import { type DiscordSettings, NO_DISCORD, noteRolesFault } from './settings.ts';

/** The roles of buyers at Discord (10): given with a license, and taken when the last one that gives it ends. */

const REASON = encodeURIComponent('Licet: licenses');
/** After a refusal, which concerns the whole server, no role is tried for this time. */
const PAUSE_MS = HOUR_MS;
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

/** The words for a code of Discord; undefined for a failure that passes. */
const FAULTS: Readonly<Record<number, string>> = {
  50013:
    'The bot may not give the role. Give it the right "Manage Roles", and move its role above the role that it gives.',
  50001:
    'The bot is not in the server. Run npm run licet -- discord setup --bot-token FILE, and open the invitation that it prints.',
  10011: 'The role is deleted at Discord. Choose another one at the product, or none.',
  10004:
    'The bot does not see the server. Run npm run licet -- discord setup with the id of the server as --guild.',
  40001:
    'Discord does not accept the token of the bot. Run npm run licet -- discord setup --bot-token FILE with a new one.',
};
const ROLE_ID = /^\d{15,21}$/;
const UNKNOWN_MEMBER = 10007;
const UNKNOWN_ROLE = 10011;

const REFUSED = 'Your role could not be given. Tell the shop: its settings say why.';

type Outcome =
  | { outcome: 'done' }
  /** The user is not in the server. */
  | { outcome: 'no member' }
  /** A refusal of one role, or of all roles of the server. */
  | { outcome: 'refused'; fault: string; isOfOne: boolean }
  | { outcome: 'later'; afterMs: number };

async function sendRole(
  { outbound, settings, now }: Roles,
  method: 'PUT' | 'DELETE',
  userId: string,
  roleId: string,
): Promise<Outcome> {
  // The id of a product is free text, and would lead into another path.
  if (!ROLE_ID.test(roleId)) {
    return {
      outcome: 'refused',
      fault: `The role "${roleId}" of a product is no id of a role. Enter the id of a role at the product, or none.`,
      isOfOne: true,
    };
  }
  const url = `${DISCORD_API}/guilds/${settings.guildId}/members/${userId}/roles/${roleId}`;
  const headers = {
    Authorization: `Bot ${settings.botToken}`,
    'User-Agent': DISCORD_USER_AGENT,
    'X-Audit-Log-Reason': REASON,
  };
  const result = await outbound.send(url, { method, headers });
  if ('error' in result) return { outcome: 'later', afterMs: HOUR_MS };
  if (result.status < 300) return { outcome: 'done' };
  if (result.status === 429) {
    return { outcome: 'later', afterMs: limitMs(result, now) ?? MINUTE_MS };
  }
  const { code = 0 }: { code?: number } = Object(parseJson(result.body));
  if (code === UNKNOWN_MEMBER) return { outcome: 'no member' };
  const isRefused = result.status === 401 || result.status === 403;
  const fault =
    FAULTS[result.status === 401 ? 40001 : code] ??
    (isRefused
      ? `Discord refuses roles (${result.status}, code ${code}). Run npm run licet -- discord setup --bot-token FILE: it checks the rights.`
      : undefined);
  return fault
    ? { outcome: 'refused', fault, isOfOne: code === UNKNOWN_ROLE }
    : { outcome: 'later', afterMs: HOUR_MS };
}

const isPaused = ({ settings: { botToken, guildId, rolesFaultAt }, now }: Roles): boolean =>
  botToken === null || guildId === null || (rolesFaultAt !== null && rolesFaultAt + PAUSE_MS > now);

/** Active licenses of an account that give a role: this one, or any. */
const gives = (userId: string, roleId: string | undefined, now: number) =>
  and(
    isOwnedBy({ chatId: userId }),
    eq(licenses.state, 'ACTIVE'),
    sql`(${licenses.expiresAt} is null or ${licenses.expiresAt} > ${now})`,
    roleId === undefined ? isNotNull(products.roleId) : eq(products.roleId, roleId),
  );

/**
 * Gives an account the roles of its active licenses.
 *
 * @returns words for the user if a role could not be given
 */
export async function giveRoles(roles: Roles, userId: string): Promise<string | undefined> {
  if (roles.settings.botToken === null) return undefined;
  const { db, now } = roles;
  const due = await db
    .select({ roleId: products.roleId, endsAt: min(licenses.expiresAt) })
    .from(licenses)
    .innerJoin(products, eq(products.id, licenses.productId))
    .where(gives(userId, undefined, now))
    .groupBy(products.roleId)
    // Those that the account lacks come first.
    .orderBy(
      sql`exists (select 1 from ${discordRoles} where chat_id = ${userId}
        and role_id = ${products.roleId} and due_at > ${now})`,
    )
    .limit(MAX_CHECKED);
  if (isPaused(roles)) return due.length > 0 ? REFUSED : undefined;
  let isRefused = false;
  for (const { roleId, endsAt } of due) {
    if (roleId === null) continue;
    const sent = await sendRole(roles, 'PUT', userId, roleId);
    if (sent.outcome === 'refused') {
      await noteRolesFault(db, sent.fault, sent.isOfOne ? null : now);
      isRefused = true;
      if (sent.isOfOne) continue;
      return REFUSED;
    }
    if (sent.outcome !== 'done') return 'Your role follows: use /licenses again in a minute.';
    const dueAt = Math.min(endsAt ?? Number.POSITIVE_INFINITY, now + MAX_KEPT_MS);
    await db
      .insert(discordRoles)
      .values({ chatId: userId, roleId, dueAt })
      .onConflictDoUpdate({ target: [discordRoles.chatId, discordRoles.roleId], set: { dueAt } });
  }
  if (isRefused) return REFUSED;
  if (due.length > 0) await noteRolesFault(db, null, null);
  return undefined;
}

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
 * Takes the roles that no license gives any more.
 *
 * @param left the number of queries and requests that remain
 * @returns the number of requests
 */
async function takeRoles(roles: Omit<Roles, 'settings'>, left: () => number): Promise<number> {
  const { db, now } = roles;
  const due = await db
    .select()
    .from(discordRoles)
    .where(lte(discordRoles.dueAt, now))
    .orderBy(discordRoles.dueAt)
    .limit(MAX_CHECKED);
  const all = { ...roles, settings: (await readSettings(db, 'discord', NO_DISCORD)).value };
  if (all.settings.botToken === null) {
    // Roles cannot be taken without a bot, and nothing about the accounts is kept.
    await db.delete(discordRoles).where(lte(discordRoles.dueAt, now));
    return 0;
  }
  if (isPaused(all)) return 0;
  let requests = 0;
  for (const { chatId, roleId, dueAt } of due) {
    if (left() - requests < ROLE_QUERIES) return requests;
    const isRole = and(eq(discordRoles.chatId, chatId), eq(discordRoles.roleId, roleId));
    const [given] = await db
      .select({ count: sql<number>`count(*)`, endsAt: min(licenses.expiresAt) })
      .from(licenses)
      .innerJoin(products, eq(products.id, licenses.productId))
      .where(gives(chatId, roleId, now));
    const next = (at: number) => db.update(discordRoles).set({ dueAt: at }).where(isRole);
    if (given && given.count > 0) {
      await next(Math.min(given.endsAt ?? Number.POSITIVE_INFINITY, now + MAX_KEPT_MS));
      continue;
    }
    requests++;
    const sent = await sendRole(all, 'DELETE', chatId, roleId);
    if (sent.outcome === 'later') {
      // A limit holds for the whole server.
      await next(now + sent.afterMs);
      return requests;
    }
    if (sent.outcome === 'refused' && !sent.isOfOne) {
      await noteRolesFault(db, sent.fault, now);
      await next(now + PAUSE_MS);
      return requests;
    }
    // Unless a license has given it again in the meantime.
    await db.delete(discordRoles).where(and(isRole, eq(discordRoles.dueAt, dueAt)));
  }
  return requests;
}

export const TAKE_ROLES: Task = {
  failure: 'Roles at Discord were not looked after',
  most: 2 + ROLE_QUERIES,
  async run({ spend, left, ...run }) {
    spend(await takeRoles(run, left));
  },
};
