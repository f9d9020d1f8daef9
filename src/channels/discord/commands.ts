import { agoText } from '@licet/contract/ago';
import { isOvertaken } from '../../db/change.ts';
import { DomainError } from '../../lib/errors.ts';
import { listLicenses } from '../../resources/licenses/list.ts';
import { findOwnLicense } from '../../resources/licenses/queries.ts';
import { listMachines } from '../portal/machines.ts';
import { ADMIN_COMMANDS } from './admin-commands.ts';
import { type Command, type CommandContext, say } from './command.ts';
import { CUSTOMER_COMMANDS } from './customer-commands.ts';
import type { Message } from './interaction.ts';
import {
  findOwnLicenses,
  isSuggestedBy,
  keyText,
  licenseIdIn,
  productsOf,
  suggestProducts,
} from './licenses.ts';
import { discordInteractions } from './schema.ts';

/** Runs the commands at Discord, and suggests values for their options (10). */

const MAX_CHOICES = 25;
const MAX_CHOICE_LENGTH = 100;

const NOT_ALLOWED = say(
  'Only administrators may use this command. Ask one for the role that the shop has set.',
);

const HAS_RUN = say(
  'This command has run already, and its first response counts. To run it again, write it again.',
);

const COMMANDS: Readonly<Record<string, Command>> = { ...CUSTOMER_COMMANDS, ...ADMIN_COMMANDS };

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
    return say(
      'This command is gone. Ask the shop to run: npm run licet -- discord setup --client-secret FILE',
    );
  }
  if (command.isForAdmins && !isAdmin(context)) return NOT_ALLOWED;
  if (command.changes) {
    const begun = await db
      .insert(discordInteractions)
      .values({ id: interaction.id, handledAt: Date.now() })
      .onConflictDoNothing()
      .returning();
    if (begun.length === 0) return HAS_RUN;
  }
  try {
    return await command.run(context);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return isOvertaken(error)
      ? say('Others change this at the same time. Try again.')
      : say(`${error.message}. Correct it, and write the command again.`);
  }
}

interface Choice {
  name: string;
  value: string;
}

/** A choice with a short name. @param end the part that stays whole */
const choice = (name: string, end: string, value: string): Choice => ({
  name: name.slice(0, MAX_CHOICE_LENGTH - end.length) + end,
  value,
});

const AGO = new Intl.RelativeTimeFormat('en');
const ALL_MACHINES = choice('All servers and computers', '', 'all');

/** The machines of the license that the command has so far, each with the time since its last use. */
async function suggestMachines(
  { db, interaction, secret }: CommandContext,
  typed: string,
): Promise<Choice[]> {
  const person = { chatId: interaction.user.id };
  const row = await findOwnLicense(db, licenseIdIn(interaction), person);
  if (!row) return [];
  const now = Date.now();
  const machines = await listMachines(db, row.id, null, secret, now);
  const choices = machines.map(({ id, ip, hwid, lastUsed }) => {
    const values = [ip && `address ${ip}`, hwid && `hardware ID ${hwid}`].filter(Boolean);
    const ago = agoText(AGO, lastUsed, now) ?? 'just now';
    return choice(values.join(', '), `, last used ${ago}`, id);
  });
  return [ALL_MACHINES, ...choices]
    .filter((one) => one.name.toLowerCase().includes(typed.toLowerCase()))
    .slice(0, MAX_CHOICES);
}

/** The suggestions for an option: those of others are never shown to a customer. */
export async function suggest(context: CommandContext): Promise<Choice[]> {
  const { db, interaction } = context;
  const { focused, name, user, roles, options } = interaction;
  const typed = options.get(focused ?? '') ?? '';
  const isForAdmins = COMMANDS[name]?.isForAdmins === true;
  if (isForAdmins && !isAdmin(context)) return [];
  if (focused === 'product') {
    const found = await suggestProducts(db, typed, isForAdmins ? undefined : roles);
    return found.map((product) => choice(product.name, '', String(product.id)));
  }
  if (name === 'reset' && focused === 'what') return suggestMachines(context, typed);
  if (focused !== 'license') return [];
  const rows = isForAdmins
    ? await listLicenses(
        db,
        typed === '' ? {} : { q: typed },
        { limit: MAX_CHOICES, after: undefined },
        Date.now(),
      )
    : await findOwnLicenses(db, user.id, isSuggestedBy(typed));
  const sold = await productsOf(db, rows);
  return rows
    .map((row) =>
      choice(sold.get(row.productId)?.name ?? '', ` ${keyText(row)} (#${row.id})`, `#${row.id}`),
    )
    .slice(0, MAX_CHOICES);
}
