/** Asks a running Worker's inspector, as a browser's developer tools do. */

interface Reply {
  id?: number;
  result?: { usedSize?: number };
}

function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null;
}

/** What the inspector replies to a command. */
function ask(socket: WebSocket, id: number, method: string): Promise<Reply> {
  return new Promise((resolve) => {
    const listen = ({ data }: MessageEvent): void => {
      const reply: unknown = JSON.parse(String(data));
      if (!isReply(reply) || reply.id !== id) return;
      socket.removeEventListener('message', listen);
      resolve(reply);
    };
    socket.addEventListener('message', listen);
    socket.send(JSON.stringify({ id, method }));
  });
}

/**
 * How much a Worker's own objects take, in megabytes, once the garbage is collected.
 *
 * @param inspector the address of miniflare's inspector
 * @param use sends the Worker a request: it collects garbage only while it has something to do
 */
export async function heapMegabytes(
  inspector: URL,
  workerName: string,
  use: () => Promise<unknown>,
): Promise<number> {
  const url = new URL(`/core:user:${workerName}`, inspector);
  url.protocol = 'ws:';
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('The inspector does not answer')));
  });
  try {
    const collected = ask(socket, 1, 'HeapProfiler.collectGarbage').then(() => true);
    while (!(await Promise.race([collected, use().then(() => false)])));
    const { usedSize } = (await ask(socket, 2, 'Runtime.getHeapUsage')).result ?? {};
    if (usedSize === undefined) throw new Error('The inspector does not tell the heap');
    return usedSize / 1_000_000;
  } finally {
    socket.close();
  }
}
