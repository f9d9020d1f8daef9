import { sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { products } from '../../resources/products/schema.ts';

/** The roles that Discord refuses (10): each with its code, until it is given. */

/** Codes of Discord or of a test, or statuses of responses without one, by the id of the role. */
export type RoleFaults = Readonly<Record<string, number>>;

const MAX_SHOWN = 10;
const ROLE_ID = /^\d{15,21}$/;

/** The bot lacks the right, or its role stands below this one. Discord has one code for both. */
const MAY_NOT_GIVE = 50013;
export const UNKNOWN_ROLE = 10011;
export const NOT_IN_SERVER = 50001;
export const UNKNOWN_SERVER = 10004;
export const WRONG_TOKEN = 40001;
/** Codes of a test, which knows more than Discord says. */
export const LACKS_RIGHT = -1;
export const STANDS_BELOW = -2;
/** Codes about one role, which say nothing about others. */
const OF_ONE_ROLE: readonly number[] = [MAY_NOT_GIVE, UNKNOWN_ROLE, STANDS_BELOW];

const REMEDIES: Readonly<Record<number, string>> = {
  [MAY_NOT_GIVE]:
    'The bot may not give it. Give the bot the right "Manage Roles", and move its role above this role.',
  [NOT_IN_SERVER]:
    'The bot is not in the server. Run npm run licet -- discord setup --bot-token FILE, and open the invitation that it prints.',
  [UNKNOWN_ROLE]: 'It is deleted at Discord. Choose another one at the product, or none.',
  [UNKNOWN_SERVER]:
    'The bot does not see the server. Run npm run licet -- discord setup with the id of the server as --guild.',
  [WRONG_TOKEN]:
    'Discord does not accept the token of the bot. Run npm run licet -- discord setup --bot-token FILE with a new one.',
  [LACKS_RIGHT]:
    'The bot lacks the right "Manage Roles". Give it to the role of the bot in the server.',
  [STANDS_BELOW]: 'The role of the bot stands below it. Move the role of the bot above.',
};
const NO_ID = 'It is no id of a role. Enter the id of a role at the product, or none.';

/** Whether a text is an id of a role. That of a product is free text, and could lead into another path. */
export const isRoleId = (text: string): boolean => ROLE_ID.test(text);

/** The remedy for a code. */
const remedyOf = (code: number): string =>
  REMEDIES[code] ??
  `Discord refuses it (code ${code}). Run npm run licet -- discord setup --bot-token FILE: it checks the rights.`;

/** The roles without a fault once a role was given: itself, and all whose fault concerns the bot. */
export const fixedBy = (given: string, faults: RoleFaults): string[] =>
  Object.entries(faults).flatMap(([roleId, code]) =>
    roleId === given || !OF_ONE_ROLE.includes(code) ? roleId : [],
  );

const shortList = (items: readonly string[]): readonly string[] =>
  items.length > MAX_SHOWN
    ? [...items.slice(0, MAX_SHOWN), `and ${items.length - MAX_SHOWN} more`]
    : items;

/**
 * The faults in words, a line for each remedy, with the roles and the products that give them.
 *
 * @param names of roles, by their ids, where they are known
 */
export async function describeFaults(
  db: Database,
  faults: RoleFaults,
  names: ReadonlyMap<string, string> = new Map(),
): Promise<readonly string[]> {
  const roleIds = Object.keys(faults);
  if (roleIds.length === 0) return [];
  const giving = await db
    .select({ roleId: sql<string>`${products.roleId}`, name: products.name })
    .from(products)
    // A role that no product gives any more needs no remedy.
    .where(isOneOf(products.roleId, roleIds))
    .orderBy(products.id);
  const faulty = [...Map.groupBy(giving, ({ roleId }) => roleId)].map(([roleId, sold]) => {
    const list = shortList(sold.map(({ name }) => `"${name}"`)).join(', ');
    const name = names.get(roleId);
    const role = name === undefined ? roleId : `"${name}"`;
    return {
      of: `role ${role} of the product${sold.length > 1 ? 's' : ''} ${list}`,
      remedy: isRoleId(roleId) ? remedyOf(faults[roleId] ?? 0) : NO_ID,
    };
  });
  const lines = [...Map.groupBy(faulty, ({ remedy }) => remedy)].map(([remedy, same]) => {
    const roles = shortList(same.map(({ of }) => of)).join(', ');
    return `${roles.charAt(0).toUpperCase()}${roles.slice(1)}: ${remedy}`;
  });
  return shortList(lines);
}
