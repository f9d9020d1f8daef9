import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Licet } from '@licet/client';
import { DISCORD_API, DISCORD_USER_AGENT } from '@licet/contract/discord';
import { DISCORD_COMMANDS } from '@licet/contract/discord-commands';
import { atDiscord, discordUrlFault } from '@licet/contract/discord-url';
import { parseJson } from '@licet/contract/json';
import { argumentError } from '../command-line.ts';
import { CliError, usageError } from '../terminal.ts';
import { examples, type Output } from './output.ts';
import type { OpenSession } from './session.ts';

/** An address of Discord, at the server in `DISCORD_URL` if it is set. */
function addressAt(address: string): string {
  const { DISCORD_URL = '' } = process.env;
  const fault = discordUrlFault(DISCORD_URL);
  if (fault) throw usageError(`DISCORD_URL ${fault}`);
  return atDiscord(address, DISCORD_URL) ?? address;
}

const MANAGE_ROLES = 1n << 28n;

/** An error of Discord, with its code. */
class DiscordError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(`Discord returned ${status}${code ? `, code ${code}` : ''}: ${message}`);
    this.status = status;
    this.code = code;
  }
}

function remedyOf({ status }: DiscordError): string {
  if (status === 400 || status === 401) {
    return 'Check the application id, and the client secret or the token of the bot. Then run this again.';
  }
  if (status === 403 || status === 404) {
    return 'Open the invitation above, and check --application and --guild. Then run this again.';
  }
  return 'Try again in a minute.';
}

async function request(
  path: string,
  { headers, ...init }: RequestInit & { headers: Record<string, string> },
): Promise<unknown> {
  const response = await fetch(addressAt(DISCORD_API + path), {
    ...init,
    headers: { 'User-Agent': DISCORD_USER_AGENT, ...headers },
  }).catch((error: unknown) => {
    throw new CliError(
      `Discord cannot be reached: ${error instanceof Error ? error.message : error}`,
    );
  });
  const sent = await response.text();
  const body = parseJson(sent);
  if (response.ok) return body;
  const { code = 0, message = response.statusText }: { code?: number; message?: string } =
    Object(body);
  throw new DiscordError(response.status, code, message);
}

/** A token that registers commands, and nothing else: no bot is needed for it. */
async function bearerOf(applicationId: string, secret: string): Promise<string> {
  const credentials = Buffer.from(`${applicationId}:${secret}`).toString('base64');
  const { access_token }: { access_token?: string } = Object(
    await request('/oauth2/token', {
      method: 'POST',
      headers: {
        Authorization: `Basic ${credentials}`,
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials&scope=applications.commands.update',
    }),
  );
  if (access_token === undefined)
    throw new CliError('Discord gave no token for the client secret.');
  return `Bearer ${access_token}`;
}

/** The first line of a file, or of standard input: secrets do not stand in the history of a shell. */
async function readSecret(file: string): Promise<string> {
  try {
    return (file === '-' ? await text(process.stdin) : readFileSync(file, 'utf8')).trim();
  } catch (error) {
    throw argumentError(
      `${file} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

interface Options {
  application?: string | undefined;
  publicKey?: string | undefined;
  guild?: string | undefined;
  adminRole?: string | undefined;
  clientSecret?: string | undefined;
  botToken?: string | undefined;
}

async function setUp(licet: Licet, output: Output, options: Options): Promise<void> {
  const { clientSecret, botToken: tokenFile } = options;
  const invitation = addressAt('https://discord.com/oauth2/authorize');
  if (clientSecret === undefined && tokenFile === undefined) {
    throw argumentError('Give --client-secret FILE, or --bot-token FILE if products give roles.');
  }
  const botToken = tokenFile === undefined ? undefined : await readSecret(tokenFile);
  const secret = clientSecret === undefined ? '' : await readSecret(clientSecret);
  const settings = await licet.discordSettings.update({
    ...(options.application !== undefined && { applicationId: options.application }),
    ...(options.publicKey !== undefined && { publicKey: options.publicKey }),
    ...(options.guild !== undefined && { guildId: options.guild }),
    ...(options.adminRole !== undefined && { adminRoleId: options.adminRole }),
    ...(botToken !== undefined && { botToken }),
  });
  const { applicationId, publicKey, guildId, hasBotToken, interactionsUrl } = settings;
  if (applicationId === null || publicKey === null || guildId === null) {
    throw argumentError(
      'Give --application, --public-key and --guild: the service has not all of them.',
    );
  }
  output.note('✓ The settings are stored at the service.');
  const scope = hasBotToken
    ? `bot+applications.commands&permissions=${MANAGE_ROLES}`
    : 'applications.commands';
  output.note(
    `  Invitation to your server: ${invitation}?client_id=${applicationId}&scope=${scope}`,
  );
  const authorization =
    botToken === undefined ? await bearerOf(applicationId, secret) : `Bot ${botToken}`;
  await request(`/applications/${applicationId}/guilds/${guildId}/commands`, {
    method: 'PUT',
    headers: { Authorization: authorization, 'Content-Type': 'application/json' },
    body: JSON.stringify(DISCORD_COMMANDS),
  });
  output.note(`✓ ${DISCORD_COMMANDS.length} commands are registered in the server.`);
  output.done(
    'Paste this address as "Interactions Endpoint URL" at the application in Discord:',
    settings,
    interactionsUrl,
  );
  output.warnUnlessPublic(settings);
  // The service asks Discord, because no response shows the token that it has.
  const { roles, faults } = await licet.discordSettings.test();
  for (const fault of faults) output.note(`✗ ${fault}`);
  if (faults.length > 0) throw new CliError('Roles cannot be given yet. All other commands work.');
  if (roles > 0) output.note('✓ The bot can give the roles of all products.');
}

/** `licet discord`: the commands at Discord. */
export function addDiscord(parent: CommandUnknownOpts, open: OpenSession): void {
  const discord = parent.command('discord').description('set up the commands at Discord');
  discord
    .command('setup')
    .description(
      'store the settings, register the commands, and check the rights; run it again at any time',
    )
    .option('--application <id>', 'the application id, from General Information')
    .option('--public-key <key>', 'the public key, beside it')
    .option('--guild <id>', 'the id of your server')
    .option('--admin-role <id>', 'the role that may use the commands of administrators')
    .option(
      '--client-secret <file>',
      'a file with the client secret, from OAuth2; - for standard input',
    )
    .option(
      '--bot-token <file>',
      'a file with the token of the bot, for roles; - for standard input',
    )
    .addHelpText(
      'after',
      examples(
        'discord setup --application 1100000000000000001 --public-key 8a88e3dd… --guild 1100000000000000002 --client-secret secret.txt',
        'discord setup --bot-token token.txt',
      ),
    )
    .action(async (options) => {
      const { licet, output } = open();
      try {
        await setUp(licet, output, options);
      } catch (error) {
        throw error instanceof DiscordError
          ? new CliError(`${error.message}. ${remedyOf(error)}`)
          : error;
      }
    });
}
