import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
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
  /** Whether a 503 or 429 with `Retry-After` is expected as well. The connection pauses after it. */
  backsOff?: boolean;
  /** The pause of a connection after each response. */
  pauseMs?: number;
}

export interface ExpectedResponse {
  status: number;
  /** That of a flood, once a limit is reached. */
  limitedStatus?: number;
  /** The beginning of the body. */
  body: string;
  /** Another part of the body. */
  contained?: string;
}

/** Requests, by the records that they must leave. */
export interface Sent {
  /** Requests that must leave one record for each response, and the number of responses. */
  recorded: ReadonlyMap<Uint8Array, number>;
  /** Requests that may leave a record, such as those without a response. */
  uncertain: readonly Uint8Array[];
}

export interface Measured extends Sent {
  /** Requests that were sent. */
  requests: number;
  /** From the first request to the last response. */
  seconds: number;
  /** The response times of all responses, also of those that make the connection pause. */
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Responses by their status. */
  statuses: ReadonlyMap<number, number>;
  /** Responses that were not the expected one. */
  wrong: number;
  /** One of them. */
  wrongResponse: string | null;
  /** Responses after which the connection paused. */
  backedOff: number;
  /** Requests without a response. */
  withoutResponse: number;
  /** The reason of one of them, and of a connection that could not be opened. */
  failure: string | null;
  /** Connections that could not be opened. */
  failedConnects: number;
  /** The share of one core that the load took itself. */
  ownCpuShare: number;
}

const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 30_000;
/** Connections that are opened at the same time. */
const CONNECTS_AT_ONCE = 32;
/** The first request of each connection. */
const GREETING = Buffer.from('GET /api/v2/healthy HTTP/1.1\r\nHost: licet.example\r\n\r\n');
/** The load goes on earlier than a longer `Retry-After` asks for. */
const MAX_PAUSE_MS = 1_000;
const READ_BUFFER_BYTES = 16 * 1024;
const HEAD_END = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;
/** A market is told with 429 to come again. */
const OVERLOADED: readonly number[] = [429, 503];
/** Statuses of validations that were decided: each of them is recorded. */
const DECIDED: readonly number[] = [200, 400];

interface ReceivedResponse {
  status: number;
  /** Null without the header. */
  retryAfterMs: number | null;
  body: Buffer;
  receivedAt: number;
}

const headerOf = (head: string, name: string): string | undefined =>
  new RegExp(`\\r\\n${name}: *(\\d+)`, 'i').exec(head)?.[1];

/** The response at the start of the bytes that were read; null while some of it is missing. */
function parseResponse(read: Buffer): ReceivedResponse | null {
  const headEnd = read.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = read.toString('latin1', 0, headEnd);
  const length = Number(headerOf(head, 'content-length') ?? 0);
  const bodyStart = headEnd + HEAD_END.length;
  if (read.length < bodyStart + length) return null;
  const status = Number(head.slice(STATUS_AT, STATUS_AT + 3));
  const retryAfter = OVERLOADED.includes(status) ? headerOf(head, 'retry-after') : undefined;
  return {
    status,
    retryAfterMs: retryAfter === undefined ? null : Number(retryAfter) * 1000,
    // The next read overwrites the buffer.
    body: Buffer.from(read.subarray(bodyStart, bodyStart + length)),
    receivedAt: performance.now(),
  };
}

/** A connection that is opened again when the service has closed it. */
class Connection {
  readonly #url: URL;
  readonly #buffer = Buffer.allocUnsafe(READ_BUFFER_BYTES);
  #socket: Socket | null = null;
  #unread: Buffer | null = null;
  #onResponse: (response: ReceivedResponse | null) => void = () => undefined;
  /** The reason of the last close. */
  failure = '';

  constructor(url: URL) {
    this.#url = url;
  }

  /**
   * Opens it, and gets a response. The kernel accepts a connection before workerd does, which takes seconds under
   * load.
   *
   * @returns whether it is open
   */
  async open(): Promise<boolean> {
    if (this.#socket) return true;
    return (await this.#connect()) && (await this.request(GREETING)) !== null;
  }

  #connect(): Promise<boolean> {
    return new Promise((resolve) => {
      const onread = { buffer: this.#buffer, callback: (length: number) => this.#read(length) };
      const { hostname: host, port } = this.#url;
      const socket = connect({ host, port: Number(port), noDelay: true, onread });
      socket.on('timeout', () => socket.destroy(new Error('timed out')));
      socket.setTimeout(CONNECT_TIMEOUT_MS);
      socket.on('connect', () => {
        socket.setTimeout(RESPONSE_TIMEOUT_MS);
        this.#socket = socket;
        resolve(true);
      });
      this.failure = 'closed by the service';
      socket.on('error', ({ message }) => {
        this.failure = message;
      });
      socket.on('close', () => {
        resolve(false);
        if (this.#socket !== socket) return;
        this.#socket = null;
        this.#unread = null;
        this.#onResponse(null);
      });
    });
  }

  /** @returns the response; null if none came */
  request(bytes: Uint8Array): Promise<ReceivedResponse | null> {
    return new Promise((resolve) => {
      this.#onResponse = resolve;
      this.#socket?.write(bytes);
    });
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #read(length: number): boolean {
    const chunk = this.#buffer.subarray(0, length);
    const bytes = this.#unread ? Buffer.concat([this.#unread, chunk]) : chunk;
    const response = parseResponse(bytes);
    this.#unread = response ? null : Buffer.from(bytes);
    if (response) this.#onResponse(response);
    return true;
  }
}

/** Opens connections, a few at a time. @returns how many failed */
async function openAll(connections: readonly Connection[]): Promise<number> {
  const rest = connections.values();
  let failed = 0;
  const openNext = async () => {
    for (const connection of rest) if (!(await connection.open())) failed++;
  };
  await Promise.all(Array.from({ length: CONNECTS_AT_ONCE }, openNext));
  return failed;
}

const startsWith = (body: Buffer, start: Buffer): boolean =>
  body.length >= start.length && body.compare(start, 0, start.length, 0, start.length) === 0;

/**
 * Opens all connections, then sends the load: on each connection the next request as soon as the last one has its
 * response.
 */
export async function send(load: Load): Promise<Measured> {
  const { url, requestAt, from, until, expected, backsOff = false, pauseMs = 0 } = load;
  const expectedBody = Buffer.from(expected.body);
  const contained = expected.contained && Buffer.from(expected.contained);
  const latenciesMs: number[] = [];
  const recorded = new Map<Uint8Array, number>();
  const uncertain: Uint8Array[] = [];
  const statuses = new Map<number, number>();
  let index = from;
  let wrong = 0;
  let wrongResponse: string | null = null;
  let backedOff = 0;
  let withoutResponse = 0;
  const connections = Array.from({ length: load.connections }, () => new Connection(url));
  let failedConnects = await openAll(connections);
  let failure = connections.find(({ isOpen }) => !isOpen)?.failure ?? null;

  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const last = 'count' in until ? from + until.count : Number.POSITIVE_INFINITY;
  const end = 'seconds' in until ? start + until.seconds * 1000 : Number.POSITIVE_INFINITY;
  const mayGoOn = () => index < last && performance.now() < end;
  /** @returns the pause before the next request */
  const take = (request: Uint8Array, { status, body, retryAfterMs }: ReceivedResponse): number => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (backsOff && retryAfterMs !== null) {
      backedOff++;
      return Math.min(retryAfterMs, MAX_PAUSE_MS);
    }
    if (DECIDED.includes(status)) recorded.set(request, (recorded.get(request) ?? 0) + 1);
    else uncertain.push(request);
    const isExpectedStatus = status === expected.status || status === expected.limitedStatus;
    const isExpected = isExpectedStatus && startsWith(body, expectedBody);
    if (!isExpected || (contained && !body.includes(contained))) {
      wrong++;
      wrongResponse ??= `${status} ${body.toString()}`;
    }
    return pauseMs;
  };
  const converse = async (connection: Connection): Promise<void> => {
    while (mayGoOn()) {
      if (!(await connection.open())) {
        failedConnects++;
        failure ??= connection.failure;
        return;
      }
      if (!mayGoOn()) break;
      const request = requestAt(index++);
      const sentAt = performance.now();
      const response = await connection.request(request);
      if (response) {
        latenciesMs.push(response.receivedAt - sentAt);
        const restMs = take(request, response);
        if (restMs > 0) await wait(restMs);
      } else {
        withoutResponse++;
        failure ??= `${connection.failure} after ${Math.round(performance.now() - sentAt)} ms`;
        uncertain.push(request);
      }
    }
    connection.close();
  };
  await Promise.all(connections.map(converse));

  const seconds = (performance.now() - start) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    requests: index - from,
    seconds,
    p50Ms: percentile(latenciesMs, 0.5),
    p95Ms: percentile(latenciesMs, 0.95),
    p99Ms: percentile(latenciesMs, 0.99),
    maxMs: percentile(latenciesMs, 1),
    statuses,
    wrong,
    wrongResponse,
    backedOff,
    withoutResponse,
    failedConnects,
    failure,
    recorded,
    uncertain,
    ownCpuShare: (cpu.user + cpu.system) / 1_000_000 / seconds,
  };
}
