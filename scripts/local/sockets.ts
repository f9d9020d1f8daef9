import childProcess, { type ChildProcess, type SpawnOptions } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * Miniflare is for development: beside the service's own port it listens on two more ports of this machine. There every
 * local user could read files with the rights of the service, and send requests without an address. This module keeps
 * both closed.
 */

let folder: string | undefined;

/** The file of the socket on which the runtime runs the scheduled handler, for the owner of this process alone. */
export const triggerSocket = (): string => join(folder ?? '', 'trigger');

function removeFolder(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
process.on('exit', removeFolder);

/** Replaces miniflare's server in this process, to which the Worker and its files send nothing. */
class ClosedServer extends EventEmitter {
  listen(_port: number, _host: string, onListening: () => void): void {
    onListening();
  }
  address(): { port: number } {
    return { port: 0 };
  }
  close(onClosed: () => void): void {
    onClosed();
  }
}
Object.assign(http, { createServer: () => new ClosedServer() });

const { spawn } = childProcess;
let watch: (runtime: ChildProcess) => void = () => undefined;
let runtime: ChildProcess | undefined;
let isOver = false;

/** Watches each process of workerd that miniflare starts. */
export function onRuntime(listener: typeof watch): void {
  watch = listener;
}

/** Keeps miniflare from starting a runtime again. */
export function startNoRuntime(): void {
  isOver = true;
}

/** Ends the runtime at once. Resolves when it has ended. */
export async function endRuntime(): Promise<void> {
  if (runtime?.exitCode !== null || runtime.signalCode !== null) return;
  runtime.kill('SIGKILL');
  await once(runtime, 'exit');
}

Object.assign(childProcess, {
  spawn: (command: string, args: readonly string[], options: SpawnOptions): ChildProcess => {
    if (!basename(command).startsWith('workerd')) return spawn(command, args, options);
    if (isOver) throw new Error('The service stops');
    removeFolder();
    // The path of a socket is at most 107 bytes, and that of the data may be longer.
    folder = mkdtempSync(join(tmpdir(), 'licet-trigger-'));
    const entry = '--socket-addr=entry=';
    const given = args.map((arg) =>
      arg.startsWith(entry) ? `${entry}unix:${triggerSocket()}` : arg,
    );
    // A signal to this process group, such as that of Ctrl+C, must not end the runtime before its records are stored.
    const started = spawn(command, given, { ...options, detached: true });
    runtime = started;
    started.once('spawn', () => watch(started));
    return started;
  },
});
