import { type License, LicetError } from '@licet/client';
import { INTENTS } from '@licet/contract/intents';
import { MAX_SEARCH_LENGTH, MAX_TEXT_LENGTH } from '@licet/contract/limits';
import { keyOf, recognize } from '@licet/contract/recognize';
import * as z from 'zod';
import { shownLicense, shownPurchase } from './shapes.ts';
import { type Caller, may, readTool } from './tool.ts';

/** The tool that finds objects by one text (12.2). */

const FOUND = 10;

/** A text by which something is found. */
export const soughtText = z
  .string()
  // An address takes no half of a character.
  .overwrite((text) => text.toWellFormed().trim())
  .min(3, 'must have at least 3 characters')
  .max(MAX_TEXT_LENGTH);

/** Waits for one object; a 404 or 400 means that there is none. */
async function orNothing<Item>(found: Promise<Item>): Promise<Item[]> {
  try {
    return [await found];
  } catch (error) {
    if (error instanceof LicetError && [400, 404].includes(error.status)) return [];
    throw error;
  }
}

/** Whether lists can search for a text: hardware IDs can be longer. */
const isSearchable = (text: string): boolean => text.length <= MAX_SEARCH_LENGTH;

/** The licenses with a text in one of their fields; deleted ones if there are no others. */
async function licensesWith(text: string, { licet }: Caller): Promise<License[]> {
  if (!isSearchable(text)) return [];
  const query = { q: text, limit: FOUND };
  const found = await licet.licenses.list(query);
  return found.length > 0 ? found : licet.licenses.list({ ...query, licenseStatus: 'DELETED' });
}

/** The license with a key, or those that had it before. */
export async function licensesOfKey(key: string, caller: Caller): Promise<License[]> {
  const exact = await orNothing(caller.licet.licenses.findByKey(key));
  return exact.length > 0 ? exact : licensesWith(key, caller);
}

/** The licenses with which programs asked with a hardware ID. */
async function licensesOfHwid(hwid: string, caller: Caller): Promise<License[]> {
  if (!may(caller, INTENTS.readRequests)) return [];
  const requests = await caller.licet.requests.list({ hwid, limit: FOUND });
  const ids = [...new Set(requests.flatMap(({ licenseId }) => licenseId ?? []))];
  const found = await Promise.all(ids.map((one) => orNothing(caller.licet.licenses.get(one))));
  return found.flat();
}

async function findLicenses(text: string, caller: Caller): Promise<License[]> {
  const { licenses } = caller.licet;
  const key = keyOf(text);
  if (key !== undefined) {
    const found = await licensesOfKey(key, caller);
    // A hardware ID can look the same.
    return found.length > 0 ? found : licensesOfHwid(text, caller);
  }
  const page = { limit: FOUND };
  switch (recognize(text)) {
    case 'email':
      return licenses.byCustomerEmail(text).list(page);
    case 'address':
      return licenses.list({ ip: text, ...page });
    case 'account':
      return [...(await licenses.byChatId(text).list(page)), ...(await licensesWith(text, caller))];
    case 'hardware':
      return [...(await licensesOfHwid(text, caller)), ...(await licensesWith(text, caller))];
    default:
      return licensesWith(text, caller);
  }
}

const FIND_NEEDS = [
  ...new Set([
    ...INTENTS.readLicenses,
    ...INTENTS.readCustomers,
    ...INTENTS.readProducts,
    ...INTENTS.readPurchases,
  ]),
];

export const find = readTool(
  z.strictObject({
    text: soughtText.describe(
      'A license key (whole, or its last group; any spelling, also an old one), an e-mail, a name, an IP address, a hardware ID, an account at Discord or a market, or an order.',
    ),
  }),
  {
    name: 'find',
    title: 'Find',
    description:
      'Finds licenses, customers, purchases and products by one text. Begin here: other tools take the ids that it returns.',
    needs: [FIND_NEEDS],
  },
  async ({ text }, caller) => {
    const { licet } = caller;
    const query = { q: text, limit: FOUND };
    const kind = recognize(text);
    const isName = kind !== 'key' && kind !== 'address' && isSearchable(text);
    const [licenses, customers, purchases, products] = await Promise.all([
      may(caller, INTENTS.readLicenses) ? findLicenses(text, caller) : [],
      isName && may(caller, INTENTS.readCustomers) ? licet.customers.list(query) : [],
      isName && may(caller, INTENTS.readPurchases)
        ? licet.purchases.list({ ...query, sort: '-id' })
        : [],
      kind === 'text' && isName && may(caller, INTENTS.readProducts)
        ? licet.products.list(query)
        : [],
    ]);
    const unique = new Map(licenses.map((license) => [license.id, license]));
    return {
      licenses: [...unique.values()].slice(0, FOUND).map(shownLicense),
      customers: customers.map(({ id, firstName, lastName, username, email }) => ({
        id,
        firstName,
        lastName,
        username,
        email,
      })),
      purchases: purchases.map(shownPurchase),
      products: products.map(({ id, name, description }) => ({ id, name, description })),
    };
  },
);
