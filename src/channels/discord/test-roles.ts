import { DISCORD_API } from '@licet/contract/discord';
import type { discordTest } from '@licet/contract/discord-settings';
import { parseJson } from '@licet/contract/json';
import { isNotNull, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../../db/client.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { products } from '../../resources/products/schema.ts';
import {
  describeFaults,
  LACKS_RIGHT,
  NOT_IN_SERVER,
  type RoleFaults,
  STANDS_BELOW,
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

/** A fault that keeps the test from its end: a code about all roles, or words if nothing is known about them. */
class TestFault extends Error {
  readonly code: number | undefined;

  constructor(fault: string | number) {
    super(String(fault));
    this.code = typeof fault === 'number' ? fault : undefined;
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
  if (status === 401) throw new TestFault(WRONG_TOKEN);
  if (status === 403 || status === 404) {
    throw new TestFault(code === UNKNOWN_SERVER ? UNKNOWN_SERVER : NOT_IN_SERVER);
  }
  const { data } = schema.safeParse(parseJson(body));
  if (data === undefined) throw new TestFault(`Discord returned ${status}. ${unknown}`);
  return data;
}

interface Found {
  /** The codes of the roles that the bot cannot give, by their ids. */
  faults: RoleFaults;
  /** The names of roles, by their ids. */
  names: ReadonlyMap<string, string>;
}

async function findFaults(test: Test, roleIds: ReadonlySet<string>): Promise<Found> {
  const { guildId } = test.settings;
  const { id: botId } = await read(test, '/users/@me', bot);
  const { roles: held } = await read(test, `/guilds/${guildId}/members/${botId}`, member);
  const roles = await read(test, `/guilds/${guildId}/roles`, serverRoles);
  const own = roles.filter(({ id }) => held.includes(id) || id === guildId);
  const rights = own.reduce((all, { permissions }) => all | BigInt(permissions), 0n);
  const highest = Math.max(...own.map(({ position }) => position));
  const faultOf = (roleId: string): number | undefined => {
    const role = roles.find(({ id }) => id === roleId);
    if (!role) return UNKNOWN_ROLE;
    if ((rights & (MANAGE_ROLES | ADMINISTRATOR)) === 0n) return LACKS_RIGHT;
    return role.position < highest ? undefined : STANDS_BELOW;
  };
  const faults = [...roleIds].flatMap((roleId) => {
    const code = faultOf(roleId);
    return code === undefined ? [] : [[roleId, code] as const];
  });
  return {
    faults: Object.fromEntries(faults),
    names: new Map(roles.map(({ id, name }) => [id, name])),
  };
}

/** Tests whether the bot can give the roles of the products, and notes those that it cannot give. */
export async function testRoles(test: Test): Promise<z.infer<typeof discordTest>> {
  const { db, settings } = test;
  const rows = await db
    .selectDistinct({ roleId: sql<string>`${products.roleId}` })
    .from(products)
    .where(isNotNull(products.roleId));
  const roleIds = new Set(rows.map(({ roleId }) => roleId));
  const roles = roleIds.size;
  if (roles === 0) return { roles, faults: [] };
  if (settings.botToken === null || settings.guildId === null) {
    const words =
      'Products give roles, which need a bot: run npm run licet -- discord setup --bot-token FILE.';
    return { roles, faults: [words] };
  }
  let found: Found;
  try {
    found = await findFaults(test, roleIds);
  } catch (error) {
    if (!(error instanceof TestFault)) throw error;
    const { code, message } = error;
    if (code === undefined) return { roles, faults: [message] };
    const faults = Object.fromEntries([...roleIds].map((roleId) => [roleId, code]));
    found = { faults, names: new Map() };
  }
  const { faults, names } = found;
  const isRight = Object.keys(faults).length === 0;
  const fixed = Object.keys(settings.roleFaults).map((roleId) => [roleId, null] as const);
  await noteRoles(db, {
    roleFaults: { ...Object.fromEntries(fixed), ...faults },
    ...(isRight && { rolesPausedUntil: null }),
  });
  if (isRight) await giveWaiting(db);
  return { roles, faults: [...(await describeFaults(db, faults, names))] };
}
