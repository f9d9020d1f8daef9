import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';

/** The examples as programs: each is built and run as the README of the examples says. */

export const isInstalled = (tool: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

export interface Program {
  file: string;
  build: string[];
  start: string;
  missing: string[];
}

/** The commands of the README's table: the last one runs the program, the one before builds it. */
export const programs: Program[] = [
  ...readFileSync('examples/README.md', 'utf8').matchAll(/^\| \[(.+?)\].*\| `(.+)` \|$/gm),
].map(([, file = '', commands = '']) => {
  const steps = commands.split(' && ');
  const curl = /\bcurl -q/.test(readFileSync(`examples/${file}`, 'utf8')) ? ['curl'] : [];
  const tools = [...steps.map((step) => step.split(' ', 1)[0] ?? ''), ...curl];
  return {
    file,
    build: steps.slice(0, -1),
    start: steps.at(-1) ?? '',
    missing: tools.filter((tool) => !tool.startsWith('./') && !isInstalled(tool)),
  };
});

export interface Ending {
  code: number | null;
  output: string;
}

/** Starts a program of an example in the example's own folder. */
export function startIn(
  folder: string,
  file: string,
  command: string,
  variables: NodeJS.ProcessEnv = {},
): ChildProcessWithoutNullStreams {
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, '127.0.0.1 localhost\n');
  return spawn('sh', ['-c', `exec ${command}`], {
    cwd: join(folder, file),
    env: {
      ...process.env,
      // Java starts faster, and knows no host name but one; Go looks for nothing in the network.
      JAVA_TOOL_OPTIONS: `-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.net.hosts.file=${hosts}`,
      GOPROXY: 'off',
      NO_PROXY: '127.0.0.1,localhost',
      LC_ALL: 'C.UTF-8',
      USER: userInfo().username,
      ...variables,
    },
  });
}

/** Runs a program of an example to its end. */
export function runIn(
  folder: string,
  file: string,
  command: string,
  variables: NodeJS.ProcessEnv = {},
): Promise<Ending> {
  const child = startIn(folder, file, command, variables);
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) =>
    child.on('close', (code) =>
      resolve({ code, output: output.replace(/^Picked up JAVA_TOOL_OPTIONS.*\n/gm, '').trim() }),
    ),
  );
}

/** Copies the examples into a folder of this program, and builds it there. */
export async function build(folder: string, { file, build }: Program): Promise<void> {
  cpSync('examples', join(folder, file), { recursive: true });
  for (const command of build) {
    const { code, output } = await runIn(folder, file, command);
    expect(code, `${command}\n${output}`).toBe(0);
  }
}
