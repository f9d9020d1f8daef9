#!/usr/bin/env node
import { type CliCommand, runCommand } from './command-line.ts';
import { guardOutput, onStopSignal } from './terminal.ts';

/** Runs the command that the first argument names, or one of `licet`. The npm scripts start this file. */

interface CommandModule {
  command: CliCommand;
}

const loadLicet = (): Promise<CommandModule> => import('./licet.ts');

/** Each is loaded alone: their dependencies take time to load. */
const COMMANDS = new Map<string | undefined, () => Promise<CommandModule>>([
  ['licet', loadLicet],
  ['import', () => import('./import.ts')],
  ['export', () => import('./export.ts')],
  ['doctor', () => import('./doctor.ts')],
]);

/** The command and its arguments. `help import` is the help of another command than `licet`. */
function find(args: readonly string[]): [load: () => Promise<CommandModule>, args: string[]] {
  const [first, ...others] = args;
  const load = COMMANDS.get(first);
  if (load) return [load, others];
  const helpful = first === 'help' ? COMMANDS.get(others[0]) : undefined;
  return helpful ? [helpful, ['--help']] : [loadLicet, [...args]];
}

const [load, args] = find(process.argv.slice(2));
const { command } = await load();
guardOutput(command.onUnreadOutput);
if (command.stopMessage) onStopSignal(command.stopMessage);
const status = await runCommand(command, args);
// After a failure, open connections must not keep the process alive.
if (status !== 0) process.exit(status);
