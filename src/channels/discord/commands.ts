import type { ResetOutcome } from '@licet/contract/portal-page';
import { eq, sql } from 'drizzle-orm';
import { type Sender, stillHolds } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { escapeMarkdown } from '../../lib/discord.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Outbound } from '../../lib/outbound.ts';
import type { PublicUrl } from '../../lib/public-url.ts';
import { insertEntry } from '../../resources/blacklists/queries.ts';
import { entryOf } from '../../resources/blacklists/rules.ts';
import { customers } from '../../resources/customers/schema.ts';
import { listLicenses } from '../../resources/licenses/list.ts';
import {
  findLicense,
  findLicenseByKey,
  insertLicenses,
  redeemLicense,
  updateLicense,
} from '../../resources/licenses/queries.ts';
import { type LicenseRow, valuesOf } from '../../resources/licenses/row.ts';
import { EXPIRES_LATER, NEVER, storedExpiryOf } from '../../resources/licenses/rules.ts';
import { resetSlots } from '../../resources/licenses/self-reset.ts';
import { findProduct, type ProductRow } from '../../resources/products/queries.ts';
import { createPortalLink } from '../portal/sessions.ts';
import type { Interaction, Message } from './interaction.ts';
import {
  endText,
  extendedBy,
  findOwnLicenses,
  keyEnd,
  lineOf,
  productsOf,
  suggestProducts,
} from './licenses.ts';
import { type CodeFault, linkByCode } from './link-codes.ts';
import { giveRoles } from './roles.ts';
import { discordClaims, discordInteractions } from './schema.ts';
import type { DiscordSettings } from './settings.ts';

/** The commands at Discord (10). Each refusal says what to do next. */

export interface CommandContext {
  db: Database;
  outbound: Outbound;
  settings: DiscordSettings;
  interaction: Interaction & { user: { id: string; username: string } };
  /** Makes a sender of a change, with the clock of now. */
  newSender: (by: Pick<Sender, 'actor' | 'customerId'>) => Sender;
  /** The address of the service, for links. */
  publicUrl: PublicUrl;
  /** Counts an attempt of the user. @returns whether there were too many */
  isTooOften: () => boolean;
}

const MAX_CHOICES = 25;
const MAX_CHOICE_LENGTH = 100;
const MAX_FOUND = 10;
/** A link at Discord is opened at once. */
const LINK_MINUTES = 15;
/** Room for words before and after a list. */
const MAX_LISTED = 1_800;
export const SHOW_KEYS = 'keys';

const say = (text: string): Message => ({ text });

/** Text of others in the type of code, in which only backticks mean something. */
const code = (text: string): string => `\`${text.replaceAll('`', "'")}\``;

const NO_KEY = say(
  'There is no such license key. Copy the whole key as you got it, or ask the shop.',
);
const NOT_YOURS = say(
  'That is not one of your licenses. Choose one of the list, or use /redeem first.',
);
const NO_LICENSES = say(
  'No license is linked to your account. Use /redeem with your license key, or /link with the code that your page shows.',
);
const TOO_OFTEN = say('Too many attempts. Try again in a minute.');
const NOT_REACHABLE = say(
  'Nobody can open the page of this shop yet: its service does not know its public address. Tell the shop to set PUBLIC_URL.',
);
const NOT_ALLOWED = say(
  'Only administrators may use this command. Ask one to give you the role that the shop has set.',
);

const isOvertaken = (error: unknown): boolean =>
  error instanceof DomainError && error.kind === 'overtaken';

const now = (): number => Date.now();

async function withRoles(context: CommandContext, text: string): Promise<Message> {
  const { db, outbound, settings, interaction } = context;
  const trouble = await giveRoles({ db, outbound, settings, now: now() }, interaction.user.id);
  // First: the end of a long message is cut.
  return say(trouble ? `${trouble}\n${text}` : text);
}

async function redeem(context: CommandContext): Promise<Message> {
  const { db, interaction, newSender, isTooOften } = context;
  const { id: userId, username } = interaction.user;
  if (isTooOften()) return TOO_OFTEN;
  const row = await findLicenseByKey(db, interaction.options.get('key') ?? '');
  if (!row || row.state === 'DELETED') return NO_KEY;
  const product = await findProduct(db, row.productId);
  const name = escapeMarkdown(product?.name ?? '');
  const owner = row.ownerChatId || row.customer?.chatId;
  if (owner === userId) {
    return withRoles(context, `**${name}** is linked to your account already. /licenses shows it.`);
  }
  if (owner) {
    return say(
      'This license is linked to another Discord account. Ask the shop to move it to yours.',
    );
  }
  await redeemLicense(newSender({ actor: 'service' }), row, { id: userId, username });
  return withRoles(
    context,
    `**${name}** is linked to your account: ${endText(row, now())}. /licenses shows it, and /portal opens your page.`,
  );
}

const CODE_FAULTS: Readonly<Record<CodeFault, Message>> = {
  'no code': say(
    'This code is wrong, used, or older than 15 minutes. Open your page, choose "Link Discord", and use the code that it shows.',
  ),
  'other account': say(
    'Your page is already linked to a Discord account. If that account is not yours, ask the shop.',
  ),
  'other customer': say(
    'Your Discord account is linked to another customer of the shop. Ask the shop to move it.',
  ),
};

async function link(context: CommandContext): Promise<Message> {
  const { db, interaction, newSender, isTooOften } = context;
  if (isTooOften()) return TOO_OFTEN;
  const fault = await linkByCode(
    (customerId) => newSender({ actor: 'customer', customerId }),
    db,
    interaction.options.get('code') ?? '',
    interaction.user,
    now(),
  );
  if (fault) return CODE_FAULTS[fault];
  return withRoles(
    context,
    'Your page is linked to your account. /licenses shows your licenses, also those that you buy later.',
  );
}

/** Lines, as many as a message has room for. */
function listed(lines: readonly string[], more: string): string {
  const shown: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > MAX_LISTED)
      return [...shown, `… and ${lines.length - shown.length} more: ${more}`].join('\n');
    shown.push(line);
  }
  return shown.join('\n');
}

async function showLicenses(context: CommandContext): Promise<Message> {
  const { db, interaction } = context;
  const rows = await findOwnLicenses(db, interaction.user.id);
  if (rows.length === 0) return NO_LICENSES;
  const sold = await productsOf(db, rows);
  const lines = rows.map((row) => `- ${lineOf(row, sold.get(row.productId)?.name ?? '', now())}`);
  const { text } = await withRoles(context, listed(lines, 'use /portal'));
  return { text, button: { label: 'Show keys', id: SHOW_KEYS } };
}

async function showKeys({ db, interaction }: CommandContext): Promise<Message> {
  const rows = await findOwnLicenses(db, interaction.user.id);
  if (rows.length === 0) return NO_LICENSES;
  const sold = await productsOf(db, rows);
  const lines = rows.map(
    (row) => `- **${escapeMarkdown(sold.get(row.productId)?.name ?? '')}** ${code(row.licenseKey)}`,
  );
  return say(listed(lines, 'use /portal'));
}

/** The id of the license that an option names; 0 for a text that is none. */
function licenseIdIn({ options }: Interaction): number {
  const id = Number((options.get('license') ?? '').replace('#', ''));
  return Number.isSafeInteger(id) ? id : 0;
}

const discordTime = (timestamp: string): string =>
  `<t:${Math.floor(Date.parse(timestamp) / 1000)}:f>`;

function outcomeText(outcome: ResetOutcome): string {
  const { left, allowed, returnsAt } = outcome.resets;
  switch (outcome.outcome) {
    case 'freed': {
      const kept = outcome.kept > 0 ? ' Blocked values stay.' : '';
      return `Done: ${outcome.freed} freed.${kept} The next server or computer that asks gets the slot. Resets left: ${left} of ${allowed} in 30 days.`;
    }
    case 'empty':
      return 'No slot is taken: your program can start anywhere. This did not count as a reset.';
    case 'blocked':
      return 'The shop has blocked these values, and they stay. Ask the shop.';
    case 'used up':
      return `You have used all ${allowed} resets of 30 days.${returnsAt ? ` The next one returns on ${discordTime(returnsAt)}.` : ''} If you need one now, ask the shop.`;
    case 'not allowed':
      return 'For this product, only the shop frees slots. Ask the shop.';
    case 'deactivated':
      return 'The shop has deactivated this license. Ask the shop.';
  }
}

async function resetLicense({ interaction, newSender }: CommandContext): Promise<Message> {
  const what = interaction.options.get('what') ?? 'all';
  const outcome = await resetSlots(
    () => newSender({ actor: 'customer' }),
    { chatId: interaction.user.id },
    licenseIdIn(interaction),
    ({ type }) => what === 'all' || type === what,
  );
  return outcome ? say(outcomeText(outcome)) : NOT_YOURS;
}

async function portal({ db, interaction, newSender, publicUrl }: CommandContext): Promise<Message> {
  if (!publicUrl.isPublic) return NOT_REACHABLE;
  const chatId = interaction.user.id;
  if ((await findOwnLicenses(db, chatId)).length === 0) return NO_LICENSES;
  const customer = await db
    .select({ customerId: customers.id })
    .from(customers)
    .where(eq(customers.chatId, chatId))
    .get();
  const sender = newSender({ actor: 'customer', ...customer });
  const link = { origin: publicUrl.origin, validMinutes: LINK_MINUTES };
  const { url } = await createPortalLink(sender, { chatId }, link);
  return {
    text: `This link opens your page once, within ${LINK_MINUTES} minutes. Keep it to yourself.`,
    button: { label: 'Open my licenses', url },
  };
}

const newValues = (product: ProductRow) => ({
  productId: product.id,
  licenseType: 'PERMANENT' as 'PERMANENT' | 'TEMPORARY',
  ...NEVER,
  maxIPs: product.defaultMaxIPs,
  maxHWIDs: product.defaultMaxHWIDs,
  licensePlatform: null,
  licensePlatformOther: '',
  ownerPlatformId: '',
  ownerChatId: '',
  ownerChatUsername: '',
  state: 'ACTIVE' as const,
  notes: '',
  ips: [],
  hwids: [],
});

async function getLicense(context: CommandContext): Promise<Message> {
  const { db, interaction, newSender } = context;
  const { id: userId, username } = interaction.user;
  const product = await findProduct(db, Number(interaction.options.get('product')) || 0);
  const isBuyer =
    product?.purchaseRoleId != null && interaction.roles.includes(product.purchaseRoleId);
  if (!product || !isBuyer) {
    return say(
      'You have no role that shows this purchase. Link your account where you bought it, or use /redeem with your key.',
    );
  }
  const own = async (): Promise<LicenseRow | undefined> =>
    (await findOwnLicenses(db, userId)).find(({ productId }) => productId === product.id);
  const shown = (row: LicenseRow) =>
    withRoles(
      context,
      `Your license of **${escapeMarkdown(product.name)}**: \`${row.licenseKey}\`, ${endText(row, now())}.`,
    );
  const known = await own();
  if (known) return shown(known);
  // Also of one that was deleted, or given to somebody else: the role stays.
  const claim = { chatId: userId, productId: product.id };
  const isFirst = sql`not exists (select 1 from ${discordClaims}
    where chat_id = ${userId} and product_id = ${product.id})`;
  try {
    const values = { ...newValues(product), ownerChatId: userId, ownerChatUsername: username };
    const [created] = await insertLicenses(newSender({ actor: 'customer' }), values, undefined, 1, {
      when: [stillHolds(isFirst)],
      statements: [db.insert(discordClaims).values(claim)],
    });
    if (created) return shown(created);
  } catch (error) {
    // The same command, sent twice: the other one was faster. Or the license is no longer theirs.
    if (!isOvertaken(error)) throw error;
  }
  const made = await own();
  return made ? shown(made) : say('You had your license of this product before. Ask the shop.');
}

async function find({ db, interaction }: CommandContext): Promise<Message> {
  const query = (interaction.options.get('query') ?? '').trim();
  const byKey =
    (await findLicenseByKey(db, query)) ??
    (/^#?\d{1,15}$/.test(query)
      ? await findLicense(db, Number(query.replace('#', '')))
      : undefined);
  const rows = byKey
    ? [byKey]
    : await listLicenses(db, { q: query }, { limit: MAX_FOUND, after: undefined }, now());
  if (rows.length === 0)
    return say('No license matches. Try a part of the key, an e-mail or an account.');
  const sold = await productsOf(db, rows);
  const lines = rows.map((row) => {
    const owner = row.customer?.email ?? row.ownerChatUsername;
    const line = lineOf(row, sold.get(row.productId)?.name ?? '', now());
    return `- #${row.id} ${line}${owner ? `, ${escapeMarkdown(owner)}` : ''}`;
  });
  const more = rows.length === MAX_FOUND ? '\nMore may match: give a longer text.' : '';
  return say(listed(lines, 'give a longer text') + more);
}

async function create({ db, interaction, newSender }: CommandContext): Promise<Message> {
  const product = await findProduct(db, Number(interaction.options.get('product')) || 0);
  if (!product) return say('There is no such product. Choose one of the list.');
  const days = Number(interaction.options.get('days') ?? 0);
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
    `License #${row.id} of **${escapeMarkdown(product.name)}**, ${endText(row, now())}: \`${row.licenseKey}\`\nCopy it now: this message is gone when you close Discord.`,
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
  if (row.licenseType === 'PERMANENT') return say(`License #${row.id} does not expire.`);
  const days = Number(context.interaction.options.get('days') ?? 0);
  if (!Number.isSafeInteger(days) || days < 1 || days > 3650) {
    return say('Give a number of days from 1 to 3650.');
  }
  const isUnused = row.expiresAt === EXPIRES_LATER;
  const expiry = isUnused
    ? {
        expiresAt: EXPIRES_LATER,
        expiresAfterDays: Math.min((row.expiresAfterDays ?? 0) + days, 3650),
      }
    : { expiresAt: extendedBy(days, row.expiresAt, now()), expiresAfterDays: null };
  const actor = `discord:${context.interaction.user.id}` as const;
  const after = await updateLicense(
    context.newSender({ actor }),
    row,
    { ...valuesOf(row), ...expiry },
    undefined,
  );
  return say(`License #${row.id} \`${keyEnd(row)}\`: ${endText(after, now())}.`);
}

async function deactivate(context: CommandContext): Promise<Message> {
  const row = await anyLicense(context);
  if (!row || row.state === 'DELETED') return NO_LICENSE;
  if (row.state === 'DEACTIVATED') return say(`License #${row.id} is deactivated already.`);
  const actor = `discord:${context.interaction.user.id}` as const;
  await updateLicense(
    context.newSender({ actor }),
    row,
    { ...valuesOf(row), state: 'DEACTIVATED' },
    undefined,
  );
  return say(
    `License #${row.id} \`${keyEnd(row)}\` is deactivated. The console activates it again.`,
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
  const entry = entryOf({
    licenseDataType: type,
    data: value,
    productId: product?.id ?? null,
    reason: options.get('reason') ?? '',
    isForAllProducts: !product,
  });
  await insertEntry(newSender({ actor: `discord:${interaction.user.id}` }), entry);
  const where = product ? `for **${escapeMarkdown(product.name)}**` : 'for all products';
  return say(`${code(entry.data)} is blocked ${where}, within 30 seconds everywhere.`);
}

interface Command {
  run: (context: CommandContext) => Promise<Message>;
  /** Only for administrators, whose rights are checked at each call: a server can show a command to anybody. */
  isForAdmins?: true;
  /** A repetition of the same interaction must not run it again. */
  changes?: true;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  redeem: { run: redeem, changes: true },
  link: { run: link, changes: true },
  licenses: { run: showLicenses },
  [SHOW_KEYS]: { run: showKeys },
  reset: { run: resetLicense, changes: true },
  portal: { run: portal, changes: true },
  'get-license': { run: getLicense, changes: true },
  'license find': { run: find, isForAdmins: true },
  'license create': { run: create, isForAdmins: true, changes: true },
  'license extend': { run: extend, isForAdmins: true, changes: true },
  'license deactivate': { run: deactivate, isForAdmins: true, changes: true },
  'blacklist add': { run: block, isForAdmins: true, changes: true },
};

const isAdmin = ({ interaction, settings }: CommandContext): boolean =>
  interaction.mayManageServer ||
  (settings.adminRoleId !== null && interaction.roles.includes(settings.adminRoleId));

/** Runs a command, once. */
export async function runCommand(context: CommandContext): Promise<Message> {
  const { db, interaction } = context;
  const command = Object.hasOwn(COMMANDS, interaction.name)
    ? COMMANDS[interaction.name]
    : undefined;
  if (!command) {
    return say('This command is gone. Ask an administrator to run: npm run licet -- discord setup');
  }
  if (command.isForAdmins && !isAdmin(context)) return NOT_ALLOWED;
  if (command.changes) {
    const begun = await db
      .insert(discordInteractions)
      .values({ id: interaction.id, handledAt: now() })
      .onConflictDoNothing()
      .returning();
    if (begun.length === 0) return say('This command has run already.');
  }
  try {
    return await command.run(context);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return say(
      isOvertaken(error) ? 'Others change this at the same time. Try again.' : `${error.message}.`,
    );
  }
}

interface Choice {
  name: string;
  value: string;
}

/** @param end it stays whole, also after a long name */
const choice = (name: string, end: string, value: string): Choice => ({
  name: name.slice(0, MAX_CHOICE_LENGTH - end.length) + end,
  value,
});

/** The suggestions for an option: those of others are never shown to a customer. */
export async function suggest(context: CommandContext): Promise<Choice[]> {
  const { db, interaction } = context;
  const { focused, name, user, roles, options } = interaction;
  const typed = (options.get(focused ?? '') ?? '').toLowerCase();
  const isForAdmins = COMMANDS[name]?.isForAdmins === true;
  if (isForAdmins && !isAdmin(context)) return [];
  if (focused === 'product') {
    const found = await suggestProducts(db, typed, isForAdmins ? undefined : roles);
    return found.map((product) => choice(product.name, '', String(product.id)));
  }
  if (focused !== 'license') return [];
  const rows = isForAdmins
    ? await listLicenses(
        db,
        typed === '' ? {} : { q: typed },
        { limit: MAX_CHOICES, after: undefined },
        now(),
      )
    : await findOwnLicenses(db, user.id);
  const sold = await productsOf(db, rows);
  return rows
    .map((row) =>
      choice(sold.get(row.productId)?.name ?? '', ` ${keyEnd(row)} (#${row.id})`, `#${row.id}`),
    )
    .filter((one) => isForAdmins || one.name.toLowerCase().includes(typed));
}
