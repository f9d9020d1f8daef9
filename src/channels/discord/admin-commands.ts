import { sharedHwid } from '@licet/contract/shared-hwids';
import { escapeMarkdown } from '../../lib/discord.ts';
import { DomainError } from '../../lib/errors.ts';
import { insertEntry } from '../../resources/blacklists/queries.ts';
import { entryOf } from '../../resources/blacklists/rules.ts';
import { insertLicenses } from '../../resources/licenses/create.ts';
import { listLicenses, readLongLicenses } from '../../resources/licenses/list.ts';
import { findLicense, findLicenseByKey, updateLicense } from '../../resources/licenses/queries.ts';
import { type LicenseRow, valuesOf } from '../../resources/licenses/row.ts';
import { EXPIRES_LATER, storedExpiryOf } from '../../resources/licenses/rules.ts';
import { findProduct } from '../../resources/products/queries.ts';
import { type Command, type CommandContext, code, listed, newValues, say } from './command.ts';
import type { Interaction, Message } from './interaction.ts';
import { endText, extendedBy, keyText, lineOf, productsOf } from './licenses.ts';

/** The commands of administrators at Discord (10). Each refusal says what to do next. */

const MAX_FOUND = 10;

async function find({ db, interaction }: CommandContext): Promise<Message> {
  const query = (interaction.options.get('query') ?? '').trim();
  const byKey =
    (await findLicenseByKey(db, query)) ??
    (/^#?\d{1,15}$/.test(query)
      ? await findLicense(db, Number(query.replace('#', '')))
      : undefined);
  const page = { limit: MAX_FOUND, after: undefined };
  const rows = byKey
    ? [byKey]
    : await readLongLicenses(db, await listLicenses(db, { q: query }, page, Date.now()));
  if (rows.length === 0)
    return say('No license matches. Try a part of the key, an e-mail or an account.');
  const sold = await productsOf(db, rows);
  const lines = rows.map((row) => {
    const owner = row.customer?.email ?? row.ownerChatUsername;
    const line = lineOf(row, sold.get(row.productId)?.name ?? '', Date.now());
    return `- #${row.id} ${line}${owner ? `, ${escapeMarkdown(owner)}` : ''}`;
  });
  const more = rows.length === MAX_FOUND ? '\nMore may match: give a longer text.' : '';
  return say(listed(lines, 'give a longer text') + more);
}

const MAX_DAYS = 3_650;
const NO_DAYS = say(`Give a number of days from 1 to ${MAX_DAYS}.`);

/** The option for days; 0 for none, undefined for a wrong one. */
function daysIn({ options }: Interaction): number | undefined {
  const days = Number(options.get('days') ?? 0);
  const isRight =
    Number.isSafeInteger(days) && days <= MAX_DAYS && days >= (options.has('days') ? 1 : 0);
  return isRight ? days : undefined;
}

async function create({ db, interaction, newSender }: CommandContext): Promise<Message> {
  const product = await findProduct(db, Number(interaction.options.get('product')) || 0);
  if (!product) return say('There is no such product. Choose one of the list.');
  const days = daysIn(interaction);
  if (days === undefined) return NO_DAYS;
  const owner = interaction.options.get('user') ?? '';
  const values = {
    ...newValues(product),
    ownerChatId: owner,
    ownerChatUsername: interaction.usernames.get(owner) ?? '',
    ...(days > 0 && {
      licenseType: 'TEMPORARY' as const,
      ...storedExpiryOf('TEMPORARY', { expiryDate: null, expiresAfterDays: days }),
    }),
  };
  const actor = `discord:${interaction.user.id}` as const;
  const [row] = await insertLicenses(newSender({ actor }), values, undefined, 1);
  if (!row) return say('That did not work. Try again.');
  return say(
    `License #${row.id} of **${escapeMarkdown(product.name)}**, ${endText(row, Date.now())}: \`${row.licenseKey}\`\nCopy it now: this message is gone when you close Discord.`,
  );
}

/** The license that an administrator names. */
async function anyLicense({ db, interaction }: CommandContext): Promise<LicenseRow | undefined> {
  const named = interaction.options.get('license') ?? '';
  // A key can be a number, too: an id begins with #.
  return /^#\d{1,15}$/.test(named)
    ? findLicense(db, Number(named.slice(1)))
    : findLicenseByKey(db, named);
}

const NO_LICENSE = say('There is no such license. Choose one of the list, or use /license find.');

async function extend(context: CommandContext): Promise<Message> {
  const row = await anyLicense(context);
  if (!row || row.state === 'DELETED') return NO_LICENSE;
  if (row.licenseType === 'PERMANENT')
    return say(
      `License #${row.id} does not expire, and stays as it is. To give it an end, use the console.`,
    );
  const days = daysIn(context.interaction);
  if (!days) return NO_DAYS;
  const isUnused = row.expiresAt === EXPIRES_LATER;
  const expiry = isUnused
    ? {
        expiresAt: EXPIRES_LATER,
        expiresAfterDays: Math.min((row.expiresAfterDays ?? 0) + days, MAX_DAYS),
      }
    : { expiresAt: extendedBy(days, row.expiresAt, Date.now()), expiresAfterDays: null };
  const actor = `discord:${context.interaction.user.id}` as const;
  const after = await updateLicense(
    context.newSender({ actor }),
    row,
    { ...valuesOf(row), ...expiry },
    undefined,
  );
  const isDeactivated = after.state === 'DEACTIVATED';
  const stays = isDeactivated ? ' It stays deactivated. To activate it, use the console.' : '';
  return say(`License #${row.id} \`${keyText(row)}\`: ${endText(after, Date.now())}.${stays}`);
}

async function deactivate(context: CommandContext): Promise<Message> {
  const row = await anyLicense(context);
  if (!row || row.state === 'DELETED') return NO_LICENSE;
  if (row.state === 'DEACTIVATED')
    return say(`License #${row.id} is deactivated already. To activate it again, use the console.`);
  const actor = `discord:${context.interaction.user.id}` as const;
  await updateLicense(
    context.newSender({ actor }),
    row,
    { ...valuesOf(row), state: 'DEACTIVATED' },
    undefined,
  );
  return say(
    `License #${row.id} \`${keyText(row)}\` is deactivated. To activate it again, use the console.`,
  );
}

async function block({ db, interaction, newSender }: CommandContext): Promise<Message> {
  const { options } = interaction;
  const type = options.get('type') === 'HWID' ? 'HWID' : 'IP';
  const value = (options.get('value') ?? '').trim();
  const named = options.get('product');
  const product = named ? await findProduct(db, Number(named) || 0) : undefined;
  if (named && !product) return say('There is no such product. Choose one of the list.');
  if (value === '') return say('Give the address, range or hardware ID.');
  const why = type === 'HWID' && options.get('force') !== 'true' ? sharedHwid(value) : undefined;
  if (why) {
    return say(
      `Many machines share this hardware ID: ${why}. The entry would refuse them all, not one machine. To block it, write the command again with \`force\`.`,
    );
  }
  const where = product ? `for **${escapeMarkdown(product.name)}**` : 'for all products';
  try {
    const entry = entryOf({
      licenseDataType: type,
      data: value,
      productId: product?.id ?? null,
      reason: options.get('reason') ?? '',
      isForAllProducts: !product,
    });
    await insertEntry(newSender({ actor: `discord:${interaction.user.id}` }), entry);
    return say(`${code(entry.data)} is blocked ${where}, within 30 seconds everywhere.`);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (error.kind === 'conflict')
      return say(
        `${code(value)} is blocked ${where} already. To change the entry, use the console.`,
      );
    // The option has another name than the field.
    const message = error.message.replace(/^data\b/, 'value');
    return say(`${message}. Correct it, and write the command again.`);
  }
}

export const ADMIN_COMMANDS: Readonly<Record<string, Command>> = {
  'license find': { run: find, isForAdmins: true },
  'license create': { run: create, isForAdmins: true, changes: true },
  'license extend': { run: extend, isForAdmins: true, changes: true },
  'license deactivate': { run: deactivate, isForAdmins: true, changes: true },
  'blacklist add': { run: block, isForAdmins: true, changes: true },
};
