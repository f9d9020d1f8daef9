import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inject, vi } from 'vitest';
import { isLong } from '../support/long.ts';
import { type Driver, drivers } from './example-drivers.ts';
import { atEndOfFile } from './own.ts';
import { canRun, hasTools } from './tools.ts';

/** The examples as programs: each is built and run as the README of the examples says. */

declare module 'vitest' {
  interface ProvidedContext {
    exampleFolder: string;
  }
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export const readIfThere = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined;

export interface Program {
  file: string;
  build: string[];
  start: string;
  tools: string[];
  driver: Driver;
}

function driverOf(file: string): Driver {
  const driver = drivers[file];
  if (!driver) throw new Error(`examples/${file} has no driver`);
  return driver;
}

const README = readFileSync('examples/README.md', 'utf8');

const sectionOf = (title: string): string =>
  README.split('\n## ').find((section) => section.startsWith(title)) ?? '';

/** The messages for the buyer in the README: by the message of the service for a refusal, else by the case. */
export const BUYER_MESSAGES: ReadonlyMap<string, string> = new Map(
  [
    ...sectionOf('Messages for the buyer').matchAll(
      /^\| (?:the service says \*(.+)\*|(.+)) \| `(.+)` \|$/gm,
    ),
  ].map(([, said, other = '', message = '']) => [said ?? other, message]),
);

/** The message of the README for a buyer. */
export const messageFor = (name: string): string =>
  BUYER_MESSAGES.get(name) ?? `no message for ${name}`;

/** The commands of the README's table: the last one runs the program, the one before builds it. */
export const programs: Program[] = [...README.matchAll(/^\| \[(.+?)\].*\| `(.+)` \|$/gm)].map(
  ([, file = '', commands = '']) => {
    const steps = commands.split(' && ');
    const source = readFileSync(`examples/${file}`, 'utf8');
    const called = ['curl', 'openssl'].filter((tool) =>
      new RegExp(`\\b${tool} -?[a-z]`).test(source),
    );
    const tools = [...steps.map((step) => step.split(' ', 1)[0] ?? ''), ...called];
    return {
      file,
      build: steps.slice(0, -1),
      start: steps.at(-1) ?? '',
      tools: tools.filter((tool) => !tool.startsWith('./')),
      driver: driverOf(file),
    };
  },
);

/** The program without the long form, because it starts in no time. The guard runs that of Java. */
const IN_SHORT_FORM = 'licet.py';

/** The programs that are tried here. */
export const runnable = programs.filter(({ file, tools, driver: { needs } }) => {
  if (!isLong && file !== IN_SHORT_FORM) return false;
  const name = `examples/${file}`;
  if (!hasTools(name, ...tools)) return false;
  if (!needs) return true;
  return canRun(spawnSync('sh', ['-c', needs.command]).status === 0, needs.packages, name);
});

export interface Ending {
  code: number | null;
  output: string;
}

function startIn(
  folder: string,
  command: string,
  variables: NodeJS.ProcessEnv = {},
): ChildProcessWithoutNullStreams {
  return spawn('sh', ['-c', `exec ${command}`], {
    cwd: folder,
    env: {
      ...process.env,
      // Java starts faster, and resolves one host name only; Go downloads nothing.
      JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.net.hosts.file=hosts',
      GOPROXY: 'off',
      NO_PROXY: '127.0.0.1,localhost',
      LC_ALL: 'C.UTF-8',
      USER: userInfo().username,
      ...variables,
    },
  });
}

/** Runs a command in the folder of an example to its end. */
export function runIn(
  folder: string,
  command: string,
  variables: NodeJS.ProcessEnv = {},
): Promise<Ending> {
  const child = startIn(folder, command, variables);
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) =>
    child.on('close', (code) =>
      resolve({ code, output: output.replace(/^Picked up JAVA_TOOL_OPTIONS.*\n/gm, '').trim() }),
    ),
  );
}

/** Builds a program and its driver in a folder, perhaps with a change of the source. @returns the warnings */
export async function build(
  folder: string,
  { file, build: commands, driver }: Program,
  change = (source: string): string => source,
): Promise<string> {
  cpSync('examples', folder, { recursive: true });
  const source = change(readFileSync(join(folder, file), 'utf8'));
  const files = { [file]: source, hosts: '127.0.0.1 localhost\n', ...driver.files() };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const withDriver = commands.map((command) => `${command} ${driver.builtWith ?? ''}`);
  let warnings = '';
  for (const command of [...withDriver, ...(driver.build ? [driver.build] : [])]) {
    const { code, output } = await runIn(folder, command);
    if (code !== 0) throw new Error(`${command}\n${output}`);
    warnings += output;
  }
  return warnings;
}

/** The folder of a program, which is built once for all test files, and without warnings. */
export async function built(program: Program): Promise<string> {
  const folder = join(inject('exampleFolder'), program.file);
  const result = join(folder, 'result');
  // Only the first of several test files can make the folder.
  if (mkdirSync(folder, { recursive: true }) !== undefined) {
    writeFileSync(result, await build(folder, program).catch(String));
  }
  await vi.waitUntil(() => existsSync(result), { timeout: 50_000, interval: 100 });
  const problems = readFileSync(result, 'utf8');
  if (problems !== '') throw new Error(problems);
  return folder;
}

/** A validation by a driver. */
export interface DriverCheck {
  url: string;
  markFile: string;
  licenseKey: string;
  productId: number;
  publicKeys?: string | undefined;
  timeoutSeconds?: number | undefined;
  /** `machine` for the machine's own id. */
  hwid?: string | undefined;
  /** The last two are for objects that can be closed. */
  call?: 'check' | 'move' | 'check twice' | 'check and close' | undefined;
}

export interface DriverEnding {
  state: string;
  message: string;
}

/** An answer with what it says about the license. */
export interface DriverAnswer extends DriverEnding {
  /** In seconds since 1970. */
  checkAfter: number;
  /** The value of the entitlement that was asked for; undefined for none. */
  value: string | undefined;
}

export interface Drive {
  (check: DriverCheck): Promise<DriverEnding>;
  /** The same, with the value of an entitlement. */
  read: (check: DriverCheck, name: string) => Promise<DriverAnswer>;
  /** Ends the process after its last check. */
  end: () => Promise<unknown>;
}

/** Starts the driver of a program that is built in a folder. It makes one check after the other. */
export function startDriver(folder: string, { file, driver }: Program): Drive {
  const child = startIn(folder, driver.start);
  atEndOfFile(() => child.kill());
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += chunk));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();
  const read: Drive['read'] = (check, name) => {
    const { url, markFile, publicKeys = '', licenseKey, productId } = check;
    const { timeoutSeconds = 10, hwid = '', call = 'check' } = check;
    const parts = [url, markFile, publicKeys, licenseKey, productId, timeoutSeconds, hwid, call];
    const line = [...parts, name].join('|');
    const answer = last.then(async () => {
      child.stdin.write(`${line}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`${file} ended: ${errors}`);
      const [, state, message = '', checkAfter, entitlement] =
        /^(valid|grace|refused|unreachable|misuse)\s([^|]*)(?:\|(\d*)\|(.*))?$/.exec(value) ?? [];
      if (!state) throw new Error(`${file} printed: ${value}`);
      return { state, message, checkAfter: Number(checkAfter), value: entitlement || undefined };
    });
    last = answer.catch(() => undefined);
    return answer;
  };
  const drive = (check: DriverCheck) =>
    read(check, '').then(({ state, message }) => ({ state, message }));
  return Object.assign(drive, {
    read,
    end: () => {
      child.stdin.end();
      return once(child, 'close');
    },
  });
}
