import { DISCORD_API } from '@licet/contract/discord';
import type { discordTest } from '@licet/contract/discord-settings';
import { parseJson } from '@licet/contract/json';
import { isNotNull } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../../db/client.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { products } from '../../resources/products/schema.ts';
import {
  isRoleId,
  MAY_NOT_GIVE,
  NOT_IN_SERVER,
  remedyOf,
  UNKNOWN_ROLE,
  UNKNOWN_SERVER,
  WRONG_TOKEN,
} from './role-faults.ts';
import { giveWaiting } from './roles.ts';
import { botHeaders, type DiscordSettings, noteRoles } from './settings.ts';

/** Asks Discord whether the bot can give the roles of the products (10). */

/** A server has up to 250 roles. */
const MAX_BYTES = 256 * 1024;
const MANAGE_ROLES = 1n << 28n;
const ADMINISTRATOR = 1n << 3n;

const bot = z.object({ id: z.string() });
const member = z.object({ roles: z.array(z.string()) });
const serverRoles = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    position: z.number(),
    permissions: z.string().regex(/^\d+$/),
  }),
);

interface Test {
  db: Database;
  outbound: Outbound;
  settings: DiscordSettings;
}

/** A fault that keeps the test from its end. Without a code nothing is known about the roles. */
class TestFault extends Error {
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

async function read<Body>(
  { outbound, settings }: Test,
  path: string,
  schema: z.ZodType<Body>,
): Promise<Body> {
  const request = { method: 'GET', headers: botHeaders(settings), maxBytes: MAX_BYTES } as const;
  const result = await outbound.send(DISCORD_API + path, request);
  const unknown = 'Roles could not be checked. Try again in a minute.';
  if ('error' in result) throw new TestFault(`Discord cannot be reached. ${unknown}`);
  const { status, body } = result;
  const { code }: { code?: unknown } = Object(parseJson(body));
  if (status === 401) throw new TestFault(remedyOf(WRONG_TOKEN), WRONG_TOKEN);
  if (status === 403 || status === 404) {
    const known = code === UNKNOWN_SERVER ? UNKNOWN_SERVER : NOT_IN_SERVER;
    throw new TestFault(remedyOf(known), known);
  }
  const { data } = schema.safeParse(parseJson(body));
  if (data === undefined) throw new TestFault(`Discord returned ${status}. ${unknown}`);
  return data;
}

type Giving = { roleId: string; name: string };
type Fault = Giving & { code: number; words: string };

/** The roles that the bot cannot give, each with its remedy. */
async function findFaults(test: Test, giving: readonly Giving[]): Promise<Fault[]> {
  const { guildId } = test.settings;
  const { id: botId } = await read(test, '/users/@me', bot);
  const { roles: held } = await read(test, `/guilds/${guildId}/members/${botId}`, member);
  const roles = await read(test, `/guilds/${guildId}/roles`, serverRoles);
  const own = roles.filter(({ id }) => held.includes(id) || id === guildId);
  const rights = own.reduce((all, { permissions }) => all | BigInt(permissions), 0n);
  const highest = Math.max(...own.map(({ position }) => position));
  return giving.flatMap((one): Fault[] => {
    const { roleId, name } = one;
    const role = roles.find(({ id }) => id === roleId);
    if (!role) {
      const words = isRoleId(roleId)
        ? `The role ${roleId} of product ${name} does not exist in the server. Choose another one at the product, or none.`
        : `The role "${roleId}" of product ${name} is no id of a role. Enter the id of a role at the product, or none.`;
      return [{ ...one, code: UNKNOWN_ROLE, words }];
    }
    if ((rights & (MANAGE_ROLES | ADMINISTRATOR)) === 0n) {
      const words =
        'The bot lacks the right "Manage Roles". Give it to the role of the bot in the server.';
      return [{ ...one, code: MAY_NOT_GIVE, words }];
    }
    if (role.position < highest) return [];
    const words = `The role of the bot stands below "${role.name}" of product ${name}. Move it above.`;
    return [{ ...one, code: MAY_NOT_GIVE, words }];
  });
}

/** Tests whether the bot can give the roles of the products, and notes those that it cannot give. */
export async function testRoles(test: Test): Promise<z.infer<typeof discordTest>> {
  const { db, settings } = test;
  const rows = await db
    .select({ roleId: products.roleId, name: products.name })
    .from(products)
    .where(isNotNull(products.roleId))
    .orderBy(products.id);
  const giving = rows.flatMap(({ roleId, name }) => (roleId === null ? [] : { roleId, name }));
  const roles = new Set(giving.map(({ roleId }) => roleId)).size;
  if (roles === 0) return { roles, faults: [] };
  if (settings.botToken === null || settings.guildId === null) {
    const words =
      'Products give roles, which need a bot: run npm run licet -- discord setup --bot-token FILE.';
    return { roles, faults: [words] };
  }
  let faults: Fault[];
  try {
    faults = await findFaults(test, giving);
  } catch (error) {
    if (!(error instanceof TestFault)) throw error;
    const { code, message: words } = error;
    if (code === undefined) return { roles, faults: [words] };
    faults = giving.map((one) => ({ ...one, code, words }));
  }
  const codes = new Map<string, number | null>(
    Object.keys(settings.roleFaults).map((roleId) => [roleId, null]),
  );
  for (const { roleId, code } of faults) codes.set(roleId, code);
  await noteRoles(db, {
    roleFaults: Object.fromEntries(codes),
    ...(faults.length === 0 && { rolesPausedUntil: null }),
  });
  if (faults.length === 0) await giveWaiting(db);
  return { roles, faults: [...new Set(faults.map(({ words }) => words))] };
}
