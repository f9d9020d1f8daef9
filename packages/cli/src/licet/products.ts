import {
  type Command,
  type CommandUnknownOpts,
  Option,
  type OptionValues,
} from '@commander-js/extra-typings';
import type { Product } from '@licet/client';
import { PRODUCT_TYPES } from '@licet/contract/enums';
import {
  DEFAULT_CHECK_AFTER_HOURS,
  DEFAULT_LIMIT,
  MAX_CHECK_AFTER_HOURS,
  MAX_EXPIRES_AFTER_DAYS,
  MAX_IDLE_DAYS,
  MAX_LIMIT,
  MAX_OFFLINE_DAYS,
  MAX_SELF_RESETS,
  SELF_RESET_DAYS,
} from '@licet/contract/limits';
import { argumentError } from '../command-line.ts';
import {
  ENTITLEMENT_OPTION,
  entitlementsShown,
  NO_ENTITLEMENT_OPTION,
  namedInProduct,
} from './entitlements.ts';
import { type Column, collectUpTo, examples, limitText, timeText } from './output.ts';
import {
  daysField,
  daysOrNever,
  integerFrom,
  LIMIT_OPTION,
  type OpenSession,
  productIdOf,
} from './session.ts';

const COLUMNS: Column<Product>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'NAME', text: ({ name }) => name, isFlexible: true },
  { title: 'TYPE', text: ({ productType }) => productType },
  { title: 'MAX IPS', text: ({ defaultMaxIPs }) => limitText(defaultMaxIPs) },
  { title: 'MAX HWIDS', text: ({ defaultMaxHWIDs }) => limitText(defaultMaxHWIDs) },
  { title: 'CHANGED (UTC)', text: ({ updatedDate }) => timeText(updatedDate) },
];

const daysText = (days: number | null): string => (days === null ? 'never' : `${days} d`);

const rowsOf = (product: Product): Record<string, string> => ({
  Id: String(product.id),
  Name: product.name,
  Type: product.productTypeOther || product.productType,
  Description: product.description,
  'Max addresses': limitText(product.defaultMaxIPs),
  'Max hardware IDs': limitText(product.defaultMaxHWIDs),
  'Leases last': `${product.offlineDays} d`,
  'Programs ask again': `after ${product.checkAfterHours} h`,
  'Licenses expire': product.defaultExpiresAfterDays
    ? `${product.defaultExpiresAfterDays} d from first use`
    : 'never',
  'Idle addresses': daysText(product.ipIdleDays),
  'Idle hardware IDs': daysText(product.hwidIdleDays),
  'Self-resets': `${product.selfResets} in ${SELF_RESET_DAYS} d`,
  'Self-rotation': product.selfRotate ? 'yes' : 'no',
  Entitlements: entitlementsShown(product.entitlements),
  Created: `${timeText(product.createdDate)} (UTC)`,
  Changed: `${timeText(product.updatedDate)} (UTC)`,
});

const PRODUCT = ['<product>', 'its id or its name'] as const;

const typeOption = () => new Option('--type <type>', 'the kind of program').choices(PRODUCT_TYPES);

/** Adds the options that `create` and `edit` share. */
const withFields = <Args extends unknown[], Opts extends OptionValues, Global extends OptionValues>(
  command: Command<Args, Opts, Global>,
) =>
  command
    .option('--description <text>', 'free text')
    .option(
      '--max-ips <n>',
      `addresses of a license without its own limit, -1 is unlimited; ${DEFAULT_LIMIT} unless set`,
      integerFrom(-1, MAX_LIMIT),
    )
    .option('--max-hwids <n>', 'hardware IDs, likewise', integerFrom(-1, MAX_LIMIT))
    .option(
      '--offline-days <n>',
      `days that a lease lets a program run without the network, up to ${MAX_OFFLINE_DAYS}; 0 unless set`,
      integerFrom(0, MAX_OFFLINE_DAYS),
    )
    .option(
      '--check-after <hours>',
      `hours after which a running program asks again, up to ${MAX_CHECK_AFTER_HOURS}; ${DEFAULT_CHECK_AFTER_HOURS} unless set`,
      integerFrom(1, MAX_CHECK_AFTER_HOURS),
    )
    .option(
      '--expires-after-days <n>',
      'days from first use, of TEMPORARY licenses that are created without an expiry; "never" unless set',
      daysOrNever(MAX_EXPIRES_AFTER_DAYS),
    )
    .option(
      '--ip-idle-days <n>',
      `days without a request after which a new address takes the slot, up to ${MAX_IDLE_DAYS}; or never`,
      daysOrNever(MAX_IDLE_DAYS),
    )
    .option('--hwid-idle-days <n>', 'for hardware IDs, likewise', daysOrNever(MAX_IDLE_DAYS))
    .option(
      '--self-resets <n>',
      `how often in ${SELF_RESET_DAYS} days the customer may free slots or move the program, up to ${MAX_SELF_RESETS}; 0 unless set`,
      integerFrom(0, MAX_SELF_RESETS),
    )
    .addOption(
      new Option(
        '--self-rotate <choice>',
        'whether the customer may replace a leaked key, once a day; no unless set',
      ).choices(['yes', 'no'] as const),
    )
    .option(...ENTITLEMENT_OPTION)
    .option(...NO_ENTITLEMENT_OPTION);

interface FieldOptions {
  description?: string | undefined;
  maxIps?: number | undefined;
  maxHwids?: number | undefined;
  offlineDays?: number | undefined;
  checkAfter?: number | undefined;
  expiresAfterDays?: number | 'never' | undefined;
  ipIdleDays?: number | 'never' | undefined;
  hwidIdleDays?: number | 'never' | undefined;
  selfResets?: number | undefined;
  selfRotate?: 'yes' | 'no' | undefined;
}

const fieldsOf = (options: FieldOptions) => ({
  description: options.description,
  defaultMaxIPs: options.maxIps,
  defaultMaxHWIDs: options.maxHwids,
  offlineDays: options.offlineDays,
  checkAfterHours: options.checkAfter,
  defaultExpiresAfterDays: daysField(options.expiresAfterDays),
  ipIdleDays: daysField(options.ipIdleDays),
  hwidIdleDays: daysField(options.hwidIdleDays),
  selfResets: options.selfResets,
  selfRotate: options.selfRotate && options.selfRotate === 'yes',
});

/** `licet products`: manage products. */
export function addProducts(parent: CommandUnknownOpts, open: OpenSession): void {
  const products = parent.command('products').description('manage products');

  products
    .command('list')
    .description('list all products')
    .argument('[text]', 'only products with this text in the name or description')
    .option(...LIMIT_OPTION)
    .addHelpText('after', examples('products list', 'products list guard'))
    .action(async (q, { limit }) => {
      const { licet, output } = open();
      const listed = await collectUpTo(output, 'products', licet.products.iterate({ q }), limit);
      output.list(listed, COLUMNS, 'No products found.');
    });

  products
    .command('show')
    .description('show all fields of a product')
    .argument(...PRODUCT)
    .addHelpText('after', examples('products show 1', 'products show "Chunk Guard"'))
    .action(async (text) => {
      const { licet, output } = open();
      const product = await licet.products.get(await productIdOf(licet, text));
      output.object(product, rowsOf(product));
    });

  withFields(products.command('create'))
    .description('create a product; prints its id, for your program')
    .argument('<name>', 'its name')
    .addOption(typeOption().makeOptionMandatory())
    .addHelpText(
      'after',
      examples('products create "Chunk Guard" --type GAME_JAVA_PLUGIN --max-ips 1'),
    )
    .action(async (name, { type, ...options }) => {
      const { licet, output } = open();
      const product = await licet.products.create({
        name,
        productType: type,
        ...fieldsOf(options),
        entitlements: options.entitlement && namedInProduct({}, options.entitlement),
      });
      output.done(`Product "${product.name}" created. Its id:`, product, String(product.id));
    });

  withFields(products.command('edit'))
    .description('change a product; its licenses keep their limits')
    .argument(...PRODUCT)
    .option('--name <name>', 'its new name')
    .addOption(typeOption())
    .addHelpText(
      'after',
      examples(
        'products edit 1 --name "Chunk Guard 2" --max-ips 3',
        'products edit 1 --entitlement edition=silver --no-entitlement trial',
      ),
    )
    .action(async (text, options) => {
      if (Object.keys(options).length === 0) throw argumentError('Nothing to change.');
      const { licet, output } = open();
      const { name, type, entitlement } = options;
      const id = await productIdOf(licet, text);
      const changes = { name, productType: type, ...fieldsOf(options) };
      const product = await (entitlement === undefined
        ? licet.products.update(id, changes)
        : licet.products.change(id, ({ entitlements }) => ({
            ...changes,
            entitlements: namedInProduct(entitlements, entitlement),
          })));
      output.done(`Product ${product.id} "${product.name}" is changed.`, product);
    });

  products
    .command('delete')
    .description('delete a product for good; delete its licenses first')
    .argument(...PRODUCT)
    .option(
      '--even-if-sold',
      'delete it even if a market sells it: the next purchases wait for another product',
    )
    .addHelpText('after', examples('products delete 1', 'products delete "Chunk Guard"'))
    .action(async (text, { evenIfSold }) => {
      const { licet, output } = open();
      const product = await licet.products.get(await productIdOf(licet, text));
      await licet.products.delete(product.id, { evenIfSold });
      output.done(`Product ${product.id} "${product.name}" is deleted.`, product);
    });
}
