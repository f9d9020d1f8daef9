import { DISCORD_COMMANDS } from '@licet/contract/discord-commands';
import { expect, it } from 'vitest';
import { ADMIN_COMMANDS } from '../../src/channels/discord/admin-commands.ts';
import { CUSTOMER_COMMANDS, SHOW_KEYS } from '../../src/channels/discord/customer-commands.ts';

const SUBCOMMAND = 1;

interface Registered {
  name: string;
  options?: readonly { type: number; name: string }[];
}

/** The names of a command: one for each of its subcommands, if it has any. */
function namesOf({ name, options = [] }: Registered): string[] {
  const subcommands = options.filter(({ type }) => type === SUBCOMMAND);
  return subcommands.length > 0 ? subcommands.map((one) => `${name} ${one.name}`) : [name];
}

it('each command that is registered at Discord has a function, and each function is registered', () => {
  const functions = Object.keys({ ...CUSTOMER_COMMANDS, ...ADMIN_COMMANDS });
  const registered = DISCORD_COMMANDS.flatMap(namesOf);
  expect([...registered, SHOW_KEYS].sort()).toEqual(functions.sort());
});
