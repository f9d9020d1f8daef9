import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { PRODUCT_TYPES } from '../../../../src/lib/enums.ts';
import type { Product } from '../../../client/src/index.ts';
import { type Column, examples, limitText, timeText } from './output.ts';
import { integerFrom, type OpenSession } from './session.ts';

const COLUMNS: Column<Product>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'NAME', text: ({ name }) => name, isFlexible: true },
  { title: 'TYPE', text: ({ productType }) => productType },
  { title: 'MAX IPS', text: ({ defaultMaxIPs }) => limitText(defaultMaxIPs) },
  { title: 'MAX HWIDS', text: ({ defaultMaxHWIDs }) => limitText(defaultMaxHWIDs) },
  { title: 'CHANGED (UTC)', text: ({ updatedDate }) => timeText(updatedDate) },
];

/** `licet products`: manage products. */
export function addProducts(parent: CommandUnknownOpts, open: OpenSession): void {
  const products = parent.command('products').description('manage products');

  products
    .command('list')
    .description('list all products')
    .argument('[text]', 'only products with this text in the name or description')
    .addHelpText('after', examples('products list', 'products list guard'))
    .action(async (q) => {
      const { licet, output } = open();
      output.list(await licet.products.list({ q }), COLUMNS, 'No products found.');
    });

  products
    .command('create')
    .description('create a product; prints its id, for your program')
    .argument('<name>', 'its name')
    .addOption(
      new Option('--type <type>', 'the kind of program')
        .choices(PRODUCT_TYPES)
        .makeOptionMandatory(),
    )
    .option('--max-ips <n>', 'addresses per license, -1 is unlimited (5)', integerFrom(-1))
    .option('--max-hwids <n>', 'hardware IDs per license, -1 is unlimited (5)', integerFrom(-1))
    .addHelpText(
      'after',
      examples('products create "Chunk Guard" --type GAME_JAVA_PLUGIN --max-ips 1'),
    )
    .action(async (name, { type, maxIps, maxHwids }) => {
      const { licet, output } = open();
      const product = await licet.products.create({
        name,
        productType: type,
        defaultMaxIPs: maxIps,
        defaultMaxHWIDs: maxHwids,
      });
      output.done(`Product "${product.name}" created. Its id:`, product, String(product.id));
    });
}
