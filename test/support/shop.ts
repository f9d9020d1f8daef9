import { beforeAll } from 'vitest';
import { create, type License } from './client.ts';

/** A product of a test file, and its licenses. */
export interface Shop {
  readonly productId: number;
  /** Without limits, unless said otherwise. */
  newLicense(fields?: object): Promise<License>;
}

/** To be called once in a file. */
export function openShop(): Shop {
  let productId = 0;
  beforeAll(async () => {
    productId = (await create.product()).id;
  });
  return {
    get productId() {
      return productId;
    },
    newLicense: (fields = { maxIPs: -1, maxHWIDs: -1 }) => create.license({ productId, ...fields }),
  };
}

/** The request of a program for a license. */
export const askFor = ({ licenseKey, productId }: License, more: object = {}) => ({
  licenseKey,
  productId,
  ...more,
});

/** The request of a program with a key that no license has. */
export const askForUnknown = () => ({ licenseKey: crypto.randomUUID(), productId: 1 });
