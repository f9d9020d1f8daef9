import { setTimeout as wait } from 'node:timers/promises';

/** Asks a running Worker's inspector, as a browser's developer tools do. */

const SAMPLES = 8;
const SAMPLE_EVERY_MS = 500;

interface Reply {
  id?: number;
  result?: { usedSize?: number };
}

function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null;
}

/** Asks for the size of the heap once. */
function heapBytes(socket: WebSocket, id: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const listen = ({ data }: MessageEvent): void => {
      const reply: unknown = JSON.parse(String(data));
      if (!isReply(reply) || reply.id !== id) return;
      socket.removeEventListener('message', listen);
      const { usedSize } = reply.result ?? {};
      if (usedSize === undefined) reject(new Error('The inspector does not tell the heap'));
      else resolve(usedSize);
    };
    socket.addEventListener('message', listen);
    socket.send(JSON.stringify({ id, method: 'Runtime.getHeapUsage' }));
  });
}

/**
 * How much a Worker's own objects take, in megabytes: the least of several looks, for what is garbage
 * counts until it is collected.
 *
 * @param inspector the address of miniflare's inspector
 */
export async function heapMegabytes(inspector: URL, workerName: string): Promise<number> {
  const url = new URL(`/core:user:${workerName}`, inspector);
  url.protocol = 'ws:';
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('The inspector does not answer')));
  });
  try {
    let least = Number.POSITIVE_INFINITY;
    for (let id = 1; id <= SAMPLES; id++) {
      least = Math.min(least, await heapBytes(socket, id));
      await wait(SAMPLE_EVERY_MS);
    }
    return least / 1_000_000;
  } finally {
    socket.close();
  }
}
