import type { ApiIntent, License, Purchase } from '@licet/client';
import { countTaken } from '@licet/contract/addresses';
import { INTENTS } from '@licet/contract/intents';
import { keyOf, recognize } from '@licet/contract/recognize';
import type { LinkProps } from '@tanstack/react-router';
import { hasStatus, licet, queries } from '../api.ts';
import { formatSlots } from '../format.ts';
import { MIN_TEXT } from '../rested.ts';
import { nameOf } from '../screens/customers/accounts.ts';
import { ownerOf } from '../screens/licenses/owner.ts';
import { buyerName, soldName } from '../screens/markets/names.ts';
import { marketsQuery } from '../screens/markets/queries.ts';
import type { Right } from '../session.ts';
import { texts } from '../texts.ts';

/** The search of the palette: exact look-ups first, then a text search. */

const words = texts.palette;
const ROWS = 5;

/** A result: a line that leads somewhere. */
export interface Hit {
  id: string;
  group: string;
  title: string;
  note: string;
  link: Pick<LinkProps, 'to' | 'params' | 'search'>;
}

const hitOf = (license: License): Hit => ({
  id: `license-${license.id}`,
  group: words.licenses,
  title: license.licenseKey,
  note: [
    texts.statuses[license.licenseStatus],
    ownerOf(license),
    formatSlots(countTaken(license.ips), license.maxIPs),
  ]
    .filter(Boolean)
    .join(' · '),
  link: { to: '/licenses/$licenseId', params: { licenseId: license.id } },
});

/** Waits for one object; a 404 or 400 means that there is none. */
async function orNothing<Item>(found: Promise<Item>): Promise<Item[]> {
  try {
    return [await found];
  } catch (error) {
    if (hasStatus(error, 404) || hasStatus(error, 400)) return [];
    throw error;
  }
}

const isWord = (typed: string): boolean => !/\s/.test(typed);

/** Links to screens that show a pasted value without a search. */
function placesOf(field: 'licenseKey' | 'ip' | 'hwid', value: string, { may }: Search): Hit[] {
  const places: Hit[] = [];
  if (may('readRequests')) {
    places.push({
      id: `history-${field}`,
      group: words.actions,
      title: words.historyOf(value),
      note: texts.navigation.history,
      link: { to: '/history', search: { [field]: value } },
    });
  }
  if (field !== 'licenseKey' && may('readBlacklists')) {
    places.push({
      id: 'blacklist',
      group: words.actions,
      title: words.blacklistEntry(value),
      note: texts.navigation.blacklist,
      link: { to: '/blacklist', search: { q: value } },
    });
  }
  return places;
}

interface Search {
  may: (right: Right) => boolean;
  signal: AbortSignal;
}

/** The ids of the licenses with which an address or a hardware ID has asked; undefined if it never has. */
async function askedWith(
  filter: { ip: string } | { hwid: string },
  { may, signal }: Search,
): Promise<readonly number[] | undefined> {
  if (!may('readRequests')) return undefined;
  const requests = await licet.requests.list({ ...filter, limit: 20 }, { signal });
  if (requests.length === 0) return undefined;
  const ids = new Set(requests.flatMap(({ licenseId }) => licenseId ?? []));
  return [...ids].slice(0, ROWS);
}

/** The licenses of an address or a hardware ID, and links to its history and the blacklist. */
async function ofInstallation(
  field: 'ip' | 'hwid',
  value: string,
  isCertain: boolean,
  search: Search,
): Promise<Hit[]> {
  const ids = await askedWith(field === 'ip' ? { ip: value } : { hwid: value }, search);
  if (ids === undefined) return isCertain ? placesOf(field, value, search) : [];
  const { may, signal } = search;
  const found = may('readLicenses')
    ? await Promise.all(ids.map((id) => orNothing(licet.licenses.get(id, { signal }))))
    : [];
  return [...found.flat().map(hitOf), ...placesOf(field, value, search)];
}

/** The licenses with a text in one of their fields; deleted ones if there are no others. */
async function licensesWith(typed: string, { signal }: Search): Promise<License[]> {
  const { licenses } = licet;
  const query = { q: typed, limit: ROWS };
  const found = await licenses.list(query, { signal });
  if (found.length === 0) {
    return licenses.list({ ...query, licenseStatus: 'DELETED' }, { signal });
  }
  // Imported keys have any form: one that is part of many others may be behind them.
  const isTyped = ({ licenseKey }: License) => licenseKey.toLowerCase() === typed.toLowerCase();
  return found.length < ROWS || !isWord(typed) || found.some(isTyped)
    ? found
    : [...(await orNothing(licenses.findByKey(typed, { signal }))), ...found];
}

/** The license with a key, or the one that had it before. */
async function licensesOfKey(key: string, search: Search): Promise<License[]> {
  const exact = await orNothing(licet.licenses.findByKey(key, { signal: search.signal }));
  return exact.length > 0 ? exact : licensesWith(key, search);
}

/** The license with an id. A list returns nothing if there is none, where a single license would fail. */
async function licensesWithId(id: number, { signal }: Search): Promise<License[]> {
  const query = { after: id - 1, limit: 1 };
  const lists = await Promise.all([
    licet.licenses.list(query, { signal }),
    licet.licenses.list({ ...query, licenseStatus: 'DELETED' }, { signal }),
  ]);
  return lists.flat().filter((license) => license.id === id);
}

const purchaseHit = (purchase: Purchase): Hit => ({
  id: `purchase-${purchase.id}`,
  group: words.purchases,
  title: purchase.order ?? purchase.reference,
  note: [buyerName(purchase), soldName(purchase), purchase.marketName].filter(Boolean).join(' · '),
  link: { to: '/purchases', search: { open: purchase.id } },
});

/** The markets with a text in their names. There are few, and the list is kept for a while. */
async function marketsWith(typed: string): Promise<Hit[]> {
  const markets = await queries.fetchQuery({ ...marketsQuery, staleTime: 60_000 });
  const text = typed.toLowerCase();
  return markets
    .filter(({ name, kind }) => `${name} ${kind}`.toLowerCase().includes(text))
    .map(({ id, name }) => ({
      id: `market-${id}`,
      group: words.markets,
      title: name,
      note: '',
      link: { to: '/markets/$id', params: { id } },
    }));
}

/** Finds objects by a typed or pasted text, among those that the token may read. */
export async function lookUp(
  typed: string,
  intents: readonly ApiIntent[],
  signal: AbortSignal,
): Promise<Hit[]> {
  const kind = recognize(typed);
  const may = (right: Right): boolean => {
    const accepted: readonly string[] = INTENTS[right];
    return intents.some((intent) => accepted.includes(intent));
  };
  const search = { may, signal };
  const { licenses, customers, products } = licet;
  const page = { limit: ROWS };

  if (kind === 'address') {
    // The history has addresses, and no ranges.
    return typed.includes('/')
      ? placesOf('ip', typed, search)
      : ofInstallation('ip', typed, true, search);
  }
  const key = keyOf(typed);
  if (key !== undefined) {
    const found = may('readLicenses') ? await licensesOfKey(key, search) : [];
    const places = placesOf('licenseKey', key, search);
    // Without hyphens it may be a hardware ID.
    const isSure = found.length > 0 || typed.includes('-');
    const others = isSure ? [] : await ofInstallation('hwid', typed, true, search);
    return [...found.map(hitOf), ...others, ...places];
  }

  const exact = async (): Promise<License[]> => {
    if (!may('readLicenses')) return [];
    if (kind === 'email') return licenses.byCustomerEmail(typed).list(page, { signal });
    if (kind === 'account') return licenses.byChatId(typed).list(page, { signal });
    return kind === 'number' && Number(typed) > 0 ? licensesWithId(Number(typed), search) : [];
  };
  const isHardware = kind === 'hardware';
  const [found, ofHardware] = await Promise.all([
    exact(),
    kind !== 'email' && typed.length >= MIN_TEXT && isWord(typed)
      ? ofInstallation('hwid', typed, isHardware, search)
      : [],
  ]);
  const hits = [...found.map(hitOf), ...ofHardware];
  if (found.length > 0 && kind === 'account') return hits;

  // Accounts on markets are short numbers, like ids.
  const isText = typed.length >= MIN_TEXT;
  const query = { q: typed, ...page };
  const [byText, people, things, sold, markets] = await Promise.all([
    isText && (found.length === 0 || kind === 'number') && may('readLicenses')
      ? licensesWith(typed, search)
      : [],
    isText && !isHardware && may('readCustomers') ? customers.list(query, { signal }) : [],
    kind === 'text' && may('readProducts') ? products.list(query, { signal }) : [],
    isText && may('readPurchases')
      ? licet.purchases.list({ ...query, sort: '-id' }, { signal })
      : [],
    kind === 'text' && isText && may('readMarkets') ? marketsWith(typed) : [],
  ]);
  const all = [
    ...hits.filter(({ group }) => group === words.licenses),
    ...byText.map(hitOf),
    ...people.map(
      (customer): Hit => ({
        id: `customer-${customer.id}`,
        group: words.customers,
        title: nameOf(customer),
        note: customer.email ?? '',
        link: { to: '/customers/$id', params: { id: customer.id } },
      }),
    ),
    ...things.map(
      ({ id, name, description }): Hit => ({
        id: `product-${id}`,
        group: words.products,
        title: name,
        note: description,
        link: { to: '/products/$id', params: { id } },
      }),
    ),
    ...sold.map(purchaseHit),
    ...markets,
    ...hits.filter(({ group }) => group !== words.licenses),
  ];
  // A license can have the text, and the hardware ID too.
  return [...new Map(all.map((hit) => [hit.id, hit])).values()];
}
