import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { type Licet, LicetError, type Token } from '@licet/client';
import { MINUTE_MS } from '@licet/contract/durations';
import { API_INTENTS, type ApiIntent } from '@licet/contract/enums';
import { dayUntil } from '@licet/contract/time-zone';
import { argumentError } from '../command-line.ts';
import { CliError } from '../terminal.ts';
import { type Column, collectUpTo, counted, examples, timeText } from './output.ts';
import {
  EXPIRES_OPTION,
  expiryField,
  idArgument,
  LIMIT_OPTION,
  type OpenSession,
  shownTimeZone,
  sinceArgument,
} from './session.ts';

const isExpired = (expiresAt: string | null): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= Date.now();

const columnsIn = (timeZone: string): Column<Token>[] => [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'NAME', text: ({ name }) => name, isFlexible: true },
  { title: 'ASSISTANT', text: ({ client }) => client ?? '', isFlexible: true },
  { title: 'INTENTS', text: ({ intents }) => intents.join(' '), isFlexible: true },
  {
    title: `EXPIRES (${timeZone})`,
    text: ({ expiresAt }) =>
      expiresAt === null
        ? 'never'
        : `${dayUntil(Date.parse(expiresAt), timeZone)}${isExpired(expiresAt) ? ' (expired)' : ''}`,
    style: ({ expiresAt }) => (isExpired(expiresAt) ? 'red' : 'green'),
  },
  {
    title: 'LAST USED (UTC)',
    text: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : timeText(lastUsedAt)),
  },
];

/** The service stores the last use of a token with this precision. */
const LAST_USED_PRECISION_MS = 5 * MINUTE_MS;

const isUsedSince = ({ lastUsedAt }: Token, since: string): boolean =>
  lastUsedAt !== null && Date.parse(lastUsedAt) + LAST_USED_PRECISION_MS >= Date.parse(since);

/** Yields the tokens that were used since a time; all without one. */
async function* tokensUsed(licet: Licet, since: string | undefined): AsyncGenerator<Token> {
  for await (const token of licet.tokens.iterate()) {
    if (since === undefined || isUsedSince(token, since)) yield token;
  }
}

const isIntent = (word: string): word is ApiIntent => API_INTENTS.some((intent) => intent === word);

/** @throws CliError that names all unknown intents */
function intentsOf(words: readonly string[]): ApiIntent[] {
  const unknown = words.filter((word) => !isIntent(word));
  if (unknown.length === 0) return words.filter(isIntent);
  const are = unknown.length === 1 ? 'is no intent' : 'are no intents';
  throw argumentError(`${unknown.join(', ')} ${are}. Use some of ${API_INTENTS.join(', ')}.`);
}

/**
 * Revokes all tokens. @returns those that it revoked
 *
 * @throws CliError if it revoked the token that it uses itself, before the others
 */
async function revokeAll(licet: Licet): Promise<Token[]> {
  const revoked: Token[] = [];
  const all = await licet.tokens.list();
  for (const token of all) {
    try {
      await licet.tokens.delete(token.id);
      revoked.push(token);
    } catch (error) {
      const status = error instanceof LicetError ? error.status : undefined;
      // Another administrator was faster.
      if (status === 404) continue;
      if (status !== 401) throw error;
      throw new CliError(
        `The token of this command is now revoked too. ${revoked.length} of ${all.length} tokens are revoked. ` +
          'Run the command again with the root token.',
      );
    }
  }
  return revoked;
}

/** `licet tokens`: manage API tokens. */
export function addTokens(parent: CommandUnknownOpts, open: OpenSession): void {
  const tokens = parent.command('tokens').description('manage API tokens');

  tokens
    .command('create')
    .description('create a token; prints its secret, which is shown only once')
    .argument('<name>', 'its name, such as that of the person or program that uses it')
    .addArgument(
      new Argument('<intents...>', 'its permissions')
        .choices(API_INTENTS)
        .argParser<string[]>((intent, others = []) => [...others, intent]),
    )
    .option(...EXPIRES_OPTION)
    .addHelpText(
      'after',
      examples(
        'tokens create Shop LICENSES_READ_WRITE',
        'tokens create Support LICENSES_READ_WRITE REQUESTS_READ --expires 2030-01-31',
      ),
    )
    .action(async (name, words, { expires }) => {
      const intents = intentsOf(words);
      const { licet, output } = open();
      const expiresAt = expires === undefined ? undefined : await expiryField(licet, expires);
      const token = await licet.tokens.create({ name, intents, expiresAt });
      const message = `Token ${token.id} "${token.name}" created. Its secret, shown only once:`;
      output.done(message, token, token.token);
    });

  tokens
    .command('list')
    .description('list all tokens')
    .option(
      '--used-since <when>',
      'only those used since a date or a time ago (90s, 30m, 2h, 7d), to within 5 minutes',
      sinceArgument,
    )
    .option(...LIMIT_OPTION)
    .addHelpText('after', examples('tokens list', 'tokens list --used-since 2026-11-20'))
    .action(async ({ usedSince, limit }) => {
      const session = open();
      const { licet, output } = session;
      const listed = await collectUpTo(output, 'tokens', tokensUsed(licet, usedSince), limit);
      const nothing =
        usedSince === undefined ? 'No tokens but the root token.' : 'No token was used since then.';
      output.list(listed, columnsIn(await shownTimeZone(session)), nothing);
    });

  tokens
    .command('revoke')
    .description('revoke a token; validations refuse it within 90 seconds')
    .argument('<id>', 'its id, as tokens list shows it', idArgument)
    .addHelpText('after', examples('tokens revoke 3'))
    .action(async (id) => {
      const { licet, output } = open();
      const token = await licet.tokens.get(id);
      await licet.tokens.delete(id);
      output.done(`Token ${id} "${token.name}" is revoked.`, token);
    });

  tokens
    .command('revoke-all')
    .description('revoke all tokens but the root token, for example after a restore')
    .option('--yes', 'confirm that no program with one of these tokens shall go on (required)')
    .addHelpText('after', examples('tokens revoke-all --yes'))
    .action(async ({ yes }) => {
      if (!yes) {
        throw argumentError(
          'This ends every program that uses a token, except with the root token. Confirm it with --yes.',
        );
      }
      const { licet, output } = open();
      const revoked = await revokeAll(licet);
      const count = counted(revoked.length, 'token is', 'tokens are');
      output.doneAll(`${count} revoked. The root token stays.`, revoked, () => undefined);
    });
}
