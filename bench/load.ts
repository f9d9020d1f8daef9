import { Agent, request } from 'node:http';

export interface Measured {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** How many answers had another status than 200. */
  failed: number;
}

function post(agent: Agent, url: URL, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: 'POST' }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Sends requests over a number of connections, each as soon as its last one is answered. */
export async function load(
  url: URL,
  bodyOf: (index: number) => string,
  connections: number,
  count: number,
): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latenciesMs: number[] = [];
  let next = 0;
  let failed = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (next < count) {
        const body = bodyOf(next++);
        const sentAt = performance.now();
        if ((await post(agent, url, body)) !== 200) failed++;
        latenciesMs.push(performance.now() - sentAt);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  latenciesMs.sort((one, other) => one - other);
  const percentile = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0;
  return {
    requestsPerSecond: count / seconds,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    failed,
  };
}
