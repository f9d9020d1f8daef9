import type { ApiIntent, License } from '@licet/client';
import { INTENTS } from '@licet/contract/intents';
import type { LinkProps } from '@tanstack/react-router';
import { hasStatus, licet } from '../api.ts';
import { formatSlots } from '../format.ts';
import { ownerOf } from '../screens/licenses/columns.tsx';
import type { Right } from '../session.ts';
import { texts } from '../texts.ts';
import { type Kind, recognise } from './recognise.ts';

/** The search of the palette: exact look-ups first, then a text search. */

const words = texts.palette;
const ROWS = 5;
export const MIN_TEXT = 3;

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
    formatSlots(license.ips.length, license.maxIPs),
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

/** Links to screens that show a pasted value without a search. */
function placesOf(kind: Kind, value: string, may: (right: Right) => boolean): Hit[] {
  if (kind !== 'key' && kind !== 'address' && kind !== 'hardware') return [];
  const field = { key: 'licenseKey', address: 'ip', hardware: 'hwid' }[kind];
  const places: Hit[] = [];
  if (may('readRequests')) {
    places.push({
      id: 'history',
      group: words.actions,
      title: words.historyOf(value),
      note: texts.navigation.history,
      link: { to: '/history', search: { [field]: value } },
    });
  }
  if (kind !== 'key' && may('readBlacklists')) {
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

/** Finds objects by a typed or pasted text, among those that the token may read. */
export async function lookUp(
  typed: string,
  intents: readonly ApiIntent[],
  signal: AbortSignal,
): Promise<Hit[]> {
  const kind = recognise(typed);
  const may = (right: Right): boolean => {
    const accepted: readonly string[] = INTENTS[right];
    return intents.some((intent) => accepted.includes(intent));
  };
  const places = placesOf(kind, typed, may);
  const { licenses, customers, products } = licet;
  const page = { limit: ROWS };
  const exact = async (): Promise<License[]> => {
    if (!may('readLicenses')) return [];
    switch (kind) {
      case 'key':
      case 'hardware':
        return orNothing(licenses.findByKey(typed, { signal }));
      case 'email':
        return licenses.byCustomerEmail(typed).list(page, { signal });
      case 'account':
        return licenses.byChatId(typed).list(page, { signal });
      case 'number':
        return [
          ...(await orNothing(licenses.get(Number(typed), { signal }))),
          ...(await orNothing(licenses.findByKey(typed, { signal }))),
        ];
      case 'text':
        // Imported keys can have any form.
        return /\s/.test(typed) ? [] : orNothing(licenses.findByKey(typed, { signal }));
      default:
        return [];
    }
  };
  const found = await exact();
  const hits = found.map(hitOf);
  const isExact = kind === 'key' || kind === 'address' || kind === 'hardware';
  if (found.length > 0 && (isExact || kind === 'account')) return [...hits, ...places];

  // Accounts on markets are short numbers, like ids.
  const isText = kind !== 'address' && typed.length >= MIN_TEXT;
  const query = { q: typed, ...page };
  const [byText, people, things] = await Promise.all([
    isText && (found.length === 0 || kind === 'number') && may('readLicenses')
      ? licenses.list(query, { signal })
      : [],
    isText && !isExact && may('readCustomers') ? customers.list(query, { signal }) : [],
    kind === 'text' && may('readProducts') ? products.list(query, { signal }) : [],
  ]);
  return [
    ...hits,
    ...byText.filter(({ id }) => found.every((one) => one.id !== id)).map(hitOf),
    ...people.map(
      ({ id, firstName, lastName, email, username }): Hit => ({
        id: `customer-${id}`,
        group: words.customers,
        title: [firstName, lastName].filter(Boolean).join(' ') || email || username || String(id),
        note: email ?? '',
        link: { to: '/customers/$id', params: { id } },
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
    ...places,
  ];
}
