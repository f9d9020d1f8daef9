import { createServer } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** Receivers of webhooks: the paths in `workerData` respond at once, and any other never does. */

const paths: string[] = workerData;
const arrived = new Map(paths.map((path) => [path, new Set<string>()]));

const server = createServer((request, response) => {
  const ids = arrived.get(request.url ?? '');
  request.resume().on('end', () => {
    if (!ids) return;
    ids.add(String(request.headers['webhook-id']));
    response.writeHead(204).end();
  });
}).listen(0, '127.0.0.1', () => {
  const address = server.address();
  parentPort?.postMessage(typeof address === 'object' ? address?.port : 0);
});

parentPort?.on('message', () => {
  parentPort?.postMessage([...arrived.values()].map(({ size }) => size));
});
