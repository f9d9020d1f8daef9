import { connect } from 'node:net';
import { percentile } from './statistics.ts';

/**
 * The load: HTTP/1.1 over raw sockets, one request at a time on each connection, from bytes that are
 * prepared beforehand. Node's own client takes longer for a request than a bare Worker.
 */

export interface Load {
  url: URL;
  connections: number;
  /** The bytes of a request. */
  requestAt: (index: number) => Uint8Array;
  /** The index of the first request. */
  from: number;
  /** No request begins after so many, or after so long. */
  until: { count: number } | { seconds: number };
  /** The response to every request. */
  expected: ExpectedResponse;
  /** Between a response and the next request on the same connection; 0 unless told. */
  pauseMs?: number;
}

export interface ExpectedResponse {
  status: number;
  /** The beginning of the body. */
  body: string;
  /** Another part of the body. */
  contained?: string;
}

export interface Measured {
  /** Requests that were sent. */
  requests: number;
  /** From the first request to the last response. */
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Responses that were not the expected one. */
  wrong: number;
  /** One of them. */
  wrongResponse: string | null;
  /** Requests without a response. */
  lost: number;
  /** The share of one core that the load took itself. */
  ownCpuShare: number;
}

const RESPONSE_TIMEOUT_MS = 30_000;
const READ_BUFFER_BYTES = 16 * 1024;
const HEAD_END = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;

interface ReceivedResponse {
  status: number;
  body: Buffer;
}

/** The response at the start of the bytes that were read; null while some of it is missing. */
function parseResponse(read: Buffer): ReceivedResponse | null {
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
  onResponse: (response: ReceivedResponse, latencyMs: number) => void;
  pauseMs: number;
}

/** Sends requests one after the other. @returns how many got no response: none, or the last one */
const converse = ({ url, next, onResponse, pauseMs }: Connection): Promise<number> =>
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
      const response = parseResponse(bytes);
      // The next read overwrites the buffer.
      unread = response ? null : Buffer.from(bytes);
      if (response && sentAt !== null) {
        onResponse(response, performance.now() - sentAt);
        sentAt = null;
        if (pauseMs === 0) sendNext();
        else setTimeout(sendNext, pauseMs);
      }
      return true;
    };
    const socket = connect({
      host: url.hostname,
      port: Number(url.port),
      noDelay: true,
      onread: { buffer, callback: read },
    });
    socket.setTimeout(RESPONSE_TIMEOUT_MS, () => socket.destroy());
    socket.on('connect', sendNext);
    // The close that follows counts the loss.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(sentAt === null ? 0 : 1));
  });

const startsWith = (body: Buffer, start: Buffer): boolean =>
  body.length >= start.length && body.compare(start, 0, start.length, 0, start.length) === 0;

/** Sends the load: on each connection the next request as soon as the last one has its response. */
export async function send(load: Load): Promise<Measured> {
  const { url, connections, requestAt, from, until, expected, pauseMs = 0 } = load;
  const expectedBody = Buffer.from(expected.body);
  const contained = expected.contained && Buffer.from(expected.contained);
  const latenciesMs: number[] = [];
  let index = from;
  let wrong = 0;
  let wrongResponse: string | null = null;

  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const last = 'count' in until ? from + until.count : Number.POSITIVE_INFINITY;
  const end = 'seconds' in until ? start + until.seconds * 1000 : Number.POSITIVE_INFINITY;
  const next = () => (index < last && performance.now() < end ? requestAt(index++) : null);
  const onResponse = ({ status, body }: ReceivedResponse, latencyMs: number): void => {
    latenciesMs.push(latencyMs);
    const isExpected = status === expected.status && startsWith(body, expectedBody);
    if (isExpected && (!contained || body.includes(contained))) return;
    wrong++;
    wrongResponse ??= `${status} ${body.toString()}`;
  };
  const lost = await Promise.all(
    Array.from({ length: connections }, () => converse({ url, next, onResponse, pauseMs })),
  );

  const seconds = (performance.now() - start) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    requests: index - from,
    seconds,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    maxMs: percentile(latenciesMs, 1),
    wrong,
    wrongResponse,
    lost: lost.reduce((sum, one) => sum + one, 0),
    ownCpuShare: (cpu.user + cpu.system) / 1_000_000 / seconds,
  };
}
