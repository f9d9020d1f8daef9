import { API_INTENTS, type ApiIntent } from './enums.ts';

/** The read and write sets of section 4, each in the order in which errors list them. */
export const INTENTS = {
  any: API_INTENTS,
  readProducts: ['PRODUCTS_READ', 'PRODUCTS_READ_WRITE', 'ALL_READ', 'ALL_READ_WRITE'],
  writeProducts: ['PRODUCTS_READ_WRITE', 'ALL_READ_WRITE'],
  readLicenses: ['LICENSES_READ', 'LICENSES_READ_WRITE', 'ALL_READ', 'ALL_READ_WRITE'],
  writeLicenses: ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  readBlacklists: ['BLACKLISTS_READ', 'BLACKLISTS_READ_WRITE', 'ALL_READ', 'ALL_READ_WRITE'],
  writeBlacklists: ['BLACKLISTS_READ_WRITE', 'ALL_READ_WRITE'],
  readRequests: ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  readCustomers: ['CUSTOMERS_READ', 'ALL_READ', 'ALL_READ_WRITE'],
  readEvents: ['ALL_READ', 'ALL_READ_WRITE'],
  readSettings: ['ALL_READ', 'ALL_READ_WRITE'],
  readMarkets: ['ALL_READ', 'ALL_READ_WRITE'],
  readPurchases: ['LICENSES_READ', 'LICENSES_READ_WRITE', 'ALL_READ', 'ALL_READ_WRITE'],
  writePurchases: ['LICENSES_READ_WRITE', 'ALL_READ_WRITE'],
  readMails: ['ALL_READ', 'ALL_READ_WRITE'],
  readWebhooks: ['ALL_READ', 'ALL_READ_WRITE'],
  validate: ['LICENSE_VALIDATE', 'ALL_READ_WRITE'],
  everything: ['ALL_READ_WRITE'],
} as const satisfies Record<string, readonly ApiIntent[]>;

/** The permissions that the intents of a token give, as the console names them. */
export const INTENT_NAMES: Readonly<Record<ApiIntent, string>> = {
  ALL_READ_WRITE: 'Everything',
  ALL_READ: 'Read everything',
  LICENSES_READ: 'Read licenses',
  LICENSES_READ_WRITE: 'Manage licenses',
  PRODUCTS_READ: 'Read products',
  PRODUCTS_READ_WRITE: 'Manage products',
  BLACKLISTS_READ: 'Read the blacklist',
  BLACKLISTS_READ_WRITE: 'Manage the blacklist',
  REQUESTS_READ: 'Read the history',
  CUSTOMERS_READ: 'Read customers',
  LICENSE_VALIDATE: 'Validate licenses',
};
