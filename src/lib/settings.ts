import { IPV6_SLOT_PREFIX } from '@licet/contract/limits';

/** The settings of the service. Each is undefined for another value, which `npm start` and `npm run deploy` reject. */

/** The value of a setting that is true or false: in any case, and as a boolean of TOML. */
export function parseBoolean(value: unknown): boolean | undefined {
  const text = String(value).toLowerCase();
  return text === 'true' || (text === 'false' ? false : undefined);
}

/** The value of LOG_REQUESTS: whether each request is logged, or `failures` for all but most valid validations. */
export const parseLogSetting = (value: unknown): boolean | 'failures' | undefined =>
  String(value).toLowerCase() === 'failures' ? 'failures' : parseBoolean(value);

/** The number of bits in the setting IPV6_SLOT_PREFIX. */
export function parseSlotPrefix(value: unknown = IPV6_SLOT_PREFIX.default): number | undefined {
  const prefix = /^\d{1,3}$/.test(String(value)) ? Number(value) : 0;
  return prefix >= IPV6_SLOT_PREFIX.min && prefix <= IPV6_SLOT_PREFIX.max ? prefix : undefined;
}
