import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { LicetError, type Purchase } from '@licet/client';
import { PURCHASE_STATES } from '@licet/contract/enums';
import { parseJson } from '@licet/contract/json';
import { purchase as purchaseSchema } from '@licet/contract/purchases';
import { CliError } from '../cli-error.ts';
import { argumentError } from '../command-line.ts';
import { type Column, examples, timeText } from './output.ts';
import { idArgument, type OpenSession } from './session.ts';

const STYLES = { GRANTED: 'green', REVOKED: 'red', UNMATCHED: 'yellow' } as const;

const COLUMNS: Column<Purchase>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'MARKET', text: ({ marketId }) => String(marketId) },
  { title: 'ITEM', text: ({ item }) => item, isFlexible: true },
  { title: 'ORDER', text: ({ order }) => order ?? '', isFlexible: true },
  {
    title: 'BUYER',
    text: ({ buyerName, buyerId }) => buyerName ?? buyerId ?? '',
    isFlexible: true,
  },
  { title: 'STATE', text: ({ state }) => state, style: ({ state }) => STYLES[state] },
  { title: 'LICENSE', text: ({ licenseId }) => String(licenseId ?? '') },
  { title: 'SINCE (UTC)', text: ({ createdAt }) => timeText(createdAt) },
  { title: 'REASON', text: ({ reason }) => reason ?? '', isFlexible: true },
];

/** The fields of a purchase that a file needs. */
const fileLine = purchaseSchema
  .pick({ marketId: true, item: true, reference: true })
  .extend(
    purchaseSchema
      .pick({ order: true, buyerId: true, buyerName: true, licenseId: true, unit: true })
      .partial().shape,
  )
  .loose();

/** The purchases in a file. @throws CliError for a line that is none, before anything is entered */
function purchasesIn(content: string) {
  return content.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const { data, error } = fileLine.safeParse(parseJson(line));
    if (data) return [{ ...data, line: index + 1 }];
    const [issue] = error.issues;
    throw argumentError(
      `Line ${index + 1}: ${issue?.path.join('.') || 'JSON'}: ${issue?.message}.`,
    );
  });
}

/** `licet purchases`: what was sold at markets. */
export function addPurchases(parent: CommandUnknownOpts, open: OpenSession): void {
  const purchases = parent.command('purchases').description('see purchases at markets');

  purchases
    .command('list')
    .description('list purchases')
    .addOption(new Option('--state <state>', 'only those in this state').choices(PURCHASE_STATES))
    .option('--market <id>', 'only those of a market', idArgument)
    .option('--find <text>', 'only those with this text in order, buyer or item')
    .addHelpText('after', examples('purchases list --state UNMATCHED'))
    .action(async ({ state, market: marketId, find: q }) => {
      const { licet, output } = open();
      output.list(await licet.purchases.list({ state, marketId, q }), COLUMNS, 'No purchases.');
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
    .argument('<file>', 'lines of JSON as purchases list --json prints them; - for standard input')
    .addHelpText('after', examples('purchases import purchases.jsonl'))
    .action(async (file) => {
      const { licet, output } = open();
      const content = file === '-' ? await text(process.stdin) : readFileSync(file, 'utf8');
      const counts = { entered: 0, known: 0, left: 0, rejected: 0 };
      for (const sent of purchasesIn(content)) {
        const { line, marketId, item, reference, order, buyerId, buyerName } = sent;
        // One that waits has no license yet, and the further licenses of a quantity belong to the first.
        if (sent.licenseId == null || (sent.unit ?? 0) > 0) {
          counts.left++;
          continue;
        }
        const { licenseId } = sent;
        const body = { marketId, item, reference, order, buyerId, buyerName, licenseId };
        try {
          await licet.purchases.create(body);
          counts.entered++;
        } catch (error) {
          if (!(error instanceof LicetError) || ![400, 409].includes(error.status)) throw error;
          if (error.status === 409 && error.message.includes('is known')) counts.known++;
          else {
            counts.rejected++;
            output.note(`Line ${line}: ${error.message}`);
          }
        }
      }
      const { entered, known, left, rejected } = counts;
      const others = `${known} known, ${left} without a license of their own, ${rejected} rejected`;
      output.done(`${entered} purchases entered; ${others}.`, counts);
      if (rejected > 0) throw new CliError('The rejected purchases were not entered.');
    });
}
