import {
  type Command,
  type CommandUnknownOpts,
  InvalidArgumentError,
  Option,
  type OptionValues,
} from '@commander-js/extra-typings';
import {
  type License,
  type LicensePlatform,
  type Licet,
  LicetError,
  type Product,
  type Slot,
} from '@licet/client';
import { countTaken } from '@licet/contract/addresses';
import { DAY_MS } from '@licet/contract/durations';
import { LICENSE_PLATFORMS, LICENSE_STATUSES } from '@licet/contract/enums';
import {
  MAX_BATCH_LICENSES,
  MAX_DORMANT_DAYS,
  MAX_EXPIRES_AFTER_DAYS,
} from '@licet/contract/limits';
import { toTimestamp } from '@licet/contract/time';
import { clockTime, dayUntil } from '@licet/contract/time-zone';
import { argumentError } from '../command-line.ts';
import { csvFile } from '../csv.ts';
import { entitlementsText } from '../entitlements.ts';
import { CliError } from '../terminal.ts';
import { stripControlCharacters } from '../text.ts';
import {
  END_OPTION,
  ENTITLEMENT_FILTER,
  ENTITLEMENT_OPTION,
  entitlementRows,
  NO_ENTITLEMENT_OPTION,
  namedInLicense,
} from './entitlements.ts';
import {
  type Column,
  collectUpTo,
  counted,
  examples,
  firstOf,
  limitText,
  markShared,
  statusStyle,
  timeText,
} from './output.ts';
import {
  EXPIRES_OPTION,
  expiryField,
  findOne,
  integerFrom,
  LIMIT_OPTION,
  METADATA_FILTER,
  METADATA_OPTION,
  metadataText,
  type OpenSession,
  optionalPlatform,
  optionalProductId,
  orUndefined,
  platformLabels,
  productIdOf,
  productNames,
  productsNamed,
  type Session,
  searchArgument,
  shownTimeZone,
} from './session.ts';

const DEFAULT_FOUND = 50;

/** When a license expires, with a date in a given form. */
function expiryOf(
  { expiryDate, expiresAfterDays }: License,
  show: (time: number) => string,
): string {
  if (expiryDate) return show(Date.parse(expiryDate));
  return expiresAfterDays ? `${expiresAfterDays} d from first use` : 'never';
}

const expiryWithTime = (license: License, timeZone: string): string =>
  expiryOf(license, (time) => `${clockTime(time, timeZone)} (${timeZone})`);

const ownerOf = ({ customer, ownerChatUsername, ownerChatId, ownerPlatformId }: License): string =>
  customer?.email || ownerChatUsername || ownerChatId || ownerPlatformId;

type NameProduct = (id: number) => string;

/** Prints licenses as a table. */
export async function listLicenses(
  session: Session,
  licenses: readonly License[],
  note: string,
): Promise<void> {
  const columns = columnsOf(await productNames(session), await shownTimeZone(session));
  session.output.list(licenses, columns, note);
}

const columnsOf = (nameProduct: NameProduct, timeZone: string): Column<License>[] => [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'KEY', text: ({ licenseKey }) => licenseKey },
  {
    title: 'STATUS',
    text: ({ licenseStatus }) => licenseStatus,
    style: ({ licenseStatus }) => statusStyle(licenseStatus),
  },
  {
    title: `EXPIRES (${timeZone})`,
    text: (license) => expiryOf(license, (time) => dayUntil(time, timeZone)),
  },
  { title: 'IPS', text: ({ ips, maxIPs }) => `${countTaken(ips)}/${limitText(maxIPs)}` },
  { title: 'HWIDS', text: ({ hwids, maxHWIDs }) => `${hwids.length}/${limitText(maxHWIDs)}` },
  { title: 'OWNER', text: ownerOf, isFlexible: true },
  { title: 'PRODUCT', text: ({ productId }) => nameProduct(productId), isFlexible: true },
  { title: 'NOTES', text: ({ notes }) => notes, isFlexible: true },
];

const SLOT_COLUMNS: Column<Slot>[] = [
  { title: 'TYPE', text: ({ type }) => type },
  {
    title: 'VALUE',
    text: ({ type, value }) => (type === 'HWID' ? markShared(value) : value),
    isFlexible: true,
  },
  { title: 'LAST USED', text: ({ lastUsed }) => timeText(lastUsed) },
  { title: 'IDLE FROM', text: ({ idleDate }) => (idleDate ? timeText(idleDate) : 'never') },
];

const boundText = (values: readonly string[], limit: number, count = values.length): string =>
  `${count} of ${limitText(limit)}${values.length > 0 ? ': ' : ''}${values.join(', ')}`;

const CSV_FIELDS = [
  'licenseKey',
  'id',
  'productId',
  'licenseType',
  'expiryDate',
  'expiresAfterDays',
  'maxIPs',
  'maxHWIDs',
  'notes',
] as const;

const csvRowOf = (license: License) =>
  CSV_FIELDS.map((name) => {
    const value = license[name];
    return typeof value === 'string' ? stripControlCharacters(value) : value;
  });

const fieldsOf = (
  license: License,
  nameProduct: NameProduct,
  label: (name: LicensePlatform) => string,
  timeZone: string,
): Record<string, string> => ({
  Id: String(license.id),
  Key: license.licenseKey,
  Product: nameProduct(license.productId),
  Status: license.licenseStatus,
  Expires: expiryWithTime(license, timeZone),
  Addresses: boundText(license.ips, license.maxIPs, countTaken(license.ips)),
  'Hardware IDs': boundText(
    license.hwids.map((hwid) => markShared(hwid)),
    license.maxHWIDs,
  ),
  Validations: String(license.totalRequests),
  Owner: ownerOf(license),
  Customer: license.customer
    ? [license.customer.id, license.customer.email].join(' ').trimEnd()
    : '',
  Platform: [license.licensePlatform && label(license.licensePlatform), license.ownerPlatformId]
    .filter(Boolean)
    .join(' '),
  Created: `${timeText(license.createdDate)} (UTC)`,
  Notes: license.notes,
  Metadata: metadataText(license.metadata),
  ...entitlementRows(license, timeZone),
});

/** Whether a text can be a key in a path. Dots alone would change the path. */
const canBeKey = (text: string): boolean => !/^\.{0,2}$/.test(text);

function licenseArgument(text: string): string {
  if (canBeKey(text)) return text;
  throw new InvalidArgumentError('Give a key or an id.');
}

/** Finds the license with a key or an id. @throws CliError unless there is exactly one */
async function findLicense(licet: Licet, text: string): Promise<License> {
  const license = await findOne(text, {
    what: 'license',
    nameIs: 'key',
    byName: (key) => orUndefined(licet.licenses.findByKey(key)),
    byId: (id) => licet.licenses.get(id),
  });
  if (!license)
    throw new CliError(
      `No license has the key or the id ${text}. Find the license with licenses find, also by a replaced key.`,
    );
  return license;
}

/** The products with a name; none for a token that may read none. */
async function readableProducts(licet: Licet, name: string): Promise<Product[]> {
  try {
    return await productsNamed(licet, name);
  } catch (error) {
    if (error instanceof LicetError && error.status === 403) return [];
    throw error;
  }
}

async function* matching(licet: Licet, text: string): AsyncGenerator<License> {
  const exact = canBeKey(text) ? await orUndefined(licet.licenses.findByKey(text)) : undefined;
  if (exact) yield exact;
  yield* licet.licenses.iterate({ q: text });
  for (const { id } of await readableProducts(licet, text)) {
    yield* licet.licenses.iterate({ productId: id });
  }
}

/**
 * Finds licenses by key, by text in a field of a license or its customer, and by the whole name of the product; each
 * once.
 */
async function* found(licet: Licet, text: string): AsyncGenerator<License> {
  const ids = new Set<number>();
  for await (const license of matching(licet, text)) {
    if (!ids.has(license.id)) yield license;
    ids.add(license.id);
  }
}

const KEY = ['<license>', 'its key or id; id:50 if 50 may also be a key', licenseArgument] as const;

function rejectStatus(): never {
  throw new InvalidArgumentError(
    'EXPIRED follows from the expiry date: licenses extend. For the others: licenses activate, deactivate or delete.',
  );
}

/** Adds the options that `create` and `edit` share. */
const withFields = <Args extends unknown[], Opts extends OptionValues, Global extends OptionValues>(
  command: Command<Args, Opts, Global>,
) =>
  command
    .option(...EXPIRES_OPTION)
    .option(
      '--expires-after-days <n>',
      'instead of a date: days from its first valid validation',
      integerFrom(1, MAX_EXPIRES_AFTER_DAYS),
    )
    .option('--max-ips <n>', 'number of addresses, -1 is unlimited', integerFrom(-1))
    .option('--max-hwids <n>', 'number of hardware IDs, likewise', integerFrom(-1))
    .option('--email <email>', 'the e-mail of its customer; a new e-mail creates a customer')
    .option('--customer <id>', 'its customer, by the id', integerFrom(1))
    .option('--chat-id <id>', 'the Discord id of its owner')
    .addOption(
      new Option('--platform <platform>', 'the platform where it was bought, or its label')
        .choices(LICENSE_PLATFORMS)
        .argParser(String),
    )
    .addOption(new Option('--status <status>').argParser(rejectStatus).hideHelp())
    .option('--platform-id <id>', 'the id of its owner there')
    .option('--notes <text>', 'free text')
    .option(...METADATA_OPTION)
    .option(...ENTITLEMENT_OPTION)
    .option(...NO_ENTITLEMENT_OPTION)
    .option(...END_OPTION);

interface FieldOptions {
  maxIps?: number | undefined;
  maxHwids?: number | undefined;
  email?: string | undefined;
  customer?: number | undefined;
  chatId?: string | undefined;
  platform?: string | undefined;
  platformId?: string | undefined;
  notes?: string | undefined;
}

const fieldsOfOptions = async (licet: Licet, options: FieldOptions) => ({
  maxIPs: options.maxIps,
  maxHWIDs: options.maxHwids,
  // In a PUT, null removes the customer.
  customerEmail: options.email === '' ? null : options.email,
  customerId: options.customer,
  ownerChatId: options.chatId,
  licensePlatform: await optionalPlatform(licet, options.platform),
  ownerPlatformId: options.platformId,
  notes: options.notes,
});

interface ExpiryOptions {
  expires?: string | undefined;
  expiresAfterDays?: number | undefined;
}

/** The fields of the expiry that the options give; undefined if they give none. */
async function expiryFields(licet: Licet, { expires, expiresAfterDays }: ExpiryOptions) {
  if (expires !== undefined && expiresAfterDays !== undefined) {
    throw argumentError('Give --expires or --expires-after-days, not both.');
  }
  if (expiresAfterDays !== undefined)
    return { licenseType: 'TEMPORARY', expiresAfterDays } as const;
  if (expires === undefined) return undefined;
  const expiryDate = await expiryField(licet, expires);
  const licenseType = expiryDate ? 'TEMPORARY' : 'PERMANENT';
  return { licenseType, expiryDate, expiresAfterDays: null } as const;
}

/** The query for licenses that expire within a number of days. */
function expiringWithin(days: number | undefined) {
  if (days === undefined) return {};
  const now = Date.now();
  return { expiresFrom: toTimestamp(now), expiresTo: toTimestamp(now + days * DAY_MS) };
}

/** `licet licenses`: manage licenses. */
export function addLicenses(parent: CommandUnknownOpts, open: OpenSession): void {
  const licenses = parent.command('licenses').description('manage licenses');

  licenses
    .command('list')
    .description('list licenses; deleted ones with --status DELETED only')
    .option('--product <product>', 'only of this product, by its id or name')
    .addOption(new Option('--status <status>', 'only with this status').choices(LICENSE_STATUSES))
    .option('--expiring <days>', 'only those that expire within this many days', integerFrom(1))
    .option('--never-used', 'only those without any validation')
    .option(
      '--dormant <days>',
      'only those that were used before, but not for this many days',
      integerFrom(1, MAX_DORMANT_DAYS),
    )
    .option('--at-limit', 'only those without a free slot for an address or a hardware ID')
    .option('--ip <range>', 'only licenses with a request from this address or CIDR range')
    .option(...METADATA_FILTER)
    .option(...ENTITLEMENT_FILTER)
    .option('--idle-slots', 'only those with an idle slot, which a new value may take')
    .option(...LIMIT_OPTION)
    .addHelpText(
      'after',
      examples(
        'licenses list --product "Chunk Guard" --expiring 30',
        'licenses list --status ACTIVE --never-used',
        'licenses list --dormant 90',
        'licenses list --at-limit',
        'licenses list --ip 192.0.2.0/24',
        'licenses list --metadata plan=gold',
        'licenses list --entitlement edition:gold',
      ),
    )
    .action(
      async ({ product, status, expiring, neverUsed, dormant, atLimit, limit, ...filters }) => {
        const session = open();
        const { licet, output } = session;
        const pages = licet.licenses.iterate({
          productId: await optionalProductId(licet, product),
          licenseStatus: status,
          ...expiringWithin(expiring),
          unused: neverUsed,
          dormantDays: dormant,
          full: atLimit,
          ...filters,
        });
        const listed = await collectUpTo(output, 'licenses', pages, limit);
        await listLicenses(session, listed, 'No license found.');
      },
    );

  withFields(licenses.command('create'))
    .description('create licenses; prints their keys. Limits are those of the product unless given')
    .requiredOption('--product <product>', 'its product, by its id or name')
    .option(
      '--count <n>',
      `the number of licenses, at most ${MAX_BATCH_LICENSES}`,
      integerFrom(1, MAX_BATCH_LICENSES),
      1,
    )
    .option('--csv', 'print a table for spreadsheets and shops')
    .addHelpText(
      'after',
      examples(
        'licenses create --product 1 --email ada@shop.example --notes "Order 48213"',
        'licenses create --product 1 --expires 2030-01-31 --max-ips 2 --platform MARKET_A --platform-id 48213',
        'licenses create --product "Chunk Guard" --count 100 --csv',
        'licenses create --product 1 --expires-after-days 30',
        'licenses create --product 1 --entitlement edition=gold --entitlement pro',
      ),
    )
    .action(async ({ product, count, csv, ...options }) => {
      const { licet, output } = open();
      if (csv && output.isJson) throw argumentError('Give --csv or --json, not both.');
      const withNamed = await namedInLicense(licet, options);
      const created = await licet.licenses.createBatch({
        ...(await fieldsOfOptions(licet, options)),
        ...withNamed({ entitlements: {}, entitlementsExpire: {} }),
        productId: await productIdOf(licet, product),
        ...((await expiryFields(licet, options)) ?? { licenseType: 'PERMANENT' }),
        metadata: options.metadata,
        count,
      });
      const [first] = created;
      const message =
        created.length === 1
          ? `License ${first?.id} created. Its key:`
          : `${created.length} licenses created. Their keys:`;
      output.doneAll(message, created, ({ licenseKey }) => (csv ? undefined : licenseKey));
      if (!csv) return;
      const { metadata = {}, entitlements = {}, entitlementsExpire = {} } = first ?? {};
      const columns = [
        ...Object.entries(metadata).map(([name, text]) => [`metadata.${name}`, text] as const),
        ['entitlements', entitlementsText(entitlements)] as const,
        ['entitlementsExpire', entitlementsText(entitlementsExpire)] as const,
      ].filter(([, cell]) => cell !== '');
      const headings = [...CSV_FIELDS, ...columns.map(([name]) => name)];
      const cells = columns.map(([, cell]) => stripControlCharacters(cell));
      const rows = created.map((license) => [...csvRowOf(license), ...cells]);
      process.stdout.write(csvFile([headings, ...rows]));
    });

  licenses
    .command('find')
    .description(
      'find licenses by key (also a replaced one), e-mail, name, Discord id, platform id, notes or the whole name of the product',
    )
    .argument('<text>', 'part of a field, in any case', searchArgument)
    .option('--limit <n>', 'the maximum number of results', integerFrom(1), DEFAULT_FOUND)
    .addHelpText(
      'after',
      `
A deleted license is found by its complete current key only.
${examples('licenses find 7K2M-9QX4', 'licenses find ada@shop.example', 'licenses find 280497242714931202')}`,
    )
    .action(async (text, { limit }) => {
      const session = open();
      const { licet, output } = session;
      const { first, hasMore } = await firstOf(found(licet, text), limit);
      await listLicenses(session, first, 'No license found.');
      if (hasMore)
        output.note(`More than ${limit} licenses match. Give a longer text, or raise --limit.`);
    });

  licenses
    .command('show')
    .description('show all fields of a license')
    .argument(...KEY)
    .addHelpText(
      'after',
      examples('licenses show 7K2M-9QX4-B3TD-WJ8R-5HVN', 'licenses show id:7341'),
    )
    .action(async (text) => {
      const session = open();
      const license = await findLicense(session.licet, text);
      const names = await productNames(session);
      const labels = await platformLabels(session);
      const zone = await shownTimeZone(session);
      session.output.object(license, fieldsOf(license, names, labels, zone));
    });

  licenses
    .command('slots')
    .description('list the bound addresses and hardware IDs of a license, each with its last use')
    .argument(...KEY)
    .addHelpText('after', examples('licenses slots 7K2M-9QX4-B3TD-WJ8R-5HVN'))
    .action(async (text) => {
      const { licet, output } = open();
      const { id } = await findLicense(licet, text);
      output.list(await licet.licenses.slots(id), SLOT_COLUMNS, 'No value is bound.');
    });

  withFields(licenses.command('edit'))
    .description('change fields of a license')
    .argument(...KEY)
    .option('--product <product>', 'its product, by its id or name')
    .addHelpText(
      'after',
      examples(
        'licenses edit 7K2M-9QX4-B3TD-WJ8R-5HVN --max-ips 3 --notes ""',
        'licenses edit 7341 --expires never',
        'licenses edit 7341 --customer 17',
        'licenses edit 7341 --metadata plan=gold --metadata trial=',
        'licenses edit 7341 --entitlement pro --entitlement-end pro=2030-01-31',
        'licenses edit 7341 --no-entitlement edition --entitlement max_players=',
      ),
    )
    .action(async (text, options) => {
      if (Object.keys(options).length === 0) throw argumentError('Nothing to change.');
      const { licet, output } = open();
      const { product } = options;
      const { id } = await findLicense(licet, text);
      const changes = {
        ...(await fieldsOfOptions(licet, options)),
        productId: await optionalProductId(licet, product),
        ...(await expiryFields(licet, options)),
      };
      const { metadata: texts, entitlement, entitlementEnd } = options;
      const withNamed = await namedInLicense(licet, options);
      const license = await ((texts ?? entitlement ?? entitlementEnd) === undefined
        ? licet.licenses.update(id, changes)
        : licet.licenses.change(id, (current) => ({
            ...changes,
            metadata: { ...current.metadata, ...texts },
            ...withNamed(current),
          })));
      output.done(`License ${id} is changed: ${license.licenseKey}`, license);
    });

  licenses
    .command('delete')
    .description('reject validations of a license and remove it from lists; activate restores it')
    .argument(...KEY)
    .addHelpText('after', examples('licenses delete 7K2M-9QX4-B3TD-WJ8R-5HVN'))
    .action(async (text) => {
      const { licet, output } = open();
      const license = await findLicense(licet, text);
      await licet.licenses.delete(license.id);
      const { licenseKey } = license;
      output.done(`${licenseKey} is DELETED. To restore it: licenses activate ${licenseKey}`, {
        ...license,
        licenseStatus: 'DELETED',
      });
    });

  licenses
    .command('free')
    .description('free the slots of a license, for a customer who moved to another machine')
    .argument(...KEY)
    .option('--ips', 'only the addresses')
    .option('--hwids', 'only the hardware IDs')
    .addHelpText(
      'after',
      examples('licenses free 7K2M-9QX4-B3TD-WJ8R-5HVN', 'licenses free 7341 --ips'),
    )
    .action(async (text, only) => {
      const { licet, output } = open();
      const isAll = !only.ips && !only.hwids;
      const { id } = await findLicense(licet, text);
      const freed: string[] = [];
      const license = await licet.licenses.change(id, ({ ips, hwids }) => {
        freed.length = 0;
        if (isAll || only.ips) freed.push(counted(ips.length, 'address', 'addresses'));
        if (isAll || only.hwids) freed.push(counted(hwids.length, 'hardware ID', 'hardware IDs'));
        return {
          ...((isAll || only.ips) && { ips: [] }),
          ...((isAll || only.hwids) && { hwids: [] }),
        };
      });
      output.done(`Freed ${freed.join(' and ')} of ${license.licenseKey}.`, license);
    });

  licenses
    .command('rotate')
    .description(
      'give a license a new key; programs with the old one are rejected within about a minute',
    )
    .argument(...KEY)
    .option('--yes', 'confirm that the replaced key stops working (required)')
    .addHelpText(
      'after',
      `
The slots, the history and the id stay. Send the new key to the customer.
${examples('licenses rotate 7K2M-9QX4-B3TD-WJ8R-5HVN --yes')}`,
    )
    .action(async (text, { yes }) => {
      const { licet, output } = open();
      const { id, licenseKey } = await findLicense(licet, text);
      if (!yes) {
        throw argumentError(
          `License ${id} would get a new key, and programs with ${licenseKey} would be rejected. Confirm it with --yes.`,
        );
      }
      const license = await licet.licenses.rotate(id);
      output.done(
        `License ${id} has a new key. Programs with ${licenseKey} are rejected. The new key:`,
        license,
        license.licenseKey,
      );
    });

  licenses
    .command('transfer')
    .description('give a license another owner, free slots and a new key')
    .argument(...KEY)
    .option('--email <email>', 'the new owner, by e-mail; a new e-mail creates a customer')
    .option('--customer <id>', 'the new owner, by the id', integerFrom(1))
    .option('--yes', 'confirm the change of owner (required)')
    .addHelpText(
      'after',
      examples(
        'licenses transfer 7K2M-9QX4-B3TD-WJ8R-5HVN --email grace@shop.example --yes',
        'licenses transfer 7341 --customer 17 --yes',
      ),
    )
    .action(async (text, { email, customer, yes }) => {
      if ((email === undefined) === (customer === undefined)) {
        throw argumentError('Give the new owner: --email or --customer, not both.');
      }
      const { licet, output } = open();
      const current = await findLicense(licet, text);
      const { id, licenseKey } = current;
      const newOwner = email ?? `customer ${customer}`;
      if (!yes) {
        const owner = ownerOf(current) || 'nobody';
        throw argumentError(
          `License ${id} would belong to ${newOwner} and no longer to ${owner}. Its slots would be freed, and programs with ${licenseKey} would be rejected. Confirm it with --yes.`,
        );
      }
      const license = await licet.licenses.transfer(id, {
        customerEmail: email,
        customerId: customer,
      });
      output.done(
        `License ${id} belongs to ${newOwner} now. Its slots are free, and programs with ${licenseKey} are rejected. The new key:`,
        license,
        license.licenseKey,
      );
    });

  licenses
    .command('deactivate')
    .description('reject validations of a license until it is activated')
    .argument(...KEY)
    .addHelpText('after', examples('licenses deactivate 7K2M-9QX4-B3TD-WJ8R-5HVN'))
    .action(async (text) => {
      const { licet, output } = open();
      const { id } = await findLicense(licet, text);
      const license = await licet.licenses.change(id, ({ licenseKey, licenseStatus }) => {
        // DEACTIVATED would restore the license to all lists.
        if (licenseStatus === 'DELETED')
          throw new CliError(`${licenseKey} is DELETED. Activate it first.`);
        return { licenseStatus: 'DEACTIVATED' };
      });
      output.done(`${license.licenseKey} is ${license.licenseStatus}.`, license);
    });

  licenses
    .command('activate')
    .description('activate a license that is deactivated or deleted')
    .argument(...KEY)
    .addHelpText('after', examples('licenses activate 7K2M-9QX4-B3TD-WJ8R-5HVN'))
    .action(async (text) => {
      const { licet, output } = open();
      const { id } = await findLicense(licet, text);
      const license = await licet.licenses.update(id, { licenseStatus: 'ACTIVE' });
      output.done(`${license.licenseKey} is ${license.licenseStatus}.`, license);
    });

  licenses
    .command('extend')
    .description('change the expiry date of a license')
    .argument(...KEY)
    .argument(
      '<date>',
      'such as 2030-01-31 (its end, in the time zone of the service) or 2030-01-31T18:00:00+02:00',
    )
    .addHelpText('after', examples('licenses extend 7K2M-9QX4-B3TD-WJ8R-5HVN 2030-01-31'))
    .action(async (text, date) => {
      const session = open();
      const { licet, output } = session;
      const { id } = await findLicense(licet, text);
      const expiryDate = await expiryField(licet, date);
      const license = await licet.licenses.change(id, ({ licenseKey, licenseType }) => {
        if (licenseType === 'PERMANENT')
          throw new CliError(`${licenseKey} is PERMANENT and has no expiry date.`);
        return { expiryDate };
      });
      const { licenseKey, licenseStatus } = license;
      const isExpired = licenseStatus === 'EXPIRED';
      const expires = `${isExpired ? 'expired' : 'expires'} ${expiryWithTime(license, await shownTimeZone(session))}`;
      output.done(`${licenseKey} is ${licenseStatus} and ${expires}.`, license);
      if (isExpired) output.note('The date is in the past: the license is EXPIRED at once.');
    });
}
