import { type CliCommand, runCommand } from './command-line.ts';
import { fail, guardOutput, onStopSignal } from './terminal.ts';

/** Runs the command that the first argument names. The npm scripts start this file. */

/** Each is loaded alone: their dependencies take time to load. */
const COMMANDS: Readonly<Record<string, () => Promise<{ command: CliCommand }>>> = {
  licet: () => import('./licet.ts'),
  import: () => import('./import.ts'),
  export: () => import('./export.ts'),
  doctor: () => import('./doctor.ts'),
};

const [name = '', ...args] = process.argv.slice(2);
const load = COMMANDS[name];
if (!load) fail(`Unknown command "${name}". Give one of ${Object.keys(COMMANDS).join(', ')}.`);
const { command } = await load();
guardOutput(command.onUnreadOutput);
if (command.stopMessage) onStopSignal(command.stopMessage);
const status = await runCommand(command, args);
// After a failure, open connections must not keep the process alive.
if (status !== 0) process.exit(status);
