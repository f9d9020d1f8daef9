/** Asks Licet whether a license key may run here. Node 20 or newer, no dependencies; see README.md. */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { arch, hostname, release, type, userInfo } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';

export interface Program {
  url: string;
  productId: number;
  productVersion: string;
  licenseKey: string;
  /** Where the time of the last good answer is kept. */
  markFile: string;
  timeoutSeconds?: number;
  retrySeconds?: number;
  graceHours?: number;
}

export interface Answer {
  state: 'valid' | 'grace' | 'refused' | 'unreachable';
  mayRun: boolean;
  /** For the user to read. */
  message: string;
}

/** What the service said; without `valid` it cannot be reached, and `text` is why. */
interface Reply {
  valid?: boolean;
  text: string;
  retryAfterSeconds?: number;
}

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

async function ask(url: string, body: string, timeoutSeconds: number): Promise<Reply> {
  try {
    const answer = await fetch(`${url}/api/v1/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'licet-client/1' },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const text = await answer.text();
    const { valid, message } = text.startsWith('{') ? JSON.parse(text) : {};
    const says = valid === true ? [200] : valid === false ? [400, 413] : [];
    if (says.includes(answer.status)) return { valid, text: String(message) };
    const retryAfter = answer.headers.get('Retry-After') ?? '';
    return {
      text: `HTTP ${answer.status}`,
      ...(/^\d+$/.test(retryAfter) && { retryAfterSeconds: Number(retryAfter) }),
    };
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {};
    return { text: cause instanceof Error ? cause.message : String(cause) };
  }
}

export async function checkLicense(program: Program): Promise<Answer> {
  const { url, licenseKey, productId, productVersion, markFile } = program;
  const { timeoutSeconds = 10, retrySeconds = 2, graceHours = 72 } = program;
  const hwid = hardwareId();
  const system = { operatingSystem: type(), osVersion: release(), osArchitecture: arch() };
  const body = JSON.stringify({ licenseKey, productId, hwid, productVersion, ...system });
  let reply = await ask(url, body, timeoutSeconds);
  const pauseSeconds = reply.retryAfterSeconds ?? retrySeconds;
  if (reply.valid === undefined && pauseSeconds <= 10) {
    await wait(pauseSeconds * 1000);
    reply = await ask(url, body, timeoutSeconds);
  }

  const now = Math.floor(Date.now() / 1000);
  const markOf = (time: number) =>
    `${time} ${sha256(`${time}\n${licenseKey}\n${productId}\n${hwid}`)}`;
  if (reply.valid) {
    attempt(() => writeFileSync(markFile, markOf(now)));
    return { state: 'valid', mayRun: true, message: reply.text };
  }
  if (reply.valid === false) {
    attempt(() => rmSync(markFile));
    return { state: 'refused', mayRun: false, message: `License refused: ${reply.text}` };
  }
  const problem = `The license service cannot be reached (${reply.text}).`;
  const mark = attempt(() => readFileSync(markFile, 'utf8').trim()) ?? '';
  const time = Number.parseInt(mark, 10);
  const leftSeconds = graceHours * 3600 - Math.abs(now - time);
  if (mark === markOf(time) && leftSeconds > 0) {
    const message = `${problem} The last good answer counts for ${Math.ceil(leftSeconds / 3600)} h more.`;
    return { state: 'grace', mayRun: true, message };
  }
  const message = `${problem} Check the network connection and try again.`;
  return { state: 'unreachable', mayRun: false, message };
}

// From here on: a program that tries it out, no part of yours.
const { LICET_URL: url, LICET_PRODUCT_ID: productId, LICET_KEY: licenseKey } = process.env;
if (!url || !/^\d+$/.test(productId ?? '') || !licenseKey) {
  console.error('Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.');
  process.exit(3);
}
const answer = await checkLicense({
  url,
  productId: Number(productId),
  productVersion: '1.0.0',
  licenseKey,
  markFile: process.env.LICET_MARK ?? 'licet.mark',
  timeoutSeconds: Number(process.env.LICET_TIMEOUT_SECONDS ?? 10),
  retrySeconds: Number(process.env.LICET_RETRY_SECONDS ?? 2),
});
console.log(answer.message);
process.exit({ valid: 0, grace: 0, refused: 1, unreachable: 2 }[answer.state]);
