import type { ResponseType } from '@licet/contract/outcomes';
import { create, type License, type Product } from './client.ts';

/** The outcomes that the decision reaches: rate limits and failures come from outside it. */
export type DecidedOutcome = Exclude<ResponseType, 'RATE_LIMITED' | 'ERROR'>;

interface ValidationBody {
  licenseKey: string;
  productId: number | null;
  ip: string;
  hwid: string;
}

/** A row of decisions 1.3, as the least that makes it true of an otherwise valid request. */
interface Row {
  /** Typed again, because programs in the field compare it. */
  message: string;
  license?: object;
  body?: (otherProduct: Product) => Partial<ValidationBody>;
  isListed?: 'ip' | 'hwid';
  /** Whether no license has the key. */
  hasNoLicense?: true;
}

const ROWS: Record<DecidedOutcome, Row> = {
  INVALID_REQUEST: { message: 'productId is required', body: () => ({ productId: null }) },
  IP_BLACKLISTED: { message: 'IP address is blacklisted', isListed: 'ip' },
  HWID_BLACKLISTED: { message: 'Hardware ID is blacklisted', isListed: 'hwid' },
  LICENSE_NOT_FOUND: {
    message: 'License not found or invalid',
    body: () => ({ licenseKey: crypto.randomUUID() }),
    hasNoLicense: true,
  },
  PRODUCT_MISMATCH: {
    message: 'License not found or invalid',
    body: ({ id }) => ({ productId: id }),
  },
  LICENSE_DELETED: {
    message: 'License not found or invalid',
    license: { licenseStatus: 'DELETED' },
  },
  LICENSE_DEACTIVATED: {
    message: 'License is deactivated',
    license: { licenseStatus: 'DEACTIVATED' },
  },
  LICENSE_EXPIRED: {
    message: 'License has expired',
    license: { licenseType: 'TEMPORARY', expiryDate: '2020-01-01T00:00:00Z' },
  },
  MAX_IPS_REACHED: { message: 'Max IPs reached', license: { maxIPs: 0 } },
  MAX_HWIDS_REACHED: { message: 'Max HWIDs reached', license: { maxHWIDs: 0 } },
  VALID: { message: 'License is valid' },
};

export interface OutcomeRow extends Row {
  responseType: string;
}

/** The rows of decisions 1.3 but the second, the rate limits. */
export const OUTCOME_ROWS: readonly OutcomeRow[] = Object.entries(ROWS).map(
  ([responseType, row]) => ({ responseType, ...row }),
);

let newcomers = 0;

/** An address and a hardware ID that no other test uses. */
export function newcomer(): { ip: string; hwid: string } {
  newcomers += 1;
  return { ip: `11.1.${newcomers >> 8}.${newcomers & 255}`, hwid: `hwid-${newcomers}` };
}

/** A request of which a row is true, from a newcomer with a license of its own. */
export async function arrange(
  { license: fields, body: changes, isListed }: OutcomeRow,
  product: Product,
  otherProduct: Product,
): Promise<{ license: License; body: ValidationBody }> {
  const visitor = newcomer();
  const license = await create.license({ productId: product.id, ...fields });
  const { licenseKey, productId } = license;
  if (isListed !== undefined) {
    await create.blacklist({
      licenseDataType: isListed === 'ip' ? 'IP' : 'HWID',
      data: visitor[isListed],
      reason: 'Charged back, case 4711',
    });
  }
  return { license, body: { licenseKey, productId, ...visitor, ...changes?.(otherProduct) } };
}
