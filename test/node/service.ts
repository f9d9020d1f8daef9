import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The service as `npm start` runs it, on a free port and with a database in a folder of its own. */
export interface RunningService {
  port: number;
  address: string;
  /** What it printed until now. */
  output: () => string;
  stop: () => Promise<void>;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address
          ? resolve(address.port)
          : reject(new Error('no port')),
      );
    });
  });
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'licet-'));

export function npmStart(...args: string[]): ChildProcess {
  // A process group of its own, so that stopping ends npm and all that it started.
  return spawn('npm', ['start', '--', ...args], { stdio: 'pipe', detached: true });
}

/** The status with which a process ends, and all that it printed. */
export function ending(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}

/** Starts the service and waits until it says that it runs. */
export async function startService(folder: string): Promise<RunningService> {
  const port = await freePort();
  const child = npmStart('--port', String(port), '--persist-to', folder);
  let output = '';
  const ended = ending(child);
  await new Promise<void>((resolve, reject) => {
    const listen = (chunk: Buffer): void => {
      output += chunk.toString();
      if (output.includes('Licet runs on')) resolve();
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    void ended.then((end) => reject(new Error(`npm start ended:\n${end.output}`)));
  });
  return {
    port,
    address: `http://localhost:${port}`,
    output: () => output,
    stop: async () => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      await ended;
    },
  };
}
