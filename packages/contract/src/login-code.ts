import { MINUTE_MS } from './durations.ts';

/**
 * One-time codes that log in to the console (4), and the name of its host on this machine. `npm start` and
 * `licet console` make both with ROOT_TOKEN, so that no token is in a URL.
 *
 * A code is `<expiry>.<random>.<HMAC>`: milliseconds since 1970, 128 bits and 256 bits in hexadecimal digits.
 */

const LIFE_MS = 5 * MINUTE_MS;
/** Tolerance for the clock of the machine that made a code. */
const CLOCK_TOLERANCE_MS = MINUTE_MS;

const CODE = /^(\d{13}\.[0-9a-f]{32})\.([0-9a-f]{64})$/;

const encoder = new TextEncoder();

const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

const fromHex = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

const keyOf = (rootToken: string, usage: 'sign' | 'verify') =>
  crypto.subtle.importKey(
    'raw',
    encoder.encode(rootToken),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    [usage],
  );

/** The signed text. Its prefix keeps it apart from any other use of the token as a key. */
const signedText = (claim: string) => encoder.encode(`licet console log-in ${claim}`);

/** @param now milliseconds since 1970 */
export async function newLoginCode(rootToken: string, now: number): Promise<string> {
  const claim = `${now + LIFE_MS}.${toHex(crypto.getRandomValues(new Uint8Array(16)))}`;
  const key = await keyOf(rootToken, 'sign');
  const signature = await crypto.subtle.sign('HMAC', key, signedText(claim));
  return `${claim}.${toHex(new Uint8Array(signature))}`;
}

/**
 * Whether a code is genuine and has not expired. Compares in constant time. Storing the session checks
 * that the code was not used before.
 *
 * @param now milliseconds since 1970
 */
export async function isLoginCode(code: string, rootToken: string, now: number): Promise<boolean> {
  const [, claim = '', signature = ''] = CODE.exec(code) ?? [];
  const leftMs = Number.parseInt(claim, 10) - now;
  if (!(leftMs > 0 && leftMs <= LIFE_MS + CLOCK_TOLERANCE_MS)) return false;
  const key = await keyOf(rootToken, 'verify');
  return crypto.subtle.verify('HMAC', key, fromHex(signature), signedText(claim));
}

/** 48 bits: a page of another local server would have to be opened once for each guess. */
const NAME_DIGITS = 12;

/**
 * The host name of the console on this machine, for the port that a browser connects to. Cookies ignore ports: at
 * `localhost` each other server of the machine would receive the session. No other server has this name or can
 * guess it. Chromium and Firefox resolve every name under `.localhost` to this machine.
 */
export async function localConsoleName(rootToken: string, { port }: URL): Promise<string> {
  const name = `licet-${port || 80}`;
  const key = await keyOf(rootToken, 'sign');
  const mac = await crypto.subtle.sign('HMAC', key, encoder.encode(`licet console name ${name}`));
  return `${name}-${toHex(new Uint8Array(mac)).slice(0, NAME_DIGITS)}.localhost`;
}
