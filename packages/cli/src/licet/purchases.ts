import { createReadStream, statSync } from 'node:fs';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { type Licet, LicetError, type Purchase } from '@licet/client';
import { PURCHASE_STATES } from '@licet/contract/enums';
import { CliError } from '../cli-error.ts';
import { argumentError } from '../command-line.ts';
import { collect, MAP_HELP, SET_HELP, wantedOf } from '../import/options.ts';
import { fileAt } from '../invocation.ts';
import { type Column, examples, timeText } from './output.ts';
import { purchasesIn } from './purchase-file.ts';
import { idArgument, type OpenSession } from './session.ts';

const STYLES = { GRANTED: 'green', REVOKED: 'red', UNMATCHED: 'yellow' } as const;

const stateOf = ({ state, isIgnored }: Purchase): string => (isIgnored ? 'IGNORED' : state);
const styleOf = ({ state, isIgnored }: Purchase) => (isIgnored ? 'dim' : STYLES[state]);
const amountOf = ({ amount, currency }: Purchase): string =>
  [amount, currency].filter((one) => one !== null).join(' ');
const buyerOf = ({ buyerName, email, buyerId }: Purchase): string =>
  buyerName ?? email ?? buyerId ?? '';

const COLUMNS: Column<Purchase>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'MARKET', text: ({ marketId, marketName }) => marketName ?? String(marketId) },
  { title: 'ITEM', text: ({ item }) => item, isFlexible: true },
  { title: 'ORDER', text: ({ order }) => order ?? '', isFlexible: true },
  { title: 'BUYER', text: buyerOf, isFlexible: true },
  { title: 'AMOUNT', text: amountOf },
  { title: 'STATE', text: stateOf, style: styleOf },
  { title: 'LICENSE', text: ({ licenseId }) => String(licenseId ?? '') },
  { title: 'SINCE (UTC)', text: ({ createdAt }) => timeText(createdAt) },
  { title: 'REASON', text: ({ reason }) => reason ?? '', isFlexible: true },
];

/** The fields of a purchase, for people. */
const fieldsOf = (purchase: Purchase): Record<string, string> => ({
  ID: String(purchase.id),
  Market: purchase.marketName ?? `${purchase.marketId}, deleted`,
  Item: purchase.item,
  Order: purchase.order ?? purchase.reference,
  Buyer: [purchase.buyerName, purchase.buyerId].filter((one) => one !== null).join(' · '),
  'E-mail': purchase.email ?? '',
  Amount: amountOf(purchase),
  Quantity: purchase.quantity > 1 ? String(purchase.quantity) : '',
  State: stateOf(purchase),
  Reason: purchase.reason ?? '',
  License:
    purchase.licenseId === null
      ? ''
      : `${purchase.licenseId} · ${purchase.licenseKey ?? 'deleted'}`,
  Product: purchase.productName ?? '',
  Customer: String(purchase.customerId ?? ''),
  Test: purchase.isTest ? 'yes' : '',
  'Since (UTC)': timeText(purchase.createdAt),
  'Revoked (UTC)': purchase.revokedAt === null ? '' : timeText(purchase.revokedAt),
});

/** The bytes of a file. @throws CliError if it does not exist */
function opened(name: string): AsyncIterable<Uint8Array> {
  const file = fileAt(name);
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return createReadStream(file);
  throw argumentError(`The file ${file} does not exist.`);
}

/** The license with a key. A list of a market has keys, and no ids. */
async function idOfKey(licet: Licet, key: string | null | undefined): Promise<number | undefined> {
  return key == null ? undefined : (await licet.licenses.findByKey(key)).id;
}

/** `licet purchases`: what was sold at markets. */
export function addPurchases(parent: CommandUnknownOpts, open: OpenSession): void {
  const purchases = parent.command('purchases').description('manage purchases at markets');

  purchases
    .command('list')
    .description('list purchases, newest last')
    .addOption(new Option('--state <state>', 'only those in this state').choices(PURCHASE_STATES))
    .option('--market <id>', 'only those of a market', idArgument)
    .option('--license <id>', 'only those of a license', idArgument)
    .option('--customer <id>', 'only those of a customer', idArgument)
    .option('--find <text>', 'only those with this text in order, buyer, e-mail, payment or item')
    .addOption(new Option('--ignored', 'only those that are ignored').conflicts('waiting'))
    .option('--waiting', 'only those that wait for a product, without ignored ones')
    .addHelpText('after', examples('purchases list --waiting', 'purchases list --find ada@'))
    .action(async ({ state, ignored, waiting, ...given }) => {
      const { licet, output } = open();
      const { market: marketId, license: licenseId, customer: customerId, find: q } = given;
      const isIgnored = ignored ?? (waiting ? false : undefined);
      const filter = { state: waiting ? ('UNMATCHED' as const) : state, isIgnored };
      const query = { ...filter, marketId, licenseId, customerId, q };
      output.list(await licet.purchases.list(query), COLUMNS, 'No purchases.');
    });

  purchases
    .command('show')
    .description('show a purchase with its buyer, its amount and its license')
    .argument('<id>', 'its id, as purchases list shows it', idArgument)
    .addHelpText('after', examples('purchases show 12'))
    .action(async (id) => {
      const { licet, output } = open();
      const purchase = await licet.purchases.get(id);
      output.object(purchase, fieldsOf(purchase));
    });

  purchases
    .command('ignore')
    .description('keep a purchase without a license, and without another alert')
    .argument('<id>', 'its id, as purchases list shows it', idArgument)
    .option('--undo', 'let it wait for a product again')
    .addHelpText('after', examples('purchases ignore 12', 'purchases ignore 12 --undo'))
    .action(async (id, { undo = false }) => {
      const { licet, output } = open();
      const purchase = await licet.purchases.ignore(id, { isIgnored: !undo });
      const message = undo ? 'waits for a product again' : 'is ignored';
      output.done(`Purchase ${id} ${message}.`, purchase);
    });

  purchases
    .command('grant')
    .description('give a purchase its license: a new one of a product, or an existing one')
    .argument('<id>', 'its id, as purchases list shows it', idArgument)
    .addOption(
      new Option('--product <id>', 'the product of a new license')
        .argParser(idArgument)
        .conflicts('license'),
    )
    .option('--license <id>', 'an existing license', idArgument)
    .addHelpText('after', examples('purchases grant 12 --product 1'))
    .action(async (id, { product: productId, license: licenseId }) => {
      const { licet, output } = open();
      const purchase = await licet.purchases.grant(id, { productId, licenseId });
      output.done(`Purchase ${id} has license ${purchase.licenseId}.`, purchase);
    });

  purchases
    .command('add')
    .description('enter a purchase from before, for staff or a gift, with its license')
    .argument('<market>', 'the id of the market', idArgument)
    .argument('<item>', 'the id of the product at the market')
    .argument('<reference>', 'the id of the buyer at BuiltByBit or Voxel Shop, else the order line')
    .argument('<license>', 'the id of the license', idArgument)
    .option('--order <id>', 'the id of the order, by which a refund finds the purchase')
    .addHelpText('after', examples('purchases add 1 62494 540773 7341'))
    .action(async (marketId, item, reference, licenseId, { order }) => {
      const { licet, output } = open();
      const body = { marketId, item, reference, order, buyerId: reference, licenseId };
      const purchase = await licet.purchases.create(body);
      output.done(`Purchase ${purchase.id} has license ${licenseId}.`, purchase);
    });

  purchases
    .command('import')
    .description('enter the purchases of a file; those that are known stay as they are')
    .argument(
      '<file>',
      'a CSV file, a JSON list, or lines of JSON as purchases list --json prints them; - for standard input',
    )
    .option('--map <heading=field>', MAP_HELP, collect)
    .option('--set <field=value>', SET_HELP, collect)
    .addHelpText('after', examples('purchases import purchases.jsonl'))
    .action(async (file, { map, set }) => {
      const { licet, output } = open();
      const wanted = wantedOf(map, set);
      const chunks = file === '-' ? process.stdin : opened(file);
      const counts = { entered: 0, known: 0, left: 0, rejected: 0 };
      const reject = (where: string, reason: string): void => {
        counts.rejected++;
        output.note(`${where}: ${reason}`);
      };
      for (const sent of await purchasesIn(chunks, wanted)) {
        const { where, problem, marketId, item, reference, order, buyerId, buyerName } = sent;
        if (problem !== undefined) {
          reject(where, problem);
          continue;
        }
        if (sent.over !== undefined) {
          counts.left++;
          output.note(`${where}: state ${JSON.stringify(sent.over)}: it is not entered`);
          continue;
        }
        try {
          const licenseId = sent.licenseId ?? (await idOfKey(licet, sent.licenseKey));
          // One that waits has no license yet, and the further licenses of a quantity belong to the first.
          if (licenseId === undefined || (sent.unit ?? 0) > 0) {
            counts.left++;
            continue;
          }
          const body = { marketId, item, reference, order, buyerId, buyerName, licenseId };
          await licet.purchases.create(body);
          counts.entered++;
        } catch (error) {
          if (!(error instanceof LicetError) || ![400, 404, 409].includes(error.status))
            throw error;
          if (error.status === 409 && error.message.includes('is known')) counts.known++;
          else reject(where, error.message);
        }
      }
      const { entered, known, left, rejected } = counts;
      const summary = `Purchases: ${entered} entered, ${known} known, ${left} refunded or without a license of their own, ${rejected} rejected.`;
      if (rejected === 0 || output.isJson) output.done(summary, counts);
      else output.note(summary);
      if (rejected > 0) {
        const were = rejected === 1 ? 'purchase was' : 'purchases were';
        throw new CliError(
          `${rejected} ${were} rejected; see the reasons above. Correct them, and run the command again.`,
        );
      }
    });
}
