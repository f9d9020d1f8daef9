import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { type CliCommand, runCommand } from '@licet/cli/command-line';
import { command as doctor } from '@licet/cli/doctor';
import { command as exportCommand } from '@licet/cli/export';
import { command as importCommand } from '@licet/cli/import';
import { command as licet } from '@licet/cli/licet';
import { vi } from 'vitest';
import { argsOfScript } from '../node/service.ts';

/** Runs commands of the command line, in this process or in one of their own. */

const COMMANDS = { licet, import: importCommand, export: exportCommand, doctor };
export type CommandName = keyof typeof COMMANDS;

export const isCommandName = (name: string): name is CommandName => name in COMMANDS;

export type Environment = Record<string, string | undefined>;

/** The environment of a command that says nothing of a service or a terminal. */
const CLEAN: Environment = {
  LICET_URL: undefined,
  LICET_TOKEN: undefined,
  LICET_FROM_TOKEN: undefined,
  FORCE_COLOR: undefined,
  NO_COLOR: '1',
};

export interface Ending {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Both, in the order in which they were printed; for a process of its own, one after the other. */
  output: string;
}

const isRunning = new Set<CliCommand>();

/** Runs a command in this process. One at a time: it has the environment and the console. */
export async function runHere(
  name: CommandName,
  args: readonly string[],
  env: Environment = {},
): Promise<Ending> {
  if (isRunning.size > 0) throw new Error('Another command is running in this process');
  const command = COMMANDS[name];
  isRunning.add(command);
  for (const [variable, value] of Object.entries({ ...CLEAN, ...env })) vi.stubEnv(variable, value);
  const ending: Ending = { code: null, stdout: '', stderr: '', output: '' };
  const print = (stream: 'stdout' | 'stderr') => (chunk: unknown) => {
    ending[stream] += chunk;
    ending.output += chunk;
    return true;
  };
  const line = (stream: 'stdout' | 'stderr') => (message: unknown) => {
    print(stream)(`${message ?? ''}\n`);
  };
  const spies = [
    vi.spyOn(console, 'log').mockImplementation(line('stdout')),
    vi.spyOn(console, 'error').mockImplementation(line('stderr')),
    vi.spyOn(process.stdout, 'write').mockImplementation(print('stdout')),
    vi.spyOn(process.stderr, 'write').mockImplementation(print('stderr')),
  ];
  try {
    ending.code = await runCommand(command, args);
    return ending;
  } finally {
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
    isRunning.delete(command);
  }
}

const children = new Set<ChildProcess>();

/** Starts a command as a process of its own. */
export function startCommand(
  name: CommandName,
  args: readonly string[],
  env: Environment = {},
  nodeOptions: readonly string[] = [],
): ChildProcess {
  const child = spawn(process.execPath, [...nodeOptions, ...argsOfScript(name), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...CLEAN, ...env },
  });
  children.add(child);
  child.on('close', () => children.delete(child));
  return child;
}

/** Ends commands that a failed test has left. */
export function killCommands(): void {
  for (const child of children) child.kill('SIGKILL');
}

/** The output of a process, and its exit status. */
export async function endingOf(child: ChildProcess): Promise<Ending> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('The process has no pipes');
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [out, err, code] = await Promise.all([text(stdout), text(stderr), closed]);
  return { code, stdout: out, stderr: err, output: out + err };
}
