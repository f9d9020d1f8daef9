import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type Drive,
  type DriverAnswer,
  type DriverCheck,
  nowSeconds,
  readIfThere,
} from './example-programs.ts';
import {
  type Claims,
  type Keys,
  LEASE_TYPE,
  type SigningKey,
  signedBy,
  VALIDATION_TYPE,
} from './forged-responses.ts';
import { listen } from './own.ts';
import { freePort } from './service.ts';

/** A service that signs, and others in its place, for the tests of the examples. */

export const HOUR_SECONDS = 60 * 60;
export const DAY_SECONDS = 24 * HOUR_SECONDS;
export const PRODUCT_ID = 602;
export const VALID = { valid: true, message: 'License is valid' };
export const REFUSED = { valid: false, message: 'License is deactivated' };

export interface Asked extends Claims {
  nonce?: string | undefined;
  kid?: string;
}

/** Responds to the nth request of one check, in the place of the service. */
export type Responder = (asked: Asked, nth: number) => Promise<[status: number, body: unknown]>;

export interface SignedService {
  address: string;
  /** An address at which nothing listens. */
  closedAddress: string;
  /** By the first part of the path. */
  responders: Map<string, { respond: Responder; asked: Asked[] }>;
}

/** Starts a server with a responder for each check. */
export async function startSignedService(): Promise<SignedService> {
  const responders: SignedService['responders'] = new Map();
  const address = await listen(async (request, response) => {
    const [, name = ''] = (request.url ?? '').split('/');
    const responder = responders.get(name);
    const asked: Asked = JSON.parse(await text(request));
    responder?.asked.push(asked);
    const [status, body] = (await responder?.respond(asked, responder.asked.length)) ?? [404, ''];
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  return { address, closedAddress: `http://127.0.0.1:${await freePort()}`, responders };
}

export const hash = (text: string, encoding: 'hex' | 'base64url'): string =>
  createHash('sha256').update(text).digest(encoding);

/** The claims of an honest response or, without a nonce, of an honest lease. */
export const claimsFor = ({ nonce, hwid, licenseKey, productId }: Asked, valid = true): Claims => ({
  iss: 'licet',
  aud: String(productId),
  sub: hash(String(licenseKey), 'base64url'),
  ...(nonce !== undefined && { nonce }),
  iat: nowSeconds(),
  exp: nowSeconds() + 300,
  valid,
  message: valid ? 'License is valid' : 'License is deactivated',
  hwid,
  ip: '127.0.0.1',
  licenseExpires: null,
});

export interface HonestOptions {
  leaseDays?: number;
  valid?: boolean;
  sign?: typeof signedBy;
  /** More claims, of the response and of the lease. */
  claims?: Claims;
}

/** An honest response, with or without a lease. */
export const honestBy =
  (
    key: SigningKey,
    { leaseDays = 0, valid = true, sign = signedBy, claims = {} }: HonestOptions = {},
  ): Responder =>
  async (asked) => {
    const ofLease = claimsFor({ ...asked, nonce: undefined });
    const exp = nowSeconds() + leaseDays * DAY_SECONDS;
    return [
      valid ? 200 : 400,
      {
        ...(valid ? VALID : REFUSED),
        signed: await sign(key, VALIDATION_TYPE, { ...claimsFor(asked, valid), ...claims }),
        ...(leaseDays > 0 && {
          lease: await sign(key, LEASE_TYPE, { ...ofLease, exp, ...claims }),
        }),
      },
    ];
  };

export interface Check extends Pick<DriverCheck, 'timeoutSeconds' | 'hwid' | 'call'> {
  /** Without it, no server listens. */
  respond?: Responder;
  /** The content of the file before the check. */
  kept?: string | undefined;
  publicKeys?: string;
  /** The name of an entitlement. */
  name?: string;
}

export interface Checked extends DriverAnswer {
  /** The content of the file after the check. */
  kept: string | undefined;
  asked: Asked[];
  path: string;
}

export type Validate = (check: Check) => Promise<Checked>;

let checks = 0;

/** Validates with a file of its own, in a folder. */
export const validatorIn =
  (folder: string, service: () => SignedService, drive: Drive, keys: Keys): Validate =>
  async ({ respond, kept, publicKeys, name = '', ...check }) => {
    const { address, closedAddress, responders } = service();
    const ownName = String(++checks);
    const path = join(folder, `kept-${ownName}`);
    if (kept !== undefined) writeFileSync(path, kept);
    const asked: Asked[] = [];
    if (respond) responders.set(ownName, { respond, asked });
    const url = respond ? `${address}/${ownName}` : closedAddress;
    const pinned = publicKeys ?? `${keys.pinned.constant} ${keys.second.constant}`;
    const program = { markFile: path, licenseKey: 'KEY', productId: PRODUCT_ID };
    const answer = await drive.read({ ...check, ...program, url, publicKeys: pinned }, name);
    return { ...answer, kept: readIfThere(path), asked, path };
  };
