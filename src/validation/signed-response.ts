import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import type { InvalidResponse, ValidResponse } from '@licet/contract/validation';
import { toBase64url } from '../lib/base64url.ts';
import { sha256 } from '../lib/sha256.ts';
import type { Signer } from '../lib/signing-keys.ts';
import { entitlementClaims } from '../resources/licenses/entitlements.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import type { ProductPolicy } from '../resources/products/product-policy.ts';
import type { SignatureRequest, ValidationRequest } from './request.ts';

/** Signed responses and leases (1.8). */

/** A program must take a response within this time. */
const RESPONSE_SECONDS = 300;
const DAY_SECONDS = DAY_MS / 1000;
const HOUR_SECONDS = HOUR_MS / 1000;
/** The part of the hours by which a program asks earlier than others. */
const SPREAD = 0.1;

/** A decided validation. */
export interface Decided {
  request: Pick<ValidationRequest, 'productId' | 'hwid' | 'ip'>;
  /** The license key and the hardware ID for the claims. */
  sent: SignatureRequest['sent'];
  body: ValidResponse | InvalidResponse;
  /** Null for a rejection: its claims hold nothing about the license. */
  license: Pick<LicenseSnapshot, 'expiresAt' | 'entitlements' | 'entitlementsExpire'> | null;
  product: ProductPolicy;
  /** Milliseconds since 1970. */
  decidedAt: number;
}

/** The fields that a signature adds to a response. */
export type Signatures = Required<Pick<ValidResponse, 'signed'>> & Pick<ValidResponse, 'lease'>;

/** The last hashed keys of licenses in memory: a hash costs a tenth of a signature. */
const subjects = new WeakMap<object, { licenseKey: string; subject: string }>();

async function subjectOf(licenseKey: string, license: object | null): Promise<string> {
  const known = license && subjects.get(license);
  if (known?.licenseKey === licenseKey) return known.subject;
  const subject = toBase64url(await sha256(licenseKey));
  if (license) subjects.set(license, { licenseKey, subject });
  return subject;
}

/** When a program asks again (1.8). Each has another time, so that those that started together do not ask together. */
function checkAfterOf({ checkAfterHours }: ProductPolicy, iat: number): number {
  return iat + Math.ceil(checkAfterHours * HOUR_SECONDS * (1 - SPREAD * Math.random()));
}

/** Signs a response, and a lease if the product has leases. */
export async function signResponse(
  signer: Signer,
  issuer: string,
  { nonce, wantsLease }: SignatureRequest,
  { request, sent, body, license, product, decidedAt }: Decided,
): Promise<Signatures> {
  const iat = Math.floor(decidedAt / 1000);
  const expiresAt = license?.expiresAt ?? null;
  const licenseExpires = expiresAt === null ? null : Math.floor(expiresAt / 1000);
  const claims = {
    iss: issuer,
    aud: String(request.productId),
    sub: await subjectOf(sent.licenseKey, license),
    iat,
    valid: body.valid,
    message: body.message,
    hwid: sent.hwid,
    ip: request.ip,
    licenseExpires,
    checkAfter: checkAfterOf(product, iat),
    ...(license &&
      entitlementClaims({ ...license, entitlementsOfProduct: product.entitlements }, decidedAt)),
  };
  const response = { ...claims, nonce, exp: iat + RESPONSE_SECONDS };
  const signing = signer.sign('licet-validation+jwt', response);
  if (!body.valid || !wantsLease || request.hwid === null || product.offlineDays === 0) {
    return { signed: await signing };
  }
  const lastDay = iat + product.offlineDays * DAY_SECONDS;
  const exp = licenseExpires === null ? lastDay : Math.min(lastDay, licenseExpires);
  const [signed, lease] = await Promise.all([
    signing,
    signer.sign('licet-lease+jwt', { ...claims, exp }),
  ]);
  return { signed, lease };
}
