import type { Event, License, LicenseRequest, Purchase, Slot } from '@licet/client';
import { KEY_GROUP_LENGTH } from '@licet/contract/license-key';
import type { Fields } from './tool.ts';

/**
 * Objects as assistants see them (12): without the fields that no question needs, and with the last group of license keys
 * alone.
 */

/** The last group of a license key, which is enough to tell it to a person. */
export const endOfKey = (licenseKey: string): string => `…${licenseKey.slice(-KEY_GROUP_LENGTH)}`;

const ENDING = 6;

/** The end of a hardware ID for a question, which has no text of a stranger. */
export const endOfHwid = (hwid: string): string =>
  `…${hwid.slice(-ENDING).replace(/[^\w-]/g, '·')}`;

export const shownLicense = ({
  id,
  licenseKey,
  productId,
  licenseType,
  licenseStatus,
  expiryDate,
  expiresAfterDays,
  createdDate,
  totalRequests,
  ips,
  hwids,
  maxIPs,
  maxHWIDs,
  ownerChatId,
  ownerChatUsername,
  notes,
  customer,
}: License): Fields => ({
  id,
  licenseKey: endOfKey(licenseKey),
  productId,
  licenseType,
  licenseStatus,
  expiryDate,
  expiresAfterDays,
  createdDate,
  totalRequests,
  slots: {
    ips: { taken: ips.length, limit: maxIPs },
    hwids: { taken: hwids.length, limit: maxHWIDs },
  },
  owner: customer && {
    customerId: customer.id,
    firstName: customer.firstName,
    lastName: customer.lastName,
    email: customer.email,
  },
  ownerChatId,
  ownerChatUsername,
  notes,
});

export const shownPurchase = ({
  id,
  order,
  state,
  reason,
  marketName,
  productName,
  item,
  buyerName,
  amount,
  currency,
  quantity,
  isTest,
  licenseId,
  createdAt,
}: Purchase): Fields => ({
  id,
  order,
  state,
  reason,
  marketName,
  productName,
  item,
  buyerName,
  amount,
  currency,
  quantity,
  isTest,
  licenseId,
  createdAt,
});

export const shownEvent = ({ time, type, actor, changes }: Event): Fields => ({
  time,
  type,
  by: actor.tokenName,
  isMcp: actor.isMcp,
  changes,
});

/** An alert without its changes: those of a webhook or a market can have an address. */
export const shownAlert = ({ time, type, resourceType, resourceId }: Event): Fields => ({
  time,
  type,
  resourceType,
  resourceId,
});

export const shownSlot = ({ type, value, lastUsed, idleDate }: Slot): Fields => ({
  type,
  value,
  lastUsed,
  idleDate,
});

/** The values that requests sent in a field, each once, the most recent first. */
export const valuesOf = (
  requests: readonly LicenseRequest[],
  field: 'ip' | 'hwid' | 'productVersion' | 'remarks' | 'blockReason',
  most: number,
): string[] => [...new Set(requests.flatMap((request) => request[field] ?? []))].slice(0, most);

/** A count with its noun, for a question to a person. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
