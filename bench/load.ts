import { connect } from 'node:net';

/**
 * The load: HTTP/1.1 over raw sockets, one request at a time on each connection, sent as bytes that
 * are ready. Node's own client takes longer for a request than a bare Worker does.
 */

export interface Load {
  url: URL;
  connections: number;
  /** The bytes of a request. */
  requestAt: (index: number) => Uint8Array;
  /** The index of the first request. */
  from: number;
  /** No request is begun after so many, or after so long. */
  until: { count: number } | { seconds: number };
  /** What every answer has to be. */
  expected: ExpectedAnswer;
}

export interface ExpectedAnswer {
  status: number;
  /** How the body begins. */
  body: string;
}

export interface Measured {
  /** How many were sent. */
  requests: number;
  /** From the first request to the last answer. */
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** How many answers were not the expected one. */
  wrong: number;
  /** One of them. */
  wrongAnswer: string | null;
  /** How many requests got no answer. */
  lost: number;
  /** How much of one core the load took itself. */
  ownCpuShare: number;
}

const ANSWER_TIMEOUT_MS = 30_000;
const READ_BUFFER_BYTES = 16 * 1024;
const HEAD_END = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;

interface Answer {
  status: number;
  body: Buffer;
}

/** The answer at the start of what was read; null while some of it is missing. */
function parseAnswer(read: Buffer): Answer | null {
  const headEnd = read.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = read.toString('latin1', 0, headEnd);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const bodyStart = headEnd + HEAD_END.length;
  if (read.length < bodyStart + length) return null;
  return {
    status: Number(head.slice(STATUS_AT, STATUS_AT + 3)),
    body: read.subarray(bodyStart, bodyStart + length),
  };
}

interface Connection {
  url: URL;
  /** The next request; null when there is none. */
  next: () => Uint8Array | null;
  onAnswer: (answer: Answer, latencyMs: number) => void;
}

/** Sends requests one after the other; resolves to how many got no answer: none, or the last one. */
const converse = ({ url, next, onAnswer }: Connection): Promise<number> =>
  new Promise((resolve) => {
    const buffer = Buffer.allocUnsafe(READ_BUFFER_BYTES);
    let unread: Buffer | null = null;
    let sentAt: number | null = null;

    const sendNext = (): void => {
      const request = next();
      sentAt = request && performance.now();
      if (request) socket.write(request);
      else socket.end();
    };
    const read = (length: number): boolean => {
      const chunk = buffer.subarray(0, length);
      const bytes = unread ? Buffer.concat([unread, chunk]) : chunk;
      const answer = parseAnswer(bytes);
      // The buffer is used again by the next read.
      unread = answer ? null : Buffer.from(bytes);
      if (answer && sentAt !== null) {
        onAnswer(answer, performance.now() - sentAt);
        sendNext();
      }
      return true;
    };
    const socket = connect({
      host: url.hostname,
      port: Number(url.port),
      noDelay: true,
      onread: { buffer, callback: read },
    });
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.on('connect', sendNext);
    // The close that follows tells what is lost.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(sentAt === null ? 0 : 1));
  });

const startsWith = (body: Buffer, start: Buffer): boolean =>
  body.length >= start.length && body.compare(start, 0, start.length, 0, start.length) === 0;

/** The value below which the share of the sorted values lies. */
const percentile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** Sends the load: on each connection the next request as soon as the last one is answered. */
export async function send(load: Load): Promise<Measured> {
  const { url, connections, requestAt, from, until, expected } = load;
  const expectedBody = Buffer.from(expected.body);
  const latenciesMs: number[] = [];
  let index = from;
  let wrong = 0;
  let wrongAnswer: string | null = null;

  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const last = 'count' in until ? from + until.count : Number.POSITIVE_INFINITY;
  const end = 'seconds' in until ? start + until.seconds * 1000 : Number.POSITIVE_INFINITY;
  const next = () => (index < last && performance.now() < end ? requestAt(index++) : null);
  const onAnswer = ({ status, body }: Answer, latencyMs: number): void => {
    latenciesMs.push(latencyMs);
    if (status === expected.status && startsWith(body, expectedBody)) return;
    wrong++;
    wrongAnswer ??= `${status} ${body.toString()}`;
  };
  const lost = await Promise.all(
    Array.from({ length: connections }, () => converse({ url, next, onAnswer })),
  );

  const seconds = (performance.now() - start) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    requests: index - from,
    seconds,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    wrong,
    wrongAnswer,
    lost: lost.reduce((sum, one) => sum + one, 0),
    ownCpuShare: (cpu.user + cpu.system) / 1_000_000 / seconds,
  };
}
