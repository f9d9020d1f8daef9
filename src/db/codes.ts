import type { RequestType } from '@licet/contract/enums';
import type { ResponseType } from '@licet/contract/outcomes';

/** Values that stand for others in the database. */

/** In place of a product id: all products. */
export const ALL_PRODUCTS = -1;
/** In place of a product id: no existing product. */
export const NO_PRODUCT = 0;

/** The installation of a record of no license. */
export const NO_INSTALLATION = 0;

/** Request types as they are stored. A code never changes. */
export const REQUEST_TYPE_CODES = {
  V1_VALIDATE: 0,
  V2_VALIDATE: 1,
} as const satisfies Record<RequestType, number>;

/** Response types as they are stored. A code never changes. SQLite stores 0 and 1 in no bytes. */
export const RESPONSE_TYPE_CODES = {
  VALID: 0,
  INVALID_REQUEST: 2,
  RATE_LIMITED: 3,
  IP_BLACKLISTED: 4,
  HWID_BLACKLISTED: 5,
  LICENSE_NOT_FOUND: 6,
  PRODUCT_MISMATCH: 7,
  LICENSE_DELETED: 8,
  LICENSE_DEACTIVATED: 9,
  LICENSE_EXPIRED: 10,
  MAX_IPS_REACHED: 11,
  MAX_HWIDS_REACHED: 12,
  ERROR: 13,
} as const satisfies Record<ResponseType, number>;
