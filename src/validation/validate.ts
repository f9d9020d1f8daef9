import type { RequestType } from '@licet/contract/enums';
import { OUTCOMES, type ResponseType } from '@licet/contract/outcomes';
import type { InvalidResponse, ValidResponse } from '@licet/contract/validation';
import type { CacheHit } from '../cache/snapshot-cache.ts';
import type { Snapshot } from '../cache/snapshots.ts';
import { clientOf } from '../lib/networks.ts';
import type { Signer } from '../lib/signing-keys.ts';
import { newRecord, type RecordDetails } from '../requests/record.ts';
import { normalizeLicenseKey } from '../resources/licenses/rules.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import { DEFAULT_PRODUCT_POLICY } from '../resources/products/product-policy.ts';
import type { Services } from '../services.ts';
import { confirmSlots, type Decision } from './confirm-slots.ts';
import { type Circumstances, decideFrom, detailsOf, type Outcome } from './decide.ts';
import {
  findSnapshots,
  findSnapshotsCachedOnly,
  type Snapshots,
  withMeantKey,
} from './find-snapshots.ts';
import {
  briefRequest,
  cutLoggedKey,
  type PartialRequest,
  parseRequest,
  unreadableRequest,
  type ValidationRequest,
} from './request.ts';
import { signResponse } from './signed-response.ts';

/** The kind of a body that could not be read. */
type BodyFault = 'unreadable' | 'too large' | 'unsupported';

/** The body of a validation: its text, or why there is none. */
export type SentBody = { text: string } | { text: null; fault: BodyFault; message: string };

/** The circumstances of a validation beside its body. */
export interface ValidationContext extends Circumstances {
  requestType: RequestType;
  trustsBodyIp: boolean;
  /** Whether the claims repeat the key and the hardware ID as they are compared, not as they were sent (1.8). */
  expectsNormalized: () => boolean;
  /** The token of v2; rejects if it may not validate. Undefined under v1. */
  authorized: Promise<CacheHit<Snapshot> | undefined> | undefined;
}

/** The result of a validation. `responseType` is its outcome in the history. */
export type ValidationResult = { responseType: ResponseType } & (
  | { kind: 'valid'; body: ValidResponse }
  | { kind: 'refused' | BodyFault; body: InvalidResponse }
  /** Over a limit (1.7). */
  | { kind: 'limited' }
  /** The service could not decide. */
  | { kind: 'unavailable' }
);

const NO_DETAILS: RecordDetails = {};

type Refusal = Exclude<Outcome, { responseType: 'VALID' }>;

const messageOf = (refusal: Refusal): string =>
  refusal.responseType === 'INVALID_REQUEST'
    ? refusal.message
    : OUTCOMES[refusal.responseType].message;

/** Such as `2025-12-31T23:59:59`: in UTC without an offset [4.7]. */
const expiryDateOf = ({ expiresAt }: LicenseSnapshot): string | null =>
  expiresAt === null ? null : new Date(expiresAt).toISOString().slice(0, 19);

const validBody = (license: LicenseSnapshot, totalRequests: number): ValidResponse => ({
  valid: true,
  message: OUTCOMES.VALID.message,
  hardwareLocked: license.maxHWIDs !== -1,
  iPLocked: license.maxIPs !== -1,
  expiryDate: expiryDateOf(license),
  maxIPs: license.maxIPs,
  maxHWIDs: license.maxHWIDs,
  totalRequests,
});

/**
 * Validates a license [4.7] and records the request [2.4]: parses it, checks the limits, looks the snapshots up,
 * decides and perhaps binds, signs and records.
 *
 * @throws what `authorized` rejects with: a sender without a token learns nothing
 */
export function validate(
  services: Services,
  sent: SentBody,
  context: ValidationContext,
): Promise<ValidationResult> {
  const { connectingAddress, trustsBodyIp } = context;
  const validation = new Validation(services, context);
  if (sent.text === null) {
    const request = unreadableRequest(connectingAddress);
    return validation.rejectUnreadable(request, sent.message, sent.message, sent.fault);
  }
  const parsed = parseRequest(sent.text, connectingAddress, trustsBodyIp, services.signingKeys);
  if (!parsed.ok) {
    return validation.rejectUnreadable(parsed.partial, parsed.message, parsed.remarks);
  }
  return validation.validate(parsed.request);
}

/** A validation under way. */
class Validation {
  readonly #services: Services;
  readonly #context: ValidationContext;
  /** The client that the limits count. Without an address nothing is limited. */
  readonly #client: string | null;
  #token: CacheHit<Snapshot> | undefined;
  #snapshots: Snapshots | undefined;
  #signer: Signer | undefined;

  constructor(services: Services, context: ValidationContext) {
    this.#services = services;
    this.#context = context;
    this.#client = context.connectingAddress && clientOf(context.connectingAddress);
  }

  async rejectUnreadable(
    request: PartialRequest,
    message: string,
    remarks: string,
    kind: BodyFault = 'unreadable',
  ): Promise<ValidationResult> {
    const { limits, ceilings } = this.#services;
    const client = this.#client;
    this.#token = await this.#context.authorized;
    if (client !== null && (await limits.refused.count(client))) {
      return this.#limit(request, { spam: true }, client);
    }
    const isRecorded = client === null || !ceilings.unreadableRecords.count(client);
    if (isRecorded) this.#record(request, 'INVALID_REQUEST', { remarks });
    return { kind, responseType: 'INVALID_REQUEST', body: { valid: false, message } };
  }

  /** Checks without a look-up come first. A token that may not validate is reported before any other failure. */
  async validate(request: ValidationRequest): Promise<ValidationResult> {
    const { limits, signingKeys } = this.#services;
    const { authorized, timings } = this.#context;
    const client = this.#client;
    // A flood of failed tokens looks up no license (1.7).
    if (client !== null && limits.failedTokens.isOver(client)) await authorized;
    const isOverLimit = client !== null && limits.refused.isOver(client);
    const finding = isOverLimit ? undefined : findSnapshots(this.#services, request, timings);
    if (finding instanceof Promise) finding.catch(() => undefined);
    if (authorized) this.#token = await authorized;
    try {
      // Before the decision, so that a validation whose key cannot be used binds nothing.
      if (request.signature) this.#signer = await signingKeys?.signer(request.signature.kid);
      if (!finding) return await this.#decideOverLimit(request, client);
      const snapshots = finding instanceof Promise ? await finding : finding;
      return await this.#validateKnown(withMeantKey(request, snapshots), snapshots);
    } catch (error) {
      return this.#fail(request, error);
    }
  }

  /** Decides on memory and KV alone: VALID, or limited (1.7). */
  async #decideOverLimit(
    sent: ValidationRequest,
    client: string | null,
  ): Promise<ValidationResult> {
    const { ceilings } = this.#services;
    const snapshots = await findSnapshotsCachedOnly(
      this.#services,
      sent,
      this.#context.timings,
      async () => !ceilings.publishedReads.count(String(client)),
    );
    const request = snapshots ? withMeantKey(sent, snapshots) : sent;
    const outcome = snapshots && decideFrom(snapshots, request, this.#context);
    if (outcome?.responseType !== 'VALID' || outcome.mustBeStored) {
      return this.#limit(request, { spam: true }, this.#countedWith(snapshots?.license.value));
    }
    this.#snapshots = snapshots;
    const { license } = outcome;
    if (await this.#isOverValidations(license)) {
      return this.#limit(request, { spam: false }, this.#countedWith(license));
    }
    return this.#accept(request, license);
  }

  async #validateKnown(request: ValidationRequest, found: Snapshots): Promise<ValidationResult> {
    const services = this.#services;
    const known = found.license.value;
    this.#snapshots = found;
    if (known && (await this.#isOverValidations(known))) {
      // A key has any number of spellings (1.2), and each new one is looked up.
      if (this.#context.timings.tier === 'd1') await this.#countRefused();
      return this.#limit(request, { spam: false }, this.#countedWith(known));
    }
    const provisional = { outcome: decideFrom(found, request, this.#context), snapshots: found };
    const deciding = confirmSlots(services, provisional, request, this.#context);
    const decided: Decision = deciding instanceof Promise ? await deciding : deciding;
    const { outcome, snapshots, remarks } = decided;
    this.#snapshots = snapshots;
    if (outcome.responseType === 'VALID') return this.#accept(request, outcome.license, remarks);
    const license = snapshots.license.value;
    if (await this.#countRefused()) {
      return this.#limit(request, { spam: true }, this.#countedWith(license));
    }
    return this.#refuse(request, outcome, license, remarks);
  }

  async #accept(
    request: ValidationRequest,
    license: LicenseSnapshot,
    remarks?: string | null,
  ): Promise<ValidationResult> {
    const body = validBody(license, this.#services.countRequest(license));
    const signed = this.#signer ? await this.#sign(this.#signer, request, body, license) : body;
    this.#record(request, 'VALID', remarks ? { remarks } : undefined);
    return { kind: 'valid', responseType: 'VALID', body: signed };
  }

  async #refuse(
    request: ValidationRequest,
    outcome: Refusal,
    license: LicenseSnapshot | null,
    remarks?: string | null,
  ): Promise<ValidationResult> {
    const { responseType } = outcome;
    if (license) this.#services.countRequest(license);
    const body: InvalidResponse = { valid: false, message: messageOf(outcome) };
    const signer = responseType === 'INVALID_REQUEST' ? undefined : this.#signer;
    const signed = signer ? await this.#sign(signer, request, body, null) : body;
    const details = remarks
      ? { remarks }
      : detailsOf(outcome, request, this.#context.connectingAddress, this.#snapshots?.policy.value);
    // A client can make up any number of keys.
    const isBrief =
      responseType === 'LICENSE_NOT_FOUND' &&
      this.#client !== null &&
      this.#services.ceilings.unknownRecords.count(this.#client);
    this.#record(isBrief ? briefRequest(request) : request, responseType, details);
    return { kind: 'refused', responseType, body: signed };
  }

  /** @param counted the name whose first limited request a minute is recorded */
  #limit(request: PartialRequest, details: { spam: boolean }, counted: string): ValidationResult {
    if (!this.#services.ceilings.limitedRecords.count(counted)) {
      this.#record(request, 'RATE_LIMITED', details);
    }
    return { kind: 'limited', responseType: 'RATE_LIMITED' };
  }

  #fail(request: ValidationRequest, error: unknown): ValidationResult {
    const { failedValidations, ceilings } = this.#services;
    failedValidations.count(error);
    const isRecorded = this.#client === null || !ceilings.failedRecords.count(this.#client);
    if (isRecorded) this.#record(request, 'ERROR');
    return { kind: 'unavailable', responseType: 'ERROR' };
  }

  /** The client alone, or with a license: it can make up any number of keys, but no license. */
  #countedWith(license: LicenseSnapshot | null | undefined): string {
    return license ? `${this.#client} ${license.id}` : String(this.#client);
  }

  /** Counts a validation that is not valid. @returns whether the client is over the limit */
  async #countRefused(): Promise<boolean> {
    return this.#client !== null && (await this.#services.limits.refused.count(this.#client));
  }

  #isOverValidations(license: LicenseSnapshot): boolean | Promise<boolean> {
    if (this.#client === null) return false;
    return this.#services.limits.validations.count(this.#countedWith(license));
  }

  /** Adds the fields of a signature (1.8). */
  async #sign<Body extends ValidResponse | InvalidResponse>(
    signer: Signer,
    request: ValidationRequest,
    body: Body,
    license: LicenseSnapshot | null,
  ): Promise<Body> {
    const { signature, productId } = request;
    const { signingKeys } = this.#services;
    if (!signature || !signingKeys) return body;
    const product = this.#snapshots?.policy.value?.products[productId] ?? DEFAULT_PRODUCT_POLICY;
    const { requestedAt: decidedAt, expectsNormalized } = this.#context;
    const { licenseKey } = signature.sent;
    const sent = expectsNormalized()
      ? { licenseKey: normalizeLicenseKey(licenseKey), hwid: request.hwid }
      : signature.sent;
    const decided = { request, sent, body, license, product, decidedAt };
    return { ...body, ...(await signResponse(signer, signingKeys.issuer, signature, decided)) };
  }

  /** Records the request after the response, which also compares its snapshots with D1 [2.4]. */
  #record(
    request: PartialRequest,
    outcome: ResponseType,
    details: RecordDetails = NO_DETAILS,
  ): void {
    const { requestType, requestedAt, timings } = this.#context;
    const snapshots = this.#snapshots;
    const { licenseKey, key, productId, ip, hwid, logged } = request;
    const license = snapshots?.license.value;
    const cutKey = cutLoggedKey(licenseKey);
    const kid = this.#signer?.kid;
    const record = newRecord(
      {
        type: requestType,
        outcome,
        licenseId: license === null ? null : license?.id,
        // Not cut itself, because a license key can be longer when it is normalized.
        licenseKeyNormalized:
          license || cutKey === licenseKey ? key : cutKey && normalizeLicenseKey(cutKey),
        installation: { licenseKey: cutKey, productId, ip, hwid, ...logged },
        details,
        ...(kid !== undefined && { kid }),
      },
      requestedAt,
    );
    const used = [snapshots?.license, snapshots?.policy, this.#token].filter(
      (found) => found !== undefined,
    );
    this.#services.recorder.record({ record, used, usedAt: requestedAt }, timings.waitUntil);
  }
}
