/** A client of a running Worker's inspector, like a browser's developer tools. */

interface Reply {
  id?: number;
  result?: { usedSize?: number };
}

function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null;
}

/** The reply of the inspector to a command. */
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
 * The heap of a Worker, in megabytes, after garbage collection.
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
    socket.addEventListener('error', () => reject(new Error('The inspector does not respond')));
  });
  try {
    const collected = ask(socket, 1, 'HeapProfiler.collectGarbage').then(() => true);
    while (!(await Promise.race([collected, use().then(() => false)])));
    const { usedSize } = (await ask(socket, 2, 'Runtime.getHeapUsage')).result ?? {};
    if (usedSize === undefined) throw new Error('The inspector reports no heap');
    return usedSize / 1_000_000;
  } finally {
    socket.close();
  }
}
