import type { ResetOutcome } from '@licet/contract/portal-page';
import { eq, sql } from 'drizzle-orm';
import { isOvertaken, stillHolds, untilNotOvertaken } from '../../db/change.ts';
import { escapeMarkdown } from '../../lib/discord.ts';
import { customers } from '../../resources/customers/schema.ts';
import { insertLicenses } from '../../resources/licenses/create.ts';
import { findLicenseByKey, redeemLicense } from '../../resources/licenses/queries.ts';
import type { LicenseRow } from '../../resources/licenses/row.ts';
import { statusAt } from '../../resources/licenses/rules.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { type Choose, resetSlots } from '../../resources/licenses/self-reset.ts';
import { rotationsOf } from '../../resources/licenses/self-rotate.ts';
import { findProduct } from '../../resources/products/queries.ts';
import { withId } from '../portal/machines.ts';
import { createPortalLink } from '../portal/sessions.ts';
import { type Command, type CommandContext, code, listed, newValues, say } from './command.ts';
import type { Message } from './interaction.ts';
import {
  conditionText,
  countOwnLicenses,
  endText,
  findOwnLicenses,
  fullStep,
  licenseIdIn,
  lineOf,
  nextStep,
  productsOf,
} from './licenses.ts';
import { type CodeFault, linkByCode } from './link-codes.ts';
import { giveRoles } from './roles.ts';
import { discordClaims } from './schema.ts';

/** The commands of customers at Discord (10). Each refusal says what to do next. */

/** A link at Discord is opened at once. */
const LINK_MINUTES = 15;
/** The id of a button, which runs as a command does. */
export const SHOW_KEYS = 'keys';

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
const OTHER_ACCOUNT = say(
  'This license is linked to another Discord account. Ask the shop to move it to yours.',
);
const FASTER = say(
  'Another account was faster: this license is linked to it now. Ask the shop to move it to yours.',
);
const NOT_REACHABLE = say(
  'Nobody can open the page of this shop yet: its service does not know its public address. Tell the shop to set PUBLIC_URL.',
);

async function withRoles(context: CommandContext, text: string): Promise<Message> {
  const { db, outbound, interaction } = context;
  const trouble = await giveRoles({ db, outbound, now: Date.now() }, interaction.user.id);
  // First: the end of a long message is cut.
  return say(trouble ? `${trouble}\n${text}` : text);
}

async function redeem(context: CommandContext): Promise<Message> {
  const { db, interaction, newSender, isTooOften } = context;
  const { id: userId, username } = interaction.user;
  if (isTooOften()) return TOO_OFTEN;
  let wasFree = false;
  return untilNotOvertaken(async () => {
    const row = await findLicenseByKey(db, interaction.options.get('key') ?? '');
    if (!row || row.state === 'DELETED') return NO_KEY;
    const product = await findProduct(db, row.productId);
    const name = escapeMarkdown(product?.name ?? '');
    const condition = conditionText(row, Date.now());
    const next = nextStep(row, product, Date.now());
    const owner = row.ownerChatId || row.customer?.chatId;
    if (owner === userId) {
      return withRoles(
        context,
        `**${name}** is linked to your account already: ${condition}.${next} /licenses shows it.`,
      );
    }
    if (owner) return wasFree ? FASTER : OTHER_ACCOUNT;
    wasFree = true;
    await redeemLicense(newSender({ actor: 'service' }), row, { id: userId, username });
    return withRoles(
      context,
      `**${name}** is linked to your account: ${condition}.${next} /licenses shows it, and /portal opens your page.`,
    );
  });
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
    Date.now(),
  );
  if (fault) return CODE_FAULTS[fault];
  return withRoles(
    context,
    'Your page is linked to your account. /licenses shows your licenses, also those that you buy later.',
  );
}

async function showLicenses(context: CommandContext): Promise<Message> {
  const { db, interaction } = context;
  const rows = await findOwnLicenses(db, interaction.user.id);
  if (rows.length === 0) return NO_LICENSES;
  const sold = await productsOf(db, rows);
  const now = Date.now();
  const lines = rows.map((row) => {
    const product = sold.get(row.productId);
    const next = nextStep(row, product, now) + fullStep(row, product, now);
    return `- ${lineOf(row, product?.name ?? '', now)}.${next}`;
  });
  const total = await countOwnLicenses(db, interaction.user.id, rows);
  const { text } = await withRoles(context, listed(lines, 'use /portal', total));
  return { text, button: { label: 'Show keys', id: SHOW_KEYS } };
}

/** The next step of an account one of whose shown keys has leaked, in a line. */
async function leakText(
  { db, interaction }: CommandContext,
  rows: readonly LicenseRow[],
): Promise<string> {
  const sold = await productsOf(db, rows);
  const rotations = await rotationsOf(
    db,
    { chatId: interaction.user.id },
    rows.map((row) => ({ row, isAllowed: sold.get(row.productId)?.selfRotate ?? false })),
    Date.now(),
  );
  const isAllowed = rotations.values().some((rotation) => rotation.isAllowed);
  return `\nHas a key leaked? ${isAllowed ? 'Replace it on your page: use /portal.' : 'Ask the shop for a new one.'}`;
}

async function showKeys(context: CommandContext): Promise<Message> {
  const { db, interaction } = context;
  const rows = await findOwnLicenses(db, interaction.user.id);
  if (rows.length === 0) return NO_LICENSES;
  const sold = await productsOf(db, rows);
  const now = Date.now();
  const lines = rows.map((row) => {
    const product = sold.get(row.productId);
    const name = escapeMarkdown(product?.name ?? '');
    const next = nextStep(row, product, now);
    const refused = next && `, ${conditionText(row, now)}.${next}`;
    return `- **${name}** ${code(row.licenseKey)}${refused}`;
  });
  const total = await countOwnLicenses(db, interaction.user.id, rows);
  return say(listed(lines, 'use /portal', total) + (await leakText(context, rows)));
}

const discordTime = (timestamp: string): string =>
  `<t:${Math.floor(Date.parse(timestamp) / 1000)}:f>`;

function outcomeText(outcome: ResetOutcome): string {
  const { left, allowed, returnsAt } = outcome.resets;
  switch (outcome.outcome) {
    case 'freed': {
      const kept = outcome.kept > 0 ? ' Those that the shop has blocked stay.' : '';
      const shared = outcome.shared > 0 ? ' Those that another server or computer uses stay.' : '';
      return `Freed slots: ${outcome.freed}.${kept}${shared} Start your server again: it takes a free slot. Resets left: ${left} of ${allowed} in 30 days.`;
    }
    case 'gone':
      return 'This server or computer takes no slot of the license. Choose one of the list, or all of them. This did not count as a reset.';
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

/** The slots that an option names. Commands that were registered by an earlier version send the types of values. */
const chosenBy = (what: string, secret: string): Choose =>
  what === 'all' || what === 'IP' || what === 'HWID' ? () => what : withId(what, secret);

async function resetLicense(context: CommandContext): Promise<Message> {
  const { db, interaction, newSender, secret } = context;
  const what = interaction.options.get('what') ?? 'all';
  const person = { chatId: interaction.user.id };
  const reset = await resetSlots(
    () => newSender({ actor: 'customer' }),
    person,
    licenseIdIn(interaction),
    chosenBy(what, secret),
  );
  if (!reset) return NOT_YOURS;
  const { outcome, row } = reset;
  const now = Date.now();
  if (statusAt(row, now) !== 'EXPIRED') return say(outcomeText(outcome));
  const next = nextStep(row, await findProduct(db, row.productId), now);
  return say(`${outcomeText(outcome)} This license has ${endText(row, now)}.${next}`);
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
  const own = async (): Promise<LicenseRow | undefined> => {
    const rows = await findOwnLicenses(db, userId, eq(licenses.productId, product.id));
    return rows.find((row) => statusAt(row, Date.now()) === 'ACTIVE') ?? rows[0];
  };
  const shown = async (row: LicenseRow) =>
    withRoles(
      context,
      `Your license of **${escapeMarkdown(product.name)}**: \`${row.licenseKey}\`, ${conditionText(row, Date.now())}.${nextStep(row, product, Date.now())}${await leakText(context, [row])}`,
    );
  const known = await own();
  if (known) return shown(known);
  // A claim outlives its license, because the role at Discord does, too.
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
  return made
    ? shown(made)
    : say('You had your license of this product before. Ask the shop for another one.');
}

export const CUSTOMER_COMMANDS: Readonly<Record<string, Command>> = {
  redeem: { run: redeem, changes: true },
  link: { run: link, changes: true },
  licenses: { run: showLicenses },
  [SHOW_KEYS]: { run: showKeys },
  reset: { run: resetLicense, changes: true },
  portal: { run: portal, changes: true },
  'get-license': { run: getLicense, changes: true },
};
