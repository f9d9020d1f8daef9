import type { License, LicenseCreate, LicenseRequest, Licet } from '@licet/client';
import { expect, vi } from 'vitest';

/** Creates a product, and a license for it. */
export async function newLicense(
  licet: Licet,
  fields: Partial<LicenseCreate> = {},
): Promise<License> {
  const { id: productId } = await licet.products.create({ name: 'Plugin', productType: 'OTHER' });
  return licet.licenses.create({ productId, licenseType: 'PERMANENT', ...fields });
}

/** The records of a license key, as soon as there are so many: they are stored after the responses. */
export const recordsOf = (
  licet: Licet,
  licenseKey: string,
  count: number,
): Promise<LicenseRequest[]> =>
  vi.waitFor(
    async () => {
      const records = await licet.requests.list({ licenseKey });
      expect(records).toHaveLength(count);
      return records;
    },
    { timeout: 60_000 },
  );
