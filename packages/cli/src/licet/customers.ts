import type { Command, CommandUnknownOpts, OptionValues } from '@commander-js/extra-typings';
import { type Customer, type LicensePlatform, type Licet, LicetError } from '@licet/client';
import { DEFAULT_LINK_MINUTES, MAX_LINK_MINUTES } from '@licet/contract/limits';
import { argumentError } from '../command-line.ts';
import { findNewFile, writeNewFile } from '../import/output-file.ts';
import { documentOf, fileAt } from '../invocation.ts';
import { CliError } from '../terminal.ts';
import { listLicenses } from './licenses.ts';
import { type Column, dayText, examples, firstOf, timeText } from './output.ts';
import {
  idOf,
  integerFrom,
  METADATA_FILTER,
  METADATA_OPTION,
  metadataText,
  type OpenSession,
  orUndefined,
  platformLabels,
  searchArgument,
} from './session.ts';

const DEFAULT_FOUND = 50;
/** A request erases the records of a few thousand installations. */
const MAX_FORGET_REQUESTS = 1_000;

const nameOf = ({ firstName, lastName, username, chatUsername }: Customer): string =>
  [firstName, lastName].filter(Boolean).join(' ') || username || chatUsername || '';

const COLUMNS: Column<Customer>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'E-MAIL', text: ({ email }) => email ?? '', isFlexible: true },
  { title: 'NAME', text: nameOf, isFlexible: true },
  { title: 'DISCORD ID', text: ({ chatId }) => chatId ?? '' },
  { title: 'SINCE', text: ({ createdAt }) => dayText(createdAt) },
];

const accountOf = (id: string | null, name: string | null): string =>
  [id, name].filter(Boolean).join(' ');

const fieldsOf = (
  customer: Customer,
  label: (name: LicensePlatform) => string,
): Record<string, string> => ({
  Id: String(customer.id),
  'E-mail': customer.email ?? '',
  Name: [customer.firstName, customer.lastName].filter(Boolean).join(' '),
  'User name': customer.username ?? '',
  Phone: customer.phoneNumber ?? '',
  Discord: accountOf(customer.chatId, customer.chatUsername),
  [label('PLATFORM_A')]: accountOf(customer.platformAId, customer.platformAUsername),
  [label('PLATFORM_B')]: accountOf(customer.platformBId, customer.platformBUsername),
  [label('PLATFORM_C')]: accountOf(customer.platformCId, customer.platformCUsername),
  [label('MARKET_A')]: accountOf(customer.marketAId, customer.marketAUsername),
  [label('MARKET_B')]: accountOf(customer.marketBId, customer.marketBUsername),
  Metadata: metadataText(customer.metadata),
  Created: `${timeText(customer.createdAt)} (UTC)`,
});

/** Finds the customer with an id, or with a complete e-mail. @throws CliError if there is none */
async function findCustomer(licet: Licet, text: string): Promise<Customer> {
  const id = idOf(text);
  if (id !== undefined) {
    const customer = await orUndefined(licet.customers.get(id));
    if (customer) return customer;
  } else {
    for await (const customer of licet.customers.iterate({ q: text })) {
      if (customer.email?.toLowerCase() === text.toLowerCase()) return customer;
    }
  }
  throw new CliError(
    `No customer has the id or the complete e-mail ${text}. Find the id with customers find.`,
  );
}

const CUSTOMER = ['<customer>', 'the id or the complete e-mail'] as const;

/** Adds the options that `create` and `edit` share. */
const withFields = <Args extends unknown[], Opts extends OptionValues, Global extends OptionValues>(
  command: Command<Args, Opts, Global>,
) =>
  command
    .option('--email <email>', 'the e-mail')
    .option('--first-name <name>', 'the first name')
    .option('--last-name <name>', 'the last name')
    .option('--username <name>', 'the name of the account')
    .option('--phone <number>', 'the phone number')
    .option('--chat-id <id>', 'the Discord id')
    .option(...METADATA_OPTION);

type FieldOption = 'email' | 'firstName' | 'lastName' | 'username' | 'phone' | 'chatId';

/** An empty text clears a field. */
const orNull = (text: string | undefined): string | null | undefined => (text === '' ? null : text);

const fieldsOfOptions = (options: Partial<Record<FieldOption, string | undefined>>) => ({
  email: orNull(options.email),
  firstName: orNull(options.firstName),
  lastName: orNull(options.lastName),
  username: orNull(options.username),
  phoneNumber: orNull(options.phone),
  chatId: orNull(options.chatId),
});

/** Forgets a customer. A long history takes several requests: 409 asks for the next one. */
async function forget(licet: Licet, id: number): Promise<void> {
  for (let requests = 1; ; requests++) {
    try {
      await licet.customers.delete(id);
      return;
    } catch (error) {
      const isContinued = error instanceof LicetError && error.status === 409;
      if (!isContinued || requests === MAX_FORGET_REQUESTS) throw error;
    }
  }
}

/** `licet customers`: manage customers. */
export function addCustomers(parent: CommandUnknownOpts, open: OpenSession): void {
  const customers = parent.command('customers').description('manage customers');

  customers
    .command('find')
    .description(
      'find customers by part of a name, an e-mail, a phone number, an account or a text in their metadata',
    )
    .argument('<text>', 'part of a field, in any case', searchArgument)
    .option(...METADATA_FILTER)
    .option('--limit <n>', 'the maximum number of results', integerFrom(1), DEFAULT_FOUND)
    .addHelpText('after', examples('customers find ada@', 'customers find "Ada Lovelace"'))
    .action(async (q, { limit, metadata }) => {
      const { licet, output } = open();
      const { first, hasMore } = await firstOf(licet.customers.iterate({ q, metadata }), limit);
      output.list(first, COLUMNS, 'No customer found.');
      if (hasMore)
        output.note(`More than ${limit} customers match. Give a longer text, or raise --limit.`);
    });

  customers
    .command('show')
    .description('show a customer and the licenses')
    .argument(...CUSTOMER)
    .addHelpText('after', examples('customers show ada@shop.example', 'customers show 7'))
    .action(async (text) => {
      const session = open();
      const { licet, output } = session;
      const customer = await findCustomer(licet, text);
      const licenses = await licet.licenses.byCustomerId(customer.id).list();
      output.object({ ...customer, licenses }, fieldsOf(customer, await platformLabels(session)));
      if (output.isJson) return;
      await listLicenses(session, licenses, 'The customer has no licenses.');
    });

  withFields(customers.command('create'))
    .description('create a customer; prints the id')
    .addHelpText('after', examples('customers create --email ada@shop.example --first-name Ada'))
    .action(async (options) => {
      if (Object.keys(options).length === 0) throw argumentError('Give a field of the customer.');
      const { licet, output } = open();
      const { metadata } = options;
      const customer = await licet.customers.create({ ...fieldsOfOptions(options), metadata });
      output.done('Customer created. The id:', customer, String(customer.id));
    });

  withFields(customers.command('edit'))
    .description('change fields of a customer; an empty value clears a field')
    .argument(...CUSTOMER)
    .addHelpText(
      'after',
      examples(
        'customers edit ada@shop.example --last-name Lovelace',
        'customers edit 7 --phone ""',
        'customers edit 7 --metadata crm=acct_417',
      ),
    )
    .action(async (text, options) => {
      if (Object.keys(options).length === 0) throw argumentError('Nothing to change.');
      const { licet, output } = open();
      const { id } = await findCustomer(licet, text);
      const fields = fieldsOfOptions(options);
      const texts = options.metadata;
      const customer = await (texts === undefined
        ? licet.customers.update(id, fields)
        : licet.customers.change(id, ({ metadata }) => ({
            ...fields,
            metadata: { ...metadata, ...texts },
          })));
      output.done(`Customer ${id} is changed.`, customer);
    });

  customers
    .command('link')
    .description("print a link to the customer's own page, which works once")
    .argument(...CUSTOMER)
    .option(
      '--valid-minutes <n>',
      `the minutes for which it works, at most ${MAX_LINK_MINUTES}`,
      integerFrom(1, MAX_LINK_MINUTES),
      DEFAULT_LINK_MINUTES,
    )
    .addHelpText(
      'after',
      examples('customers link ada@shop.example', 'customers link 7 --valid-minutes 60'),
    )
    .action(async (text, { validMinutes }) => {
      const { licet, output } = open();
      const { id } = await findCustomer(licet, text);
      const link = await licet.portalLink({ customerId: id, validMinutes });
      const until = timeText(link.expiresAt);
      output.done(
        `Send this link to customer ${id}. It works once, until ${until} UTC:`,
        link,
        link.url,
      );
      output.warnUnlessPublic(link);
    });

  customers
    .command('export')
    .description('write all that is stored about a person as JSON, for a request of the person')
    .argument(...CUSTOMER)
    .argument('[file]', 'a new file, such as ada.json; without it the standard output')
    .addHelpText(
      'after',
      `
Events and notes can name other people: read the file before you hand it over. See ${documentOf('operations')}.
${examples('customers export ada@shop.example ada.json', 'customers export 7')}`,
    )
    .action(async (text, file) => {
      const { licet, output } = open();
      const target = file === undefined ? undefined : findNewFile(fileAt(file));
      const { id } = await findCustomer(licet, text);
      const exported = await licet.customers.export(id);
      const { cut } = exported;
      const json = JSON.stringify(exported, null, 2);
      if (target === undefined) console.log(json);
      else {
        writeNewFile(target, `${json}\n`);
        output.done(`All data about customer ${id} is in ${target.path}.`, { id, cut });
      }
      if (cut.length > 0) output.note(`The lists are too long, and end early: ${cut.join(', ')}.`);
    });

  customers
    .command('forget')
    .description('erase a person for good; licenses keep working, with their keys and bindings')
    .argument(...CUSTOMER)
    .option('--yes', 'confirm that this person shall be erased (required)')
    .addHelpText(
      'after',
      `
This erases all fields of the customer, the owner fields of licenses that repeat them, and the keys, addresses and
hardware IDs in the history of the licenses. Notes, metadata and slots of licenses stay, and so do exports: see
${documentOf('operations')}.
${examples('customers forget ada@shop.example --yes', 'customers forget 7 --yes')}`,
    )
    .action(async (text, { yes }) => {
      const { licet, output } = open();
      const { id, email } = await findCustomer(licet, text);
      if (!yes) {
        const person = email === null ? `Customer ${id}` : `Customer ${id}, ${email},`;
        throw argumentError(`${person} would be erased for good. Confirm it with --yes.`);
      }
      await forget(licet, id);
      output.done(`Customer ${id} is forgotten.`, { id });
    });
}
