import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { afterAll } from 'vitest';
import { newFolder } from './service.ts';

/** Folders and servers of a test file, which end with it. */

/** A folder that is removed after the tests of the file. */
export function ownFolder(): string {
  const folder = newFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const ends: (() => void)[] = [];

/** Calls a function when the file's tests have ended. Tests can call this too, which cannot register hooks. */
export function atEndOfFile(end: () => void): void {
  ends.push(end);
}

/** For the set-up of each file: this module is loaded once for all files of a process. */
export function endOwn(): void {
  for (const end of ends.splice(0)) end();
}

/** Starts a server in the place of a service, by https if it has a certificate for localhost. @returns its address */
export async function listen(listener: RequestListener, tls?: ServerOptions): Promise<string> {
  const server = tls ? createHttpsServer(tls, listener) : createServer(listener);
  atEndOfFile(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' ? bound?.port : '';
  return tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
}

/** Starts a server that responds to a ping as Licet does, and to all else with a text. */
export const listenWith = (text: string): Promise<string> =>
  listen(({ url }, response) => response.end(url?.endsWith('/ping') ? 'pong' : text));
