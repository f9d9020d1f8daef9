import type { Edge } from '../edge/edge';
import type { AfterAnswer } from '../edge/visit';
import type { RequestType, ResponseType } from '../enums';
import { foldLicenseKey } from '../licenses/key';
import type { LicenseSnapshot } from '../licenses/snapshot';
import { type NewRequest, withIdentity } from '../requests/write';
import { cutLogged, type PartialRequest } from './request';

/** What is known of a request only once it is decided. */
export interface RecordDetails extends Pick<NewRequest, 'blockReason' | 'remarks' | 'spam'> {
  /** On which the answer was based; null for an unknown key, undefined where nothing was looked up. */
  license?: LicenseSnapshot | null;
}

export interface AnsweredRequest {
  requestType: RequestType;
  asked: PartialRequest;
  responseType: ResponseType;
  details: RecordDetails;
  /** Milliseconds since 1970. */
  requestedAt: number;
}

/** Writes the record of a request into the history, after the answer [2.4]. */
export function recordRequest(
  edge: Edge,
  { requestType, asked, responseType, details, requestedAt }: AnsweredRequest,
  afterAnswer: AfterAnswer,
): void {
  const { licenseKey, productId, ip, hwid, logged } = asked;
  const { license, ...others } = details;
  const key = licenseKey && foldLicenseKey(licenseKey);
  const request: NewRequest = {
    requestType,
    responseType,
    licenseId: license === null ? null : license?.id,
    licenseKey: cutLogged(licenseKey),
    licenseKeyFolded: cutLogged(key),
    productId,
    ip,
    hwid,
    ...logged,
    ...others,
  };
  const basis = key && license ? { key, id: license.id, revision: license.revision } : null;
  const row = withIdentity(request, requestedAt);
  afterAnswer(edge.records.add({ row, basis }, afterAnswer));
}
