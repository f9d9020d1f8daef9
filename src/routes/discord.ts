import { DISCORD_API, DISCORD_USER_AGENT } from '@licet/contract/discord';
import { DISCORD_PATH } from '@licet/contract/discord-settings';
import { MINUTE_MS } from '@licet/contract/durations';
import { type Context, Hono } from 'hono';
import { countRejection, isRejectedUnread } from '../auth/middleware.ts';
import type { CommandContext } from '../channels/discord/command.ts';
import { runCommand, suggest } from '../channels/discord/commands.ts';
import {
  AUTOCOMPLETE,
  COMMAND,
  COMPONENT,
  type Interaction,
  type Message,
  messageData,
  PING,
  parseInteraction,
} from '../channels/discord/interaction.ts';
import type { DiscordSettings } from '../channels/discord/settings.ts';
import { isPlausible, isSignedBy } from '../channels/discord/signature.ts';
import { readBody } from '../http/connection.ts';
import { ApiError, TOO_MANY_REJECTED } from '../http/errors.ts';
import { jsonResponse } from '../http/json.ts';
import { wait } from '../lib/async.ts';
import { logFailure } from '../lib/log.ts';
import { publicUrlOf } from '../lib/public-url.ts';
import { type AppEnv, senderOf, servicesOf } from '../services.ts';

/** The interactions of Discord (10): commands without a bot process. */

const MAX_BODY_BYTES = 64 * 1024;
const NOT_SIGNED = new ApiError(401, 'The signature is missing or wrong');
/** Requests without a good signature read the settings at most so often. */
const HELD_MS = 10 * MINUTE_MS;
/** A change of the settings counts everywhere after this time. */
const FRESH_MS = 10_000;
/** Without settings, as while they are entered, each isolate looks so often. */
const EMPTY_HELD_MS = 1_000;
/** Discord waits three seconds for the first response. */
const INLINE_MS = 2_000;

const EDIT_DELAYS_MS = [0, 1_000, 3_000];

const PONG = { type: 1 };
const DEFERRED = { type: 5, data: { flags: 64 } };
const message = (data: object) => ({ type: 4, data });

const FAILED: Message = { text: 'That did not work. Try again in a minute.' };
const ELSEWHERE: Message = {
  text: 'This command works in the server of the shop only. Write it in a channel there.',
};
const NO_MEMBER: Message = {
  text: 'Discord has sent this command without your account. Write it again, or tell the shop.',
};

/** The settings, if they can belong to an application. */
async function settingsFor(c: Context<AppEnv>, maxAgeMs: number): Promise<DiscordSettings> {
  const { discordSettings } = servicesOf(c.env);
  const held = await discordSettings.get(maxAgeMs);
  return held.publicKey === null ? discordSettings.get(EMPTY_HELD_MS) : held;
}

/** Changes the response that was deferred. The token of the interaction is the credential. */
async function edit(c: Context<AppEnv>, { applicationId, token }: Interaction, shown: Message) {
  const url = `${DISCORD_API}/webhooks/${applicationId}/${token}/messages/@original`;
  const request = {
    method: 'PATCH' as const,
    headers: { 'Content-Type': 'application/json', 'User-Agent': DISCORD_USER_AGENT },
    body: JSON.stringify(messageData(shown)),
  };
  // Discord may not have taken the first response yet.
  for (const delayMs of EDIT_DELAYS_MS) {
    await wait(delayMs);
    const result = await servicesOf(c.env).outbound.send(url, request);
    if (!('error' in result) && result.status < 300) return;
  }
  logFailure('A response to Discord was not taken', new Error('No success'));
}

async function respond(c: Context<AppEnv>, context: CommandContext): Promise<Response> {
  const { interaction } = context;
  const { waitUntil } = c.get('timings');
  const running = runCommand(context).catch((error) => {
    logFailure('A command of Discord failed', error);
    return FAILED;
  });
  const shown = await Promise.race([running, wait(INLINE_MS)]);
  if (shown) return jsonResponse(c, message(messageData(shown)));
  waitUntil(running.then((late) => edit(c, interaction, late)));
  return jsonResponse(c, DEFERRED);
}

/** The body of a request; undefined unless the application at Discord has signed it. */
async function readSigned(c: Context<AppEnv>): Promise<Uint8Array | undefined> {
  const signature = c.req.header('X-Signature-Ed25519') ?? '';
  const timestamp = c.req.header('X-Signature-Timestamp') ?? '';
  if (!isPlausible(signature, timestamp, Date.now())) return undefined;
  const bytes = await readBody(c.req.raw, MAX_BODY_BYTES).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const { publicKey } = await settingsFor(c, HELD_MS);
  const isSigned = publicKey !== null && (await isSignedBy(publicKey, signature, timestamp, bytes));
  return isSigned ? bytes : undefined;
}

async function receiveInteraction(c: Context<AppEnv>): Promise<Response> {
  if (isRejectedUnread(c, DISCORD_PATH)) throw TOO_MANY_REJECTED;
  const bytes = await readSigned(c);
  const settings = bytes && (await settingsFor(c, FRESH_MS));
  // Without an application, which switches Discord off, nobody may sign.
  if (!settings || settings.applicationId === null) {
    throw (await countRejection(c, DISCORD_PATH)) ? TOO_MANY_REJECTED : NOT_SIGNED;
  }
  const interaction = parseInteraction(new TextDecoder().decode(bytes));
  if (!interaction) throw new ApiError(400, 'The body is no interaction');
  if (interaction.type === PING) return jsonResponse(c, PONG);
  const { db, outbound, ceilings } = servicesOf(c.env);
  const { user, applicationId, guildId, type } = interaction;
  const isHere =
    applicationId === settings.applicationId &&
    guildId !== undefined &&
    guildId === settings.guildId;
  if (!isHere || user === undefined) {
    const refusal = message(messageData(isHere ? NO_MEMBER : ELSEWHERE));
    return jsonResponse(c, type === AUTOCOMPLETE ? { type: 8, data: { choices: [] } } : refusal);
  }
  const context: CommandContext = {
    db,
    outbound,
    settings,
    interaction: { ...interaction, user },
    newSender: (author) => senderOf(servicesOf(c.env), author, c.get('timings').waitUntil),
    publicUrl: publicUrlOf(c.env, c.req.url),
    secret: c.env.ROOT_TOKEN ?? '',
    isTooOften: () => ceilings.redemptions.count(user.id),
  };
  if (type === AUTOCOMPLETE) {
    return jsonResponse(c, { type: 8, data: { choices: await suggest(context) } });
  }
  if (type === COMMAND || type === COMPONENT) return respond(c, context);
  throw new ApiError(400, 'This type of interaction is not known');
}

export const discordRoutes = new Hono<AppEnv>().post(DISCORD_PATH, receiveInteraction);
