import type { License, LicenseRequest } from '@licet/client';
import { isGlobal, slotOf } from '@licet/contract/addresses';
import { IPV6_SLOT_PREFIX } from '@licet/contract/limits';
import { queryOptions } from '@tanstack/react-query';
import { licet, queries } from '../../api.ts';

/** One license with its tag. */
export const licenseQuery = (id: number) =>
  queryOptions({
    queryKey: ['licenses', 'one', id],
    queryFn: ({ signal }) => licet.licenses.read(id, { signal }),
  });

/** Enough to have the latest request of each installation, probably. */
const REQUESTS = 30;

/** The latest requests with a key. */
export const requestsQuery = (licenseKey: string) =>
  queryOptions({
    queryKey: ['history', 'of', licenseKey],
    queryFn: ({ signal }): Promise<LicenseRequest[]> =>
      licet.requests.list({ licenseKey, limit: REQUESTS }, { signal }),
  });

type Kind = 'ips' | 'hwids';
type Bound = Pick<License, Kind | 'maxIPs' | 'maxHWIDs'>;

/** The limit of addresses or hardware IDs; -1 for none. */
export const limitOf = (license: Bound, kind: Kind): number =>
  kind === 'ips' ? license.maxIPs : license.maxHWIDs;

/** Whether a value is refused because all slots are taken by others. */
export function lacksSlot(license: Bound, kind: Kind, value: string | null): boolean {
  const limit = limitOf(license, kind);
  // An address counts beside those of its kind alone.
  const isOfKind = (one: string): boolean =>
    kind === 'hwids' || isGlobal(one) === (value === null || isGlobal(value));
  const values = license[kind].filter(isOfKind);
  return limit >= 0 && values.length >= limit && (value === null || !isBound(license, kind, value));
}

/** The slot of a value, if IPV6_SLOT_PREFIX is not set. */
const slotIn = (kind: Kind, value: string): string =>
  kind === 'ips' ? slotOf(value, IPV6_SLOT_PREFIX.default) : value;

/** Whether a value has a slot, perhaps that of another address of its network. */
export const isBound = (license: Bound, kind: Kind, value: string): boolean =>
  license[kind].some((one) => slotIn(kind, one) === slotIn(kind, value));

/** Whether the cause of a refusal still holds, as far as the license shows it. */
export function isStillRefused(
  license: License,
  { responseType, productId, ip, hwid }: LicenseRequest,
): boolean {
  switch (responseType) {
    case 'VALID':
      return false;
    case 'LICENSE_EXPIRED':
      return license.licenseStatus === 'EXPIRED';
    case 'LICENSE_DEACTIVATED':
      return license.licenseStatus === 'DEACTIVATED';
    case 'LICENSE_DELETED':
      return license.licenseStatus === 'DELETED';
    case 'PRODUCT_MISMATCH':
      return license.productId !== productId;
    case 'MAX_IPS_REACHED':
      return lacksSlot(license, 'ips', ip);
    case 'MAX_HWIDS_REACHED':
      return lacksSlot(license, 'hwids', hwid);
    default:
      return true;
  }
}

/** Reads all data again that a change of a license may have changed. */
export async function refresh(): Promise<void> {
  await Promise.all(
    [['licenses'], ['history'], ['events']].map((queryKey) =>
      queries.invalidateQueries({ queryKey }),
    ),
  );
}

/** Changes a license depending on its current state. Resolves to the license before the change. */
export async function change(
  id: number,
  changesOf: (current: License) => Parameters<typeof licet.licenses.update>[1],
): Promise<License | undefined> {
  let before: License | undefined;
  await licet.licenses.change(id, (current) => {
    before = current;
    return changesOf(current);
  });
  await refresh();
  return before;
}
