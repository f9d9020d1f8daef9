import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Market, MarketDelivery } from '@licet/client';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import {
  DISPUTE_ACTIONS,
  LICENSE_TYPES,
  MARKET_KINDS,
  type MarketState,
  type NoticeEffect,
  QUANTITY_MEANINGS,
  REFUND_ACTIONS,
} from '@licet/contract/enums';
import { MAX_PAGE_DELIVERIES } from '@licet/contract/limits';
import { argumentError } from '../command-line.ts';
import { ENTITLEMENT_OPTION, namedInProduct } from './entitlements.ts';
import { type Column, examples, firstOf, timeText } from './output.ts';
import { idArgument, integerFrom, type OpenSession } from './session.ts';

const DEFAULT_SHOWN = 20;

const STATES = {
  OFF: ['off', 'dim'],
  NEEDS_SECRET: ['needs a secret', 'yellow'],
  FAILING: ['failing', 'red'],
  NEEDS_PRODUCT: ['needs a product', 'yellow'],
  WAITING: ['waits for its first request', 'dim'],
  WORKS: ['works', 'green'],
} as const satisfies Record<MarketState, readonly [string, string]>;

const COLUMNS: Column<Market>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'KIND', text: ({ kind }) => kind },
  { title: 'NAME', text: ({ name }) => name, isFlexible: true },
  {
    title: 'STATE',
    text: ({ state }) => STATES[state][0],
    style: ({ state }) => STATES[state][1],
  },
  { title: 'PRODUCTS', text: ({ products }) => String(products.length) },
  { title: 'SALES (30 d)', text: ({ sales }) => String(sales) },
  {
    title: 'LAST SALE (UTC)',
    text: ({ lastSaleAt }) => (lastSaleAt === null ? '' : timeText(lastSaleAt)),
  },
  { title: 'ADDRESS', text: ({ addresses }) => addresses[0] ?? '', isFlexible: true },
];

const EFFECTS: Readonly<Record<NoticeEffect, string>> = {
  CHANGED: 'changed',
  NOTHING: 'nothing to do',
  NEEDS_PERSON: 'needs you',
};
const DELIVERY_COLUMNS: Column<MarketDelivery>[] = [
  { title: 'TIME (UTC)', text: ({ time }) => timeText(time) },
  { title: 'EVENT', text: ({ type }) => type ?? '' },
  {
    title: 'STATUS',
    text: ({ status }) => String(status),
    style: ({ status }) => (status < 400 ? 'green' : 'red'),
  },
  {
    title: 'EFFECT',
    text: ({ effect }) => (effect === null ? '' : EFFECTS[effect]),
    style: ({ effect }) => (effect === 'NEEDS_PERSON' ? 'yellow' : 'dim'),
  },
  { title: 'RESULT', text: ({ result }) => result, isFlexible: true },
];

/** The lines of a file, or of standard input: secrets do not stand in the history of a shell. */
async function readSecrets(file: string): Promise<string[]> {
  const content = file === '-' ? await text(process.stdin) : readFileSync(file, 'utf8');
  return content.split('\n').flatMap((line) => line.trim() || []);
}

const SECRETS_OPTION = [
  '--secrets <file>',
  'a file with the secrets of the market, one a line; - for standard input',
] as const;
const TOKEN_OPTION = [
  '--api-token <file>',
  'a file with an API token of the market, which finds refunds or the lines of a Stripe session; - for standard input',
] as const;
const SETTINGS_OPTION = [
  '--settings <file>',
  'a file with the settings of a shop without a preset, as JSON; - for standard input',
] as const;

/** Settings from a file. The service checks them. */
async function readSettings(file: string): Promise<Market['settings']> {
  const content = file === '-' ? await text(process.stdin) : readFileSync(file, 'utf8');
  try {
    return JSON.parse(content);
  } catch (error) {
    throw argumentError(`${file} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

const refundOption = () =>
  new Option('--on-refund <action>', 'the effect of a refund in full').choices(REFUND_ACTIONS);
const disputeOption = () =>
  new Option('--on-dispute <action>', 'the effect of a dispute').choices(DISPUTE_ACTIONS);

/** `licet markets`: the shops that sell keys. */
export function addMarkets(parent: CommandUnknownOpts, open: OpenSession): void {
  const markets = parent
    .command('markets')
    .description('manage markets, whose purchases make licenses');

  markets
    .command('create')
    .description('add a market; prints the address to paste into it, which is a secret')
    .argument('<kind>', `one of ${MARKET_KINDS.join(', ')}`)
    .argument('<name>', 'its name, for people')
    .option(...SECRETS_OPTION)
    .addOption(
      new Option('--preset <shop>', 'the shop of a dynamic market').choices(
        Object.keys(DYNAMIC_PRESETS),
      ),
    )
    .option(...SETTINGS_OPTION)
    .addOption(refundOption())
    .addOption(disputeOption())
    .addHelpText(
      'after',
      examples(
        'markets create builtbybit BuiltByBit --secrets secret.txt',
        'markets create dynamic SellAuth --preset sellauth --secrets -',
        'markets create dynamic Shop --settings shop.json --secrets secret.txt',
      ),
    )
    .action(async (sentKind, name, { secrets, preset, settings: file, onRefund, onDispute }) => {
      const kind = MARKET_KINDS.find((known) => known === sentKind);
      if (!kind) throw argumentError(`${sentKind}: use one of ${MARKET_KINDS.join(', ')}.`);
      const { licet, output } = open();
      const settings =
        file === undefined
          ? Object.entries(DYNAMIC_PRESETS).find(([shop]) => shop === preset)?.[1].settings
          : await readSettings(file);
      const sent = secrets === undefined ? [] : await readSecrets(secrets);
      const market = await licet.markets.create({
        kind,
        name,
        secrets: sent,
        settings,
        onRefund,
        onDispute,
      });
      const message = `Market ${market.id} created. Paste this address into it:`;
      output.done(message, market, market.addresses[0]);
      output.warnUnlessPublic(market);
    });

  markets
    .command('list')
    .description('list all markets')
    .addHelpText('after', examples('markets list'))
    .action(async () => {
      const { licet, output } = open();
      const all = await licet.markets.list();
      output.list(all, COLUMNS, 'No markets.');
      output.warnUnlessPublic({ isPublic: all.every(({ isPublic }) => isPublic) });
    });

  markets
    .command('edit')
    .description('change a market')
    .argument('<id>', 'its id, as markets list shows it', idArgument)
    .option('--name <text>', 'another name')
    .option(...SECRETS_OPTION)
    .option(...TOKEN_OPTION)
    .option(...SETTINGS_OPTION)
    .addOption(refundOption())
    .addOption(disputeOption())
    .addOption(new Option('--on', 'accept its requests').conflicts('off'))
    .option('--off', 'reject its requests')
    .addHelpText('after', examples('markets edit 1 --secrets secret.txt', 'markets edit 1 --off'))
    .action(async (id, { on, off, secrets, apiToken, settings, ...values }) => {
      const enabled = on || off ? on === true : undefined;
      const changes = Object.entries({ ...values, enabled }).filter(([, value]) => value != null);
      const isEmpty = [secrets, apiToken, settings].every((file) => file === undefined);
      if (changes.length === 0 && isEmpty) {
        throw argumentError('Give at least one option to change.');
      }
      const { licet, output } = open();
      const sent = {
        ...(secrets !== undefined && { secrets: await readSecrets(secrets) }),
        ...(apiToken !== undefined && { apiToken: (await readSecrets(apiToken))[0] ?? null }),
        ...(settings !== undefined && { settings: await readSettings(settings) }),
      };
      const market = await licet.markets.update(id, { ...Object.fromEntries(changes), ...sent });
      output.done(`Market ${id} is changed.`, market);
    });

  markets
    .command('map')
    .description('choose the product of a product of the market')
    .argument('<id>', 'the id of the market', idArgument)
    .argument('<item>', 'the id of the product at the market')
    .argument('<product>', 'the id of the product here', idArgument)
    .addOption(new Option('--type <type>', 'the type of the licenses').choices(LICENSE_TYPES))
    .option('--days <n>', 'for TEMPORARY: the days from the first use', integerFrom(1))
    .option('--ips <n>', 'the limit of addresses; -1 for none', integerFrom(-1))
    .option('--hwids <n>', 'the limit of hardware IDs; -1 for none', integerFrom(-1))
    .addOption(
      new Option(
        '--quantity <meaning>',
        'what a quantity above one makes: one license each, or one with larger limits',
      ).choices(QUANTITY_MEANINGS),
    )
    .option(...ENTITLEMENT_OPTION)
    .addHelpText(
      'after',
      examples(
        'markets map 1 62494 1',
        'markets map 1 62494 1 --ips 2',
        'markets map 1 62495 1 --entitlement edition=gold',
      ),
    )
    .action(async (id, item, productId, { type, days, ips, hwids, quantity, entitlement }) => {
      const { licet, output } = open();
      const market = await licet.markets.change(id, ({ products }) => ({
        products: [
          ...products.filter((one) => one.item !== item),
          {
            item,
            productId,
            licenseType: type,
            expiresAfterDays: days,
            maxIPs: ips,
            maxHWIDs: hwids,
            quantity,
            entitlements: entitlement && namedInProduct({}, entitlement),
          },
        ],
      }));
      output.done(`Product ${item} of market ${id} is product ${productId}.`, market);
    });

  markets
    .command('unmap')
    .description('remove a product of the market: its purchases wait for a product')
    .argument('<id>', 'the id of the market', idArgument)
    .argument('<item>', 'the id of the product at the market')
    .addHelpText('after', examples('markets unmap 1 62494'))
    .action(async (id, item) => {
      const { licet, output } = open();
      const market = await licet.markets.change(id, ({ products }) => ({
        products: products.filter((one) => one.item !== item),
      }));
      output.done(`Product ${item} of market ${id} is removed.`, market);
    });

  markets
    .command('deliveries')
    .description(
      'list what arrived in 30 days, newest last, each with its effect or why it was rejected',
    )
    .argument('<id>', 'its id', idArgument)
    .option('--limit <n>', `the newest n (${DEFAULT_SHOWN})`, integerFrom(1), DEFAULT_SHOWN)
    .addHelpText('after', examples('markets deliveries 1'))
    .action(async (id, { limit }) => {
      const { licet, output } = open();
      const pages = licet.markets
        .deliveries(id)
        .iterate({ limit: Math.min(limit + 1, MAX_PAGE_DELIVERIES) });
      const { first, hasMore } = await firstOf(pages, limit);
      if (hasMore) output.note(`There are more than ${limit} requests. Raise --limit to see them.`);
      output.list(first.reverse(), DELIVERY_COLUMNS, 'Nothing has arrived.');
    });

  markets
    .command('delete')
    .description('delete a market; its purchases and their licenses stay')
    .argument('<id>', 'its id', idArgument)
    .addHelpText('after', examples('markets delete 1'))
    .action(async (id) => {
      const { licet, output } = open();
      const market = await licet.markets.get(id);
      await licet.markets.delete(id);
      output.done(`Market ${id} (${market.name}) is deleted.`, market);
    });
}
