import { parseJson } from '@licet/contract/json';
import * as z from 'zod';

/** The interactions that Discord sends (10), as far as they are read, and the responses. */

export const PING = 1;
export const COMMAND = 2;
export const COMPONENT = 3;
export const AUTOCOMPLETE = 4;

const option = z.object({
  name: z.string(),
  value: z.union([z.string(), z.number(), z.boolean()]).optional(),
  focused: z.boolean().optional(),
});

const schema = z.object({
  id: z.string(),
  application_id: z.string(),
  type: z.int(),
  token: z.string(),
  guild_id: z.string().optional(),
  member: z
    .object({
      user: z.object({ id: z.string(), username: z.string() }),
      roles: z.array(z.string()),
      permissions: z.string(),
    })
    .optional()
    // Discord shows no words of a response that is no message.
    .catch(undefined),
  user: z.object({ id: z.string(), username: z.string() }).optional().catch(undefined),
  data: z
    .object({
      name: z.string().optional(),
      custom_id: z.string().optional(),
      resolved: z
        .object({ users: z.record(z.string(), z.object({ username: z.string() })).optional() })
        .optional(),
      options: z.array(option.extend({ options: z.array(option).optional() })).optional(),
    })
    .optional()
    .catch(undefined),
});

/** An administrator of a server, and a member who may manage it. */
const MAY_MANAGE = 8n | 32n;

export interface Interaction {
  id: string;
  applicationId: string;
  type: number;
  /** A credential for 15 minutes: it stands in no log. */
  token: string;
  /** Undefined in a direct message. */
  guildId: string | undefined;
  user: { id: string; username: string } | undefined;
  roles: readonly string[];
  mayManageServer: boolean;
  /** The command with its subcommand, such as `license find`; of a button its id. */
  name: string;
  options: ReadonlyMap<string, string>;
  /** The names of the users among the options, by their ids. */
  usernames: ReadonlyMap<string, string>;
  /** The option that is being typed. */
  focused: string | undefined;
}

/** Reads an interaction; undefined for a body that is none. */
export function parseInteraction(body: string): Interaction | undefined {
  const { data: sent } = schema.safeParse(parseJson(body));
  if (!sent) return undefined;
  const { member, data } = sent;
  const [first] = data?.options ?? [];
  const isSubcommand = first?.options !== undefined || (first && first.value === undefined);
  const options = (isSubcommand ? first.options : data?.options) ?? [];
  return {
    id: sent.id,
    applicationId: sent.application_id,
    type: sent.type,
    token: sent.token,
    guildId: sent.guild_id,
    user: member?.user ?? sent.user,
    roles: member?.roles ?? [],
    mayManageServer: /^\d+$/.test(member?.permissions ?? '')
      ? (BigInt(member?.permissions ?? 0) & MAY_MANAGE) !== 0n
      : false,
    name: [data?.name ?? data?.custom_id ?? '', isSubcommand && first.name]
      .filter(Boolean)
      .join(' '),
    options: new Map(options.map(({ name, value }) => [name, String(value ?? '')])),
    usernames: new Map(
      Object.entries(data?.resolved?.users ?? {}).map(([id, { username }]) => [id, username]),
    ),
    focused: options.find(({ focused }) => focused)?.name,
  };
}

const EPHEMERAL = 64;
const MAX_CONTENT = 2_000;
const ACTION_ROW = 1;
const BUTTON = 2;
const SECONDARY = 2;
const LINK = 5;

/** The content of a message that its reader alone sees. */
export interface Message {
  text: string;
  /** A button that opens a page, or asks again. */
  button?: { label: string } & ({ url: string } | { id: string });
}

/** The data of a message at Discord. Nobody is mentioned, whatever a name contains. */
export function messageData({ text, button }: Message) {
  const content = text.length > MAX_CONTENT ? `${text.slice(0, MAX_CONTENT - 1)}…` : text;
  const { label = '', ...target } = button ?? {};
  const shown = 'url' in target ? { style: LINK, url: target.url } : undefined;
  const asks = 'id' in target ? { style: SECONDARY, custom_id: target.id } : undefined;
  return {
    content,
    flags: EPHEMERAL,
    allowed_mentions: { parse: [] },
    components: button
      ? [{ type: ACTION_ROW, components: [{ type: BUTTON, label, ...(shown ?? asks) }] }]
      : [],
  };
}
