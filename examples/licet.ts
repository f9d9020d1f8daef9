/** Asks Licet whether a license key may run here. Node 20 or newer, no dependencies; see README.md. */
import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as askHttp, type IncomingMessage } from 'node:http';
import { request as askHttps } from 'node:https';
import { arch, hostname, release, type, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

export interface Program {
  url: string;
  productId: number;
  productVersion: string;
  /** As the customer's configuration has it. */
  licenseKey: string | number | null | undefined;
  /** Where the time of the last good answer is kept; with public keys, the lease. */
  markFile: string;
  /** `KID:X.Y` of one or two ES256 keys, with a space between. With them only signed answers count. */
  publicKeys?: string;
  /** In place of the id of the installation; README.md says when. */
  hwid?: string;
  timeoutSeconds?: number;
  retrySeconds?: number;
  graceHours?: number;
  /** Gets each later answer, while the program runs. */
  onAnswer?: (answer: Answer) => unknown;
}

export interface Answer {
  state: 'valid' | 'grace' | 'refused' | 'unreachable';
  mayRun: boolean;
  /** For the user to read. */
  message: string;
  /** Seconds since 1970: then it is time to ask again. 0 if the program may not run. */
  checkAfter: number;
  /** The value as text, `true` for one without a value; null if the license has none. Needs public keys. */
  entitlement: (name: string) => string | null;
}

/** The response of the service. Without `valid` it could not be reached; `text` has the reason. */
interface Reply {
  valid?: boolean;
  text: string;
  retryAfterSeconds?: number;
  status?: number;
  lease?: unknown;
  claims?: Said;
}

interface Said {
  valid?: unknown;
  message?: unknown;
  signed?: unknown;
  entitlements?: unknown;
  checkAfter?: unknown;
  entitlementsUntil?: unknown;
}

interface Claims extends Said {
  iat: number;
  exp: number;
}

/** The buyer's next step after a refusal, by the message of the service. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  [
    'License not found or invalid',
    'Copy the key from your purchase again, and check that it is for this program.',
  ],
  ['License is deactivated', 'Ask the seller of the program for the reason.'],
  ['License has expired', 'Renew it with the seller of the program, and start the program again.'],
  [
    'Max IPs reached',
    'Other addresses use all its slots. Free one on your customer page, or ask the seller.',
  ],
  [
    'Max HWIDs reached',
    'Other machines use all its slots. Free one on your customer page, or ask the seller.',
  ],
  [
    'IP address is blacklisted',
    'The seller of the program has blocked it. Ask the seller for the reason.',
  ],
  [
    'Hardware ID is blacklisted',
    'The seller of the program has blocked it. Ask the seller for the reason.',
  ],
]);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

export function hardwareId(): string {
  const machine = attempt(() => readFileSync('/etc/machine-id', 'utf8').trim()) ?? '';
  return sha256(`${machine}\n${hostname()}\n${attempt(() => userInfo().username) ?? ''}`);
}

/** Reads the id of this installation; draws it at the first start. It survives updates and new containers. */
function installationId(file: string): string {
  if (!existsSync(file)) {
    const id = randomBytes(16).toString('hex');
    const draft = `${file}.${id}.tmp`;
    try {
      writeFileSync(draft, id);
      // Unlike a rename, a link never replaces the id of another process. Some file systems have none.
      attempt(() => linkSync(draft, file));
      if (!existsSync(file)) renameSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
  }
  return readFileSync(file, 'utf8').trim();
}

/** Returns the claims of a JWS that a pinned key signed and that has the type and the claims expected. */
function verified(jws: unknown, typ: string, publicKeys: string, expected: object) {
  return attempt((): Claims | undefined => {
    const parts = String(jws).split('.');
    const [header, payload, signature] = parts.map((part) => Buffer.from(part, 'base64url'));
    if (!header || !payload || !signature || parts.length !== 3) return undefined;
    // Buffer ignores characters that are not base64url.
    const isStrict = [header, payload, signature].every(
      (bytes, at) => bytes.toString('base64url') === parts[at],
    );
    // The pinned key decides about the algorithm, never the header.
    const said = JSON.parse(header.toString());
    const [, pinned] =
      publicKeys
        .split(' ')
        .map((key) => key.split(':'))
        .find(([kid]) => isDeepStrictEqual(said, { alg: 'ES256', kid, typ })) ?? [];
    if (!isStrict || !pinned) return undefined;
    const [x = '', y = ''] = pinned.split('.');
    const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    const signed = Buffer.from(`${parts[0]}.${parts[1]}`);
    // Node refuses signatures of other lengths, and zeros.
    if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)) return undefined;
    const claims = JSON.parse(payload.toString());
    const fits = Object.entries(expected).every(([name, value]) => claims[name] === value);
    return fits ? claims : undefined;
  });
}

function checkForm(publicKeys: string): void {
  const wrong = publicKeys
    .split(' ')
    .find((key) => !/^[\w.-]{1,64}:[\w-]{43}\.[\w-]{43}$/.test(key));
  if (publicKeys === '' || wrong === undefined) return;
  const form =
    'it has the form KID:KEY, where KEY is 43 characters, a dot and 43 characters (ES256, the es- key)';
  throw new TypeError(`'${wrong}' is no public key; ${form}`);
}

async function ask(
  url: string,
  body: object,
  timeoutSeconds: number,
  isBeside: boolean,
  believe: (said: Said, status: number) => Said | undefined,
): Promise<Reply> {
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = /^https:/i.test(url) ? askHttps : askHttp;
      const sent = request(`${url}/api/v1/validate`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'User-Agent': 'licet-client/2' },
        agent: false,
        signal: AbortSignal.timeout(timeoutSeconds * 1000),
      });
      sent.on('response', resolve).on('error', reject);
      // A program that has nothing else to do ends, and waits for no answer.
      if (isBeside) sent.on('socket', (socket) => socket.unref());
      sent.end(JSON.stringify(body));
    });
    const text = await textOf(answer);
    const said = text.startsWith('{') ? JSON.parse(text) : {};
    const status = answer.statusCode ?? 0;
    const claims = believe(said, status) ?? {};
    const { valid, message } = claims;
    if (valid === true || valid === false) {
      return { valid, text: String(message), lease: said.lease, claims };
    }
    const retryAfter = answer.headers['retry-after'] ?? '';
    return {
      status,
      text: `HTTP ${status}`,
      ...(/^\d+$/.test(retryAfter) && { retryAfterSeconds: Number(retryAfter) }),
    };
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {};
    return { text: cause instanceof Error ? cause.message : String(cause) };
  }
}

/** A time up to a tenth earlier, so that programs that started together do not ask together. */
const inAbout = (seconds: number) => Date.now() / 1000 + seconds * (1 - Math.random() / 10);

/** The earlier time of the claims. Without a time to check: as given. */
function checkAfterOf({ checkAfter, entitlementsUntil }: Said, otherwise: number): number {
  const at = Number.isInteger(checkAfter) ? Number(checkAfter) : otherwise;
  return Number.isInteger(entitlementsUntil) ? Math.min(at, Number(entitlementsUntil)) : at;
}

/** The answer of a program that may run by these claims: none without a signature. */
function running(state: 'valid' | 'grace', message: string, claims: Said): Answer {
  const text = typeof claims.entitlements === 'string' ? claims.entitlements : '';
  const parts = text.split(' ').filter((part) => part !== '');
  const values = new Map(
    parts.map((part): [string, string] => {
      const [name = '', value = 'true'] = part.split(/=(.*)/);
      return [name, value];
    }),
  );
  const checkAfter = checkAfterOf(claims, inAbout(86_400));
  return {
    state,
    mayRun: true,
    message,
    checkAfter,
    entitlement: (name) => values.get(name) || null,
  };
}

function stopped(state: 'refused' | 'unreachable', message: string): Answer {
  return { state, mayRun: false, message, checkAfter: 0, entitlement: () => null };
}

function nextTimeOf({ state, checkAfter }: Answer): number {
  return state === 'valid' && checkAfter > Date.now() / 1000 ? checkAfter : inAbout(3600);
}

/** By mark file: only its latest check goes on asking. */
const latest = new Map<string, object>();

async function keepAsking(
  { markFile, onAnswer }: Program,
  askAgain: () => Promise<Answer>,
  at: number,
): Promise<void> {
  const own = {};
  latest.set(markFile, own);
  let nextAt = at;
  while (latest.get(markFile) === own) {
    const leftSeconds = nextAt - Date.now() / 1000;
    if (leftSeconds > 0) {
      // No longer: a machine may sleep, and a clock may be set.
      await wait(Math.min(leftSeconds, 3600) * 1000, undefined, { ref: false });
      continue;
    }
    const answer = await askAgain();
    if (latest.get(markFile) !== own) return;
    try {
      await onAnswer?.(answer);
    } catch (error) {
      console.error(error);
    }
    if (answer.state === 'refused') return;
    nextAt = nextTimeOf(answer);
  }
}

/** Asks again in the background. @throws TypeError if the url or a public key is none */
export const checkLicense = (program: Program): Promise<Answer> => check(program, false);

/** Moves the license to this machine. Only for the command of a person. */
export const moveLicense = (program: Program): Promise<Answer> => check(program, true);

async function check(program: Program, takeOver: boolean): Promise<Answer> {
  const { url, productId, productVersion, markFile, publicKeys = '' } = program;
  const { timeoutSeconds = 10, retrySeconds = 2, graceHours = 72 } = program;
  if (!/^https?:\/\/./i.test(url)) {
    throw new TypeError(
      `'${url}' is no address of a service; url has the form https://license.example.com`,
    );
  }
  checkForm(publicKeys);
  const licenseKey = String(program.licenseKey ?? '');
  if (licenseKey.trim() === '') {
    const message =
      'License refused: no license key is set. Enter the key from your purchase in the configuration, and start the program again.';
    return stopped('refused', message);
  }
  const idFile = join(dirname(markFile), 'licet-id');
  const hwid = program.hwid || attempt(() => installationId(idFile));
  if (hwid === undefined || !(program.hwid || /^[0-9a-f]{32}$/.test(hwid))) {
    const problem =
      hwid === undefined
        ? 'cannot be read or written: it keeps the id of this installation. Check the permissions and the free space there.'
        : 'does not hold the id of an installation. Restore the file, or delete it: then this counts as a new installation.';
    return stopped('unreachable', `${idFile} ${problem}`);
  }
  const system = { operatingSystem: type(), osVersion: release(), osArchitecture: arch() };
  const fields = { licenseKey, productId, hwid, productVersion, ...system };
  const [firstKid, secondKid = firstKid] = publicKeys.split(' ').map((key) => key.split(':')[0]);
  const sub = createHash('sha256').update(licenseKey).digest('base64url');
  const own = { aud: String(productId), sub, hwid };
  const leaseOf = (jws: unknown) => verified(jws, 'licet-lease+jwt', publicKeys, own);
  const markOf = (time: number) =>
    `${time} ${sha256(`${time}\n${licenseKey}\n${productId}\n${hwid}`)}`;
  const keepLease = (lease: unknown, seen: number) =>
    attempt(() => {
      writeFileSync(`${markFile}.tmp`, `${lease} ${seen}`, { mode: 0o600 });
      renameSync(`${markFile}.tmp`, markFile);
    });

  /**
   * For how long the last good answer counts, and its lease: at a start, only until it is time to check. Keeps the
   * latest time seen.
   */
  function kept(isStart: boolean): { leftSeconds: number; lease?: Claims | undefined } {
    const now = Math.floor(Date.now() / 1000);
    const mark = attempt(() => readFileSync(markFile, 'utf8').trim()) ?? '';
    if (publicKeys === '') {
      const time = Number.parseInt(mark, 10);
      const leftSeconds = mark === markOf(time) ? graceHours * 3600 - Math.abs(now - time) : 0;
      return { leftSeconds };
    }
    const [jws, latestSeen] = mark.split(' ');
    const lease = leaseOf(jws);
    const seen = Math.max(lease?.iat ?? Number.NaN, Number.parseInt(latestSeen ?? '', 10));
    const isLate = isStart && checkAfterOf(lease ?? {}, 0) <= now;
    // The clock may be a day wrong: time zones differ that much.
    const leftSeconds = lease && now >= seen - 86_400 && !isLate ? lease.exp - now : 0;
    if (leftSeconds > 0 && now > seen) keepLease(jws, now);
    return { leftSeconds, lease };
  }

  async function askService(isBeside: boolean): Promise<Answer> {
    const nonce = randomBytes(16).toString('base64url');
    const moving = takeOver && !isBeside ? { takeOver } : {};
    const askFor = (kid: string | undefined) =>
      publicKeys === ''
        ? ask(url, { ...fields, ...moving }, timeoutSeconds, isBeside, (said, status) =>
            (said.valid ? [200] : [400, 413]).includes(status) ? said : undefined,
          )
        : ask(
            url,
            { ...fields, ...moving, nonce, kid, lease: true },
            timeoutSeconds,
            isBeside,
            ({ signed }) => verified(signed, 'licet-validation+jwt', publicKeys, { ...own, nonce }),
          );
    let reply = await askFor(firstKid);
    const pauseSeconds = reply.retryAfterSeconds ?? retrySeconds;
    if (reply.valid === undefined && pauseSeconds <= 10) {
      await wait(pauseSeconds * 1000, undefined, { ref: !isBeside });
      // 400 may mean that the service no longer has the first key.
      reply = await askFor(reply.status === 400 ? secondKid : firstKid);
    }
    if (reply.valid) {
      const lease = leaseOf(reply.lease);
      if (lease) keepLease(reply.lease, lease.iat);
      if (publicKeys !== '') return running('valid', reply.text, reply.claims ?? {});
      attempt(() => writeFileSync(markFile, markOf(Math.floor(Date.now() / 1000))));
      return running('valid', reply.text, {});
    }
    if (reply.valid === false) {
      attempt(() => rmSync(markFile));
      const advice = ADVICE.get(reply.text);
      return stopped('refused', `License refused: ${reply.text}${advice ? `. ${advice}` : ''}`);
    }
    // The service signs responses of these statuses: no fault of the network.
    const isUnsigned = publicKeys !== '' && (reply.status === 200 || reply.status === 400);
    const problem = isUnsigned
      ? `The response has no valid signature of this service (${reply.text}).`
      : `The license service cannot be reached (${reply.text}).`;
    const { leftSeconds, lease = {} } = kept(false);
    if (leftSeconds > 0) {
      const hours = Math.ceil(leftSeconds / 3600);
      return running('grace', `${problem} The last good answer counts for ${hours} h more.`, lease);
    }
    const advice = isUnsigned
      ? 'If this continues, ask the seller of the program.'
      : 'Check the network connection and try again.';
    return stopped('unreachable', `${problem} ${advice}`);
  }

  const askBeside = () => askService(true);
  const { leftSeconds, lease } = publicKeys && !takeOver ? kept(true) : { leftSeconds: 0 };
  if (lease && leftSeconds > 0) {
    keepAsking(program, askBeside, 0);
    return running('valid', 'License is valid', lease);
  }
  const answer = await askService(false);
  if (answer.mayRun) keepAsking(program, askBeside, nextTimeOf(answer));
  return answer;
}

// From here on: a program that tries it out, no part of yours. It runs if Node is given this file.
async function tryOut(): Promise<number> {
  const url = process.env.LICET_URL ?? '';
  const productId = process.env.LICET_PRODUCT_ID ?? '';
  const licenseKey = process.env.LICET_KEY ?? '';
  if (!url || !/^\d+$/.test(productId) || !licenseKey) {
    console.error('Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.');
    return 3;
  }
  try {
    const start = process.env.LICET_MOVE === '1' ? moveLicense : checkLicense;
    const { message, state, entitlement } = await start({
      url,
      productId: Number(productId),
      productVersion: '1.0.0',
      licenseKey,
      markFile: process.env.LICET_MARK ?? 'licet.mark',
      publicKeys: process.env.LICET_PUBLIC_KEYS ?? '',
      timeoutSeconds: Number(process.env.LICET_TIMEOUT_SECONDS ?? 10),
      retrySeconds: Number(process.env.LICET_RETRY_SECONDS ?? 2),
    });
    console.log(message);
    const wanted = process.env.LICET_ENTITLEMENT;
    if (wanted) {
      const value = entitlement(wanted);
      console.log(value === null ? wanted : `${wanted}=${value}`);
    }
    return { valid: 0, grace: 0, refused: 1, unreachable: 2 }[state];
  } catch (wrong) {
    console.error(wrong instanceof Error ? wrong.message : wrong);
    return 3;
  }
}
if (/\blicet\.m?[jt]s$/.test(process.argv[1] ?? ''))
  tryOut().then((status) => process.exit(status));
