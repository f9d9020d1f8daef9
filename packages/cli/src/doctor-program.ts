import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Licet, LicetError } from '@licet/client';
import { parseJson } from '@licet/contract/json';
import { type Check, print, startOf } from './doctor-check.ts';
import { type Fields, fieldsOf } from './import/kinds.ts';
import { callOf, documentOf } from './invocation.ts';
import { CliError } from './terminal.ts';

/** `npm run doctor -- --program COMMAND`: a seller's program between services that are good and bad. */

/** The time after which a program gives a slow service up, beyond that of a dead one. */
const MAX_SLOW_MS = 30_000;
const SLOW_BYTE_MS = 1_000;
const END_MS = 3_000;
const MAX_OUTPUT_LENGTH = 64 * 1024;

/** A validation through the doctor. */
interface Exchange {
  asked: Fields;
  status: number;
  said: Fields;
}

const parse = (text: Buffer): Fields => fieldsOf(parseJson(text.toString('utf8')));

type Respond = (incoming: http.IncomingMessage, outgoing: http.ServerResponse) => Promise<void>;

/** A program that is ended breaks its connection off. */
const listenerOf =
  (respond: Respond): http.RequestListener =>
  (incoming, outgoing) => {
    respond(incoming, outgoing).catch(() => outgoing.destroy());
  };

/** Hands requests to the service, and notes the validations. */
const goodService = (service: URL, exchanges: Exchange[]): http.RequestListener =>
  listenerOf(async (incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming;
    const body = await buffer(incoming);
    const sent = (service.protocol === 'https:' ? https : http).request(service, {
      method,
      path: service.pathname.replace(/\/+$/, '') + url,
      headers: { ...headers, host: service.host, 'accept-encoding': 'identity' },
    });
    outgoing.on('close', () => sent.destroy());
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject).end(body);
    });
    const text = await buffer(response);
    const status = response.statusCode ?? 502;
    if (/\/api\/v\d\/validate\/*$/.test(url)) {
      exchanges.push({ asked: parse(body), status, said: parse(text) });
    }
    outgoing.writeHead(status, response.headers).end(text);
  });

const LIFETIME_SECONDS = 86_400;
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token with all that a program expects but the signature. */
function forged(typ: string, alg: string, asked: Fields): string {
  const { productId, licenseKey, nonce, kid, hwid = null } = asked;
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    ...{ iss: 'licet', aud: String(productId), iat, exp: iat + LIFETIME_SECONDS, nonce, hwid },
    sub: createHash('sha256').update(String(licenseKey)).digest('base64url'),
    ...{ valid: true, message: 'License is valid', ip: '192.0.2.1', licenseExpires: null },
    checkAfter: iat + LIFETIME_SECONDS,
  };
  const signature = randomBytes(alg === 'ES256' ? 64 : 256).toString('base64url');
  return `${part({ alg, kid, typ })}.${part(claims)}.${signature}`;
}

/** Says that each license is valid. @param algorithms those of the service's keys, by their kid */
const fakeService = (algorithms: ReadonlyMap<unknown, string>): http.RequestListener =>
  listenerOf(async (incoming, outgoing) => {
    const asked = parse(await buffer(incoming));
    const alg = algorithms.get(asked.kid) ?? 'RS256';
    const body = {
      ...{ valid: true, message: 'License is valid' },
      signed: forged('licet-validation+jwt', alg, asked),
      lease: forged('licet-lease+jwt', alg, asked),
    };
    outgoing.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });

/** Sends a blank each second, so that no time limit between two bytes ends the wait. */
const slowService: http.RequestListener = (_, outgoing) => {
  outgoing.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
  const timer = setInterval(() => outgoing.write(' '), SLOW_BYTE_MS);
  outgoing.on('close', () => clearInterval(timer));
};

interface Service {
  url: string;
  /** Closes its port. */
  stop: () => Promise<void>;
}

async function listen(listener: http.RequestListener): Promise<Service> {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A start of the seller's program, in a process group of its own. */
class Program {
  readonly #child: ChildProcess;
  readonly #startedAt = performance.now();
  readonly #ended: Promise<unknown>;
  #output = '';
  #seconds: number | undefined;
  readonly #kill = (): void => this.#signal('SIGKILL');

  /** @param clock how the clock is moved, as `faketime` reads it */
  constructor(command: string, url: string, clock: string | undefined) {
    const shell = ['sh', '-c', command.replaceAll('{url}', url)];
    const [file = 'sh', ...args] = clock ? ['faketime', '-f', clock, ...shell] : shell;
    const { LICET_TOKEN: _, ...variables } = process.env;
    this.#child = spawn(file, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...variables, LICET_URL: url },
    });
    process.on('exit', this.#kill);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk) => {
        this.#output = (this.#output + chunk).slice(-MAX_OUTPUT_LENGTH);
      });
    }
    this.#ended = new Promise<void>((resolve) => {
      const end = (): void => {
        this.#seconds ??= this.#elapsed();
        resolve();
      };
      this.#child.on('exit', end).on('error', end);
    });
  }

  #elapsed(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, signal);
    } catch {
      // The group has ended.
    }
  }

  /** Waits until the program ends, at most this long. */
  async watch(milliseconds: number): Promise<void> {
    const stopped = new AbortController();
    const wait = sleep(milliseconds, undefined, { signal: stopped.signal }).catch(() => undefined);
    await Promise.race([this.#ended, wait]);
    stopped.abort();
  }

  get hasEnded(): boolean {
    return this.#seconds !== undefined;
  }

  get mayRun(): boolean {
    return !this.hasEnded || this.#child.exitCode === 0;
  }

  /** Null while it runs, and after a signal. */
  get status(): number | null {
    return this.#child.exitCode;
  }

  /** For example `exited with status 2 after 3.1 s: "The license service cannot be reached"`. */
  get did(): string {
    const last = startOf(this.#output.trim().split('\n').at(-1) ?? '');
    const said = last === '' ? '' : `: "${last}"`;
    if (!this.hasEnded) return `ran on for ${Math.round(this.#elapsed())} s${said}`;
    const { exitCode, signalCode } = this.#child;
    const how = signalCode === null ? `exited with status ${exitCode}` : `ended by ${signalCode}`;
    return `${how} after ${(this.#seconds ?? 0).toFixed(1)} s${said}`;
  }

  /** Ends the program, and all that it started. */
  async end(): Promise<void> {
    this.#signal('SIGTERM');
    await this.watch(END_MS);
    this.#kill();
    await this.#ended;
    process.off('exit', this.#kill);
  }
}

/** A start, and what is expected of it. */
interface Start {
  title: string;
  mustRun: boolean;
  /** Those whom another result harms. */
  breaks: string;
  change: string;
}

const LEASE_FILE = 'licet.mark in the examples';
const SIGNING = documentOf('signing');
const NO_LEASE: Start = {
  title: 'A dead service, before any response',
  mustRun: false,
  breaks: 'the starts below, if it has a lease from before; you, if it asks nobody',
  change: `Delete its lease (${LEASE_FILE}), and try again. If it still runs, it needs no license.`,
};
const FAKE: Start = {
  title: 'A fake service, without a right signature',
  mustRun: false,
  breaks: 'you: it runs for anybody who points it at another server',
  change: `Build in the public key of the service, and check each signature: ${SIGNING}.`,
};
const GOOD: Start = {
  title: 'The good service',
  mustRun: true,
  breaks: 'all customers',
  change: 'Give it the key of a license that is valid, and start it by hand.',
};
const LOST: Start = {
  title: 'The service goes away while it runs',
  mustRun: true,
  breaks: 'servers of customers; BuiltByBit may count it as malware',
  change: 'Ask at the start and after checkAfter. Change nothing while the service is not reached.',
};
const DEAD: Start = {
  title: 'A dead service, after a good response',
  mustRun: true,
  breaks: 'customers while the service or their network is down',
  change: 'Keep the last good response, and start by it.',
};
const SLOW: Start = {
  title: 'A slow service, after a good response',
  mustRun: true,
  breaks: 'customers while the service or their network is slow',
  change: 'Limit the time for the whole response, and start by the last good one.',
};
const AHEAD: Start = {
  title: 'A clock a year ahead, with the good service',
  mustRun: true,
  breaks: 'customers whose clock is wrong',
  change: 'Take a fresh response by its nonce, whatever its times are.',
};
const CLOCK_CHANGE =
  'Check exp of the lease, and the latest time seen. A program in Go does not see this clock: move that of a test machine.';
const EXPIRED: Start = {
  title: 'A clock a year ahead, with a dead service',
  mustRun: false,
  breaks: 'you: a lease never ends',
  change: CLOCK_CHANGE,
};
const BACK: Start = {
  title: 'A clock a week back, with a dead service',
  mustRun: false,
  breaks: 'you: a lease lasts as long as the clock is set back',
  change: CLOCK_CHANGE,
};

/** @param refusedBy the status of a program that may not run. With a moved clock it may also fail, with another one */
function checkOf(
  { title, mustRun, breaks, change }: Start,
  { mayRun, hasEnded, status, did }: Program,
  refusedBy: number | null,
): Check {
  const what = `${title}: it ${did}`;
  if (mayRun === mustRun) {
    if (mustRun || refusedBy === null || status === refusedBy) return { what, mark: 'good' };
    const details = [
      ['change', `Look for a fault in it: without a lease it exits with ${refusedBy}.`],
    ] as const;
    return { what, mark: 'minor', details };
  }
  const details = [
    ['expects', mustRun ? 'it runs' : 'it exits with another status than 0'],
    ['breaks', breaks],
    ['change', hasEnded ? change : `${change} If it exits later, raise --timeout.`],
  ] as const;
  return { what, mark: 'bad', details };
}

/** The reason why a program has no lease, as far as its validations show it. */
function changeByExchanges(exchanges: readonly Exchange[], change: string): string {
  const last = exchanges.at(-1);
  if (!last)
    return 'Let it read the address from LICET_URL, or put {url} into the command: it asked nothing.';
  const { asked, status, said } = last;
  if (said.valid !== true)
    return `${change} The service said: ${status} ${startOf(String(said.message))}`;
  if (asked.nonce === undefined)
    return `${change} It asks for no signature and no lease: ${SIGNING}.`;
  if (said.lease !== undefined) return change;
  return `${change} It got no lease: ${callOf('licet')} products edit ${startOf(String(asked.productId))} --offline-days 7`;
}

/** The service that responds at one of its addresses, and the algorithms of its keys. */
async function findService(addresses: readonly URL[], timeoutMs: number) {
  for (const address of addresses) {
    const licet = new Licet({ url: address.href, timeoutMs });
    try {
      const { keys } = await licet.signingKeys();
      return { service: address, algorithms: new Map(keys.map(({ kid, alg }) => [kid, alg])) };
    } catch (error) {
      if (!(error instanceof LicetError)) throw error;
    }
  }
  const names = addresses.map(({ origin }) => origin).join(' or ');
  throw new CliError(`No service responds at ${names}. Check the address.`, 2);
}

const hasFaketime = (): boolean => spawnSync('faketime', ['-f', '+1d', 'true']).status === 0;

/** Starts the program in each case, and prints how it did. @returns the exit status */
export async function examineProgram(
  addresses: readonly URL[],
  command: string,
  timeoutMs: number,
): Promise<number> {
  const { service, algorithms } = await findService(addresses, timeoutMs);
  const exchanges: Exchange[] = [];
  const checks: Check[] = [];
  let refusedBy: number | null = null;
  const add = (check: Check): boolean => {
    checks.push(check);
    print(check);
    return check.mark === 'good';
  };

  /** @param listener undefined for a service that is dead */
  const start = async (
    expected: Start,
    listener: http.RequestListener | undefined,
    { clock, watchMs = timeoutMs }: { clock?: string; watchMs?: number } = {},
  ): Promise<boolean> => {
    console.error(`  ${expected.title} …`);
    const { url, stop } = await listen(listener ?? ((_, response) => response.destroy()));
    if (!listener) await stop();
    const program = new Program(command, url, clock);
    try {
      await program.watch(watchMs);
      const change = expected.mustRun
        ? changeByExchanges(exchanges, expected.change)
        : expected.change;
      const isRight = add(checkOf({ ...expected, change }, program, clock ? refusedBy : null));
      if (expected === NO_LEASE && isRight) refusedBy = program.status;
      if (expected === GOOD && !program.hasEnded) {
        await stop();
        await program.watch(timeoutMs);
        add(checkOf(LOST, program, null));
      }
      return isRight;
    } finally {
      await program.end();
      await stop();
    }
  };

  const good = goodService(service, exchanges);
  console.log(`\n${command}`);
  if (await start(NO_LEASE, undefined)) await start(FAKE, fakeService(algorithms));
  else add({ what: 'A fake service was not tried: with a lease, a program runs.', mark: 'minor' });
  const isStarted = await start(GOOD, good);
  if (isStarted && exchanges.length === 0) {
    add({
      what: 'It asked nothing',
      mark: 'bad',
      details: [['change', changeByExchanges([], '')]],
    });
  } else if (isStarted) {
    await start(DEAD, undefined);
    await start(SLOW, slowService, { watchMs: timeoutMs + MAX_SLOW_MS });
    if (hasFaketime()) {
      await start(AHEAD, good, { clock: '+365d' });
      await start(EXPIRED, undefined, { clock: '+365d' });
      await start(BACK, undefined, { clock: '-7d' });
    } else {
      add({ what: 'A moved clock was not tried: install faketime.', mark: 'minor' });
    }
  }
  const failed = checks.filter(({ mark }) => mark === 'bad').length;
  console.log(
    failed === 0
      ? '\nAll is well.'
      : `\n${failed} of these are not what markets and customers may expect: ${documentOf('drm')}.`,
  );
  return failed === 0 ? 0 : 1;
}
