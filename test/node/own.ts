import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { afterAll } from 'vitest';
import { newFolder } from './service.ts';

/** Folders and servers of a test file, which end with it. */

/** A folder that is removed after the tests of the file. */
export function ownFolder(): string {
  const folder = newFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const servers = new Set<Server>();
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a server in the place of a service. @returns its address */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.add(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  return `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
}

/** Starts a server that responds to a ping as Licet does, and to all else with a text. */
export const listenWith = (text: string): Promise<string> =>
  listen(({ url }, response) => response.end(url?.endsWith('/ping') ? 'pong' : text));
