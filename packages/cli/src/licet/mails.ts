import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Mail } from '@licet/client';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { MAIL_KINDS, MAIL_LANGUAGES, MAIL_STATES } from '@licet/contract/mail-kinds';
import { CliError } from '../terminal.ts';
import { type Column, examples, firstOf, type Output, timeText } from './output.ts';
import { idArgument, integerFrom, type OpenSession } from './session.ts';

const DEFAULT_SHOWN = 20;

const STYLES = {
  WAITING: 'yellow',
  SENT: 'green',
  UNKNOWN: 'yellow',
  FAILED: 'red',
  SKIPPED: 'dim',
} as const;

const COLUMNS: Column<Mail>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'SINCE (UTC)', text: ({ createdAt }) => timeText(createdAt) },
  { title: 'KIND', text: ({ kind }) => kind },
  { title: 'STATE', text: ({ state }) => state, style: ({ state }) => STYLES[state] },
  { title: 'TO', text: ({ email }) => email ?? '', isFlexible: true },
  { title: 'LICENSE', text: ({ licenseId }) => String(licenseId ?? '') },
  { title: 'ATTEMPTS', text: ({ attempts }) => String(attempts) },
  {
    title: 'NEXT (UTC)',
    text: ({ nextAttemptAt }) => (nextAttemptAt === null ? '' : timeText(nextAttemptAt)),
  },
  { title: 'REASON', text: ({ error }) => error ?? '', isFlexible: true },
];

/** Prints the state of a mail that was sent just now. @throws CliError if it will not arrive */
function report(output: Output, mail: Mail, to: string): void {
  const { id, state, error } = mail;
  if (state === 'FAILED' || state === 'SKIPPED') {
    if (output.isJson) output.object(mail, {});
    throw new CliError(`Mail ${id} to ${to} was not sent.${error === null ? '' : ` ${error}`}`);
  }
  const sentence =
    state === 'SENT'
      ? `The mail server has the mail to ${to}. Look into the spam folder, too.`
      : `The mail to ${to} waits; mails list shows its outcome.${error === null ? '' : ` ${error}`}`;
  output.done(sentence, mail);
}

/** `licet mails`: mails to customers. */
export function addMails(parent: CommandUnknownOpts, open: OpenSession): void {
  const mails = parent
    .command('mails')
    .description('list the mails to customers, send one again, or send a test');

  mails
    .command('list')
    .description('list the mails of the last 30 days, newest last')
    .addOption(new Option('--state <state>', 'only those in this state').choices(MAIL_STATES))
    .addOption(new Option('--kind <kind>', 'only those of this kind').choices(MAIL_KINDS))
    .option('--license <id>', 'only those of a license', idArgument)
    .option('--customer <id>', 'only those of a customer', idArgument)
    .option('--limit <n>', 'the newest n', integerFrom(1), DEFAULT_SHOWN)
    .addHelpText('after', examples('mails list', 'mails list --state FAILED'))
    .action(async ({ license: licenseId, customer: customerId, limit, ...filter }) => {
      const { licet, output } = open();
      const query = { ...filter, licenseId, customerId };
      const pages = licet.mails.iterate({ ...query, limit: Math.min(limit + 1, MAX_PAGE_OBJECTS) });
      const { first, hasMore } = await firstOf(pages, limit);
      if (hasMore) output.note(`There are more than ${limit} mails. Raise --limit to see them.`);
      output.list(first.reverse(), COLUMNS, 'No mails.');
    });

  mails
    .command('test')
    .description('send a test to an address, which is not stored')
    .argument('<address>', 'an e-mail address of yours')
    .addOption(
      new Option(
        '--language <language>',
        'the language of the test; that of the settings unless given',
      ).choices(MAIL_LANGUAGES),
    )
    .addHelpText('after', examples('mails test you@shop.example'))
    .action(async (to, { language }) => {
      const { licet, output } = open();
      report(output, await licet.mails.test({ to, ...(language && { language }) }), to);
    });

  mails
    .command('resend')
    .description('send a mail again, to the e-mail that its customer has now')
    .argument('<id>', 'its id, as mails list shows it', idArgument)
    .addHelpText('after', examples('mails resend 4711'))
    .action(async (id) => {
      const { licet, output } = open();
      const mail = await licet.mails.resend(id);
      report(output, mail, mail.email ?? 'the customer');
    });
}
