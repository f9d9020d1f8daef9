import type { ApiIntent } from '@licet/client';

/** The permissions of the usual tokens, as in the guide to the console. */
export const PRESETS = {
  support: [
    'LICENSES_READ_WRITE',
    'PRODUCTS_READ',
    'CUSTOMERS_READ',
    'REQUESTS_READ',
    'BLACKLISTS_READ_WRITE',
  ],
  shop: ['LICENSES_READ_WRITE', 'PRODUCTS_READ'],
  reports: ['ALL_READ'],
  administrator: ['ALL_READ_WRITE'],
} as const satisfies Record<string, readonly ApiIntent[]>;
