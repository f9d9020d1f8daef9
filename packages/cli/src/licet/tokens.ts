import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { API_INTENTS } from '../../../../src/lib/enums.ts';
import type { Token } from '../../../client/src/index.ts';
import { type Column, examples, timeText } from './output.ts';
import { EXPIRES_OPTION, expiryField, idArgument, type OpenSession } from './session.ts';

const timeOr = (timestamp: string | null, otherwise: string): string =>
  timestamp === null ? otherwise : timeText(timestamp);

const isExpired = (expiresAt: string | null): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= Date.now();

const COLUMNS: Column<Token>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'NAME', text: ({ name }) => name, isFlexible: true },
  { title: 'INTENTS', text: ({ intents }) => intents.join(' '), isFlexible: true },
  {
    title: 'EXPIRES (UTC)',
    text: ({ expiresAt }) =>
      `${timeOr(expiresAt, 'never')}${isExpired(expiresAt) ? ' (expired)' : ''}`,
    style: ({ expiresAt }) => (isExpired(expiresAt) ? 'red' : 'green'),
  },
  { title: 'LAST USED (UTC)', text: ({ lastUsedAt }) => timeOr(lastUsedAt, 'never') },
];

/** `licet tokens`: manage API tokens. */
export function addTokens(parent: CommandUnknownOpts, open: OpenSession): void {
  const tokens = parent.command('tokens').description('manage API tokens');

  tokens
    .command('create')
    .description('create a token; prints its secret, which is shown only once')
    .argument('<name>', 'its name, for example of its user')
    .addArgument(new Argument('<intents...>', 'its permissions').choices(API_INTENTS))
    .option(...EXPIRES_OPTION)
    .addHelpText(
      'after',
      examples(
        'tokens create Shop LICENSES_READ_WRITE',
        'tokens create Support LICENSES_READ_WRITE REQUESTS_READ --expires 2030-01-31',
      ),
    )
    .action(async (name, intents, { expires }) => {
      const { licet, output } = open();
      const token = await licet.tokens.create({ name, intents, expiresAt: expiryField(expires) });
      const message = `Token ${token.id} "${token.name}" created. Its secret, shown only once:`;
      output.done(message, token, token.token);
    });

  tokens
    .command('list')
    .description('list all tokens')
    .addHelpText('after', examples('tokens list'))
    .action(async () => {
      const { licet, output } = open();
      output.list(await licet.tokens.list(), COLUMNS, 'No tokens but the root token.');
    });

  tokens
    .command('revoke')
    .description('revoke a token at once')
    .argument('<id>', 'its id, as tokens list shows it', idArgument)
    .addHelpText('after', examples('tokens revoke 3'))
    .action(async (id) => {
      const { licet, output } = open();
      const token = await licet.tokens.get(id);
      await licet.tokens.delete(id);
      output.done(`Token ${id} "${token.name}" is revoked.`, token);
    });
}
