import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { LICENSE_PLATFORMS } from '../../../../src/lib/enums.ts';
import type { License, Licet } from '../../../client/src/index.ts';
import { CliError } from '../terminal.ts';
import {
  type Column,
  counted,
  dayText,
  examples,
  limitText,
  statusStyle,
  timeText,
} from './output.ts';
import {
  EXPIRES_OPTION,
  findOne,
  idArgument,
  integerFrom,
  type OpenSession,
  orUndefined,
} from './session.ts';

const DEFAULT_FOUND = 50;

const expiryOf = ({ expiryDate }: License): string =>
  expiryDate ? `${timeText(expiryDate)} (UTC)` : 'never';

const ownerOf = ({ customer, ownerChatUsername, ownerChatId, ownerPlatformId }: License): string =>
  customer?.email || ownerChatUsername || ownerChatId || ownerPlatformId;

const COLUMNS: Column<License>[] = [
  { title: 'ID', text: ({ id }) => String(id) },
  { title: 'KEY', text: ({ licenseKey }) => licenseKey },
  {
    title: 'STATUS',
    text: ({ licenseStatus }) => licenseStatus,
    style: ({ licenseStatus }) => statusStyle(licenseStatus),
  },
  { title: 'EXPIRES', text: ({ expiryDate }) => (expiryDate ? dayText(expiryDate) : 'never') },
  { title: 'IPS', text: ({ ips, maxIPs }) => `${ips.length}/${limitText(maxIPs)}` },
  { title: 'HWIDS', text: ({ hwids, maxHWIDs }) => `${hwids.length}/${limitText(maxHWIDs)}` },
  { title: 'OWNER', text: ownerOf, isFlexible: true },
  { title: 'PRODUCT', text: ({ productId }) => String(productId) },
  { title: 'NOTES', text: ({ notes }) => notes, isFlexible: true },
];

const boundText = (values: readonly string[], limit: number): string =>
  `${values.length} of ${limitText(limit)}${values.length > 0 ? ': ' : ''}${values.join(', ')}`;

const fieldsOf = (license: License): Record<string, string> => ({
  Id: String(license.id),
  Key: license.licenseKey,
  Product: String(license.productId),
  Status: license.licenseStatus,
  Expires: expiryOf(license),
  Addresses: boundText(license.ips, license.maxIPs),
  'Hardware IDs': boundText(license.hwids, license.maxHWIDs),
  Validations: String(license.totalRequests),
  Owner: ownerOf(license),
  Customer: license.customer ? String(license.customer.id) : '',
  Platform: [license.licensePlatform, license.ownerPlatformId].filter(Boolean).join(' '),
  Created: `${timeText(license.createdDate)} (UTC)`,
  Notes: license.notes,
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
  if (!license) throw new CliError(`No license has the key or the id ${text}.`);
  return license;
}

/** Finds licenses by key, by the customer's e-mail, and by text in a field; each once. */
async function* found(licet: Licet, text: string): AsyncGenerator<License> {
  const seen = new Set<number>();
  const isNew = ({ id }: License) => seen.size < seen.add(id).size;
  const exact = canBeKey(text) ? await orUndefined(licet.licenses.findByKey(text)) : undefined;
  if (exact && isNew(exact)) yield exact;
  if (text.includes('@')) {
    for await (const license of licet.licenses.byCustomerEmail(text).iterate()) {
      if (isNew(license)) yield license;
    }
  }
  for await (const license of licet.licenses.iterate({ q: text })) {
    if (isNew(license)) yield license;
  }
}

const KEY = [
  '<license>',
  'its key or id; id:50 where 50 may be a key too',
  licenseArgument,
] as const;

/** `licet licenses`: manage licenses. */
export function addLicenses(parent: CommandUnknownOpts, open: OpenSession): void {
  const licenses = parent.command('licenses').description('manage licenses');

  licenses
    .command('create')
    .description('create a license; prints its key')
    .requiredOption('--product <id>', 'its product', idArgument)
    .option(...EXPIRES_OPTION)
    .option(
      '--max-ips <n>',
      'number of addresses, -1 is unlimited (default: of the product)',
      integerFrom(-1),
    )
    .option('--max-hwids <n>', 'number of hardware IDs, likewise', integerFrom(-1))
    .option('--chat-id <id>', 'the id of its owner on the chat service')
    .addOption(
      new Option('--platform <platform>', 'the platform where it was bought').choices(
        LICENSE_PLATFORMS,
      ),
    )
    .option('--platform-id <id>', 'the id of its owner there')
    .option('--notes <text>', 'free text')
    .addHelpText(
      'after',
      examples(
        'licenses create --product 1 --notes "Order 48213"',
        'licenses create --product 1 --expires 2030-01-31 --max-ips 2 --platform MARKET_A --platform-id 48213',
      ),
    )
    .action(async ({ product, expires, maxIps, maxHwids, chatId, platform, platformId, notes }) => {
      const { licet, output } = open();
      const license = await licet.licenses.create({
        productId: product,
        licenseType: expires === undefined ? 'PERMANENT' : 'TEMPORARY',
        expiryDate: expires,
        maxIPs: maxIps,
        maxHWIDs: maxHwids,
        ownerChatId: chatId,
        licensePlatform: platform,
        ownerPlatformId: platformId,
        notes,
      });
      output.done(`License ${license.id} created. Its key:`, license, license.licenseKey);
    });

  licenses
    .command('find')
    .description('find licenses by key, e-mail, chat id, platform id, name or notes')
    .argument('<text>', 'a complete key or e-mail, or part of another field')
    .option('--limit <n>', 'the maximum number of results', integerFrom(1), DEFAULT_FOUND)
    .addHelpText(
      'after',
      `
A deleted license is found by its complete key only.
${examples('licenses find 7K2M-9QX4', 'licenses find ada@shop.example', 'licenses find 280497242714931202')}`,
    )
    .action(async (text, { limit }) => {
      const { licet, output } = open();
      const shown: License[] = [];
      let hasMore = false;
      for await (const license of found(licet, text)) {
        hasMore = shown.length === limit;
        if (hasMore) break;
        shown.push(license);
      }
      output.list(shown, COLUMNS, 'No license found.');
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
      const { licet, output } = open();
      const license = await findLicense(licet, text);
      output.object(license, fieldsOf(license));
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
    .argument('<date>', 'such as 2030-01-31 (its first moment, UTC) or 2030-01-31T18:00:00+02:00')
    .addHelpText('after', examples('licenses extend 7K2M-9QX4-B3TD-WJ8R-5HVN 2030-01-31'))
    .action(async (text, expiryDate) => {
      const { licet, output } = open();
      const { id } = await findLicense(licet, text);
      const license = await licet.licenses.change(id, ({ licenseKey, licenseType }) => {
        if (licenseType === 'PERMANENT')
          throw new CliError(`${licenseKey} is PERMANENT and has no expiry date.`);
        return { expiryDate };
      });
      const { licenseKey, licenseStatus } = license;
      output.done(`${licenseKey} is ${licenseStatus} and expires ${expiryOf(license)}.`, license);
    });
}
