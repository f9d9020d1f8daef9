import { IPV6_SLOT_PREFIX } from '@licet/contract/limits';

/** The number of bits in the setting IPV6_SLOT_PREFIX; undefined for another value, which `npm start` and `npm run deploy` reject. */
export function parseSlotPrefix(value: unknown = IPV6_SLOT_PREFIX.default): number | undefined {
  const prefix = /^\d{1,3}$/.test(String(value)) ? Number(value) : 0;
  return prefix >= IPV6_SLOT_PREFIX.min && prefix <= IPV6_SLOT_PREFIX.max ? prefix : undefined;
}
