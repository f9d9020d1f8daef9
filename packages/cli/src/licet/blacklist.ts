import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { BlacklistEntry, Licet } from '@licet/client';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { CliError } from '../terminal.ts';
import { type Column, collectUpTo, examples, shortHwid, timeText } from './output.ts';
import {
  findOne,
  LIMIT_OPTION,
  type OpenSession,
  optionalProductId,
  productNames,
} from './session.ts';

const columnsOf = (nameProduct: (id: number) => string): Column<BlacklistEntry>[] => [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'KIND', text: ({ licenseDataType }) => licenseDataType },
  {
    title: 'BLOCKED',
    text: ({ data, licenseDataType }) => (licenseDataType === 'HWID' ? shortHwid(data) : data),
  },
  {
    title: 'PRODUCT',
    text: ({ productId }) => (productId === null ? 'all' : nameProduct(productId)),
    isFlexible: true,
  },
  { title: 'REASON', text: ({ reason }) => reason, isFlexible: true },
  { title: 'SINCE (UTC)', text: ({ createdAt }) => timeText(createdAt) },
];

const scopeOf = ({ productId }: BlacklistEntry): string =>
  productId === null ? 'all products' : `product ${productId}`;

/** The entries that block a value, for one product or for all. */
async function entriesOf(
  licet: Licet,
  value: string,
  productId: number | undefined,
): Promise<BlacklistEntry[]> {
  const found: BlacklistEntry[] = [];
  for await (const entry of licet.blacklists.iterate({ q: value, productId })) {
    if (entry.data === value || entry.data === value.toLowerCase()) found.push(entry);
  }
  return found;
}

/** Finds the entry with a value or an id. @throws CliError unless there is exactly one */
async function findEntry(
  licet: Licet,
  text: string,
  productId: number | undefined,
): Promise<BlacklistEntry> {
  const entry = await findOne(text, {
    what: 'entry',
    nameIs: 'value',
    async byName(value) {
      const entries = await entriesOf(licet, value, productId);
      if (entries.length < 2) return entries[0];
      const ids = entries.map(({ id }) => `id:${id}`).join(', ');
      throw new CliError(
        `Several entries block ${value}: ${ids}. Add --product, or give one of these ids.`,
      );
    },
    byId: (id) => licet.blacklists.get(id),
  });
  if (!entry) throw new CliError(`No blacklist entry has the value or the id ${text}.`);
  return entry;
}

/** `licet blacklist`: blocked addresses and hardware IDs. */
export function addBlacklist(parent: CommandUnknownOpts, open: OpenSession): void {
  const blacklist = parent
    .command('blacklist')
    .description('manage blocked addresses, ranges and hardware IDs');

  blacklist
    .command('add')
    .description('block an address, a range or a hardware ID')
    .argument('<value>', 'an address, or a range such as 192.0.2.0/24; with --hwid a hardware ID')
    .option('--hwid', 'the value is a hardware ID')
    .option('--force', 'also a hardware ID that many machines share')
    .option('--product <product>', 'only for this product, by its id or name; default: for all')
    .option('--reason <text>', 'shown in the history, never to programs', '')
    .addHelpText(
      'after',
      examples(
        'blacklist add 192.0.2.0/24 --reason "Leaked keys"',
        'blacklist add --hwid 4c4c4544-0051 --product 1',
      ),
    )
    .action(async (value, { hwid, force, product, reason }) => {
      const why = hwid && !force && sharedHwid(value);
      if (why) {
        throw new CliError(
          `Many machines share this hardware ID: ${why}. The entry would refuse them all, not one machine. To block it, add --force.`,
        );
      }
      const { licet, output } = open();
      const entry = await licet.blacklists.create({
        licenseDataType: hwid ? 'HWID' : 'IP',
        data: value,
        isForAllProducts: product === undefined,
        productId: await optionalProductId(licet, product),
        reason,
      });
      output.done(`Blocked ${entry.data} for ${scopeOf(entry)}, entry ${entry.id}.`, entry);
    });

  blacklist
    .command('list')
    .description('list all entries')
    .argument('[text]', 'only entries with this text in the value or the reason')
    .option('--product <product>', 'only entries for this product, by its id or name')
    .option(...LIMIT_OPTION)
    .addHelpText('after', examples('blacklist list', 'blacklist list 192.0.2.'))
    .action(async (q, { product, limit }) => {
      const session = open();
      const { licet, output } = session;
      const productId = await optionalProductId(licet, product);
      const pages = licet.blacklists.iterate({ q, productId });
      const entries = await collectUpTo(output, 'entries', pages, limit);
      output.list(entries, columnsOf(await productNames(session)), 'The blacklist is empty.');
    });

  blacklist
    .command('remove')
    .description('remove an entry')
    .argument('<value>', 'the whole value, or the id of its entry, such as id:5')
    .option('--product <product>', 'the entry for this product, by its id or name')
    .addHelpText('after', examples('blacklist remove 192.0.2.0/24', 'blacklist remove id:5'))
    .action(async (value, { product }) => {
      const { licet, output } = open();
      const entry = await findEntry(licet, value, await optionalProductId(licet, product));
      await licet.blacklists.delete(entry.id);
      output.done(`${entry.data} is no longer blocked for ${scopeOf(entry)}.`, entry);
    });
}
