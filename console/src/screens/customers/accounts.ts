import type { Customer, ListedCustomer } from '@licet/client';
import type { platformLabel } from '../../platforms.ts';
import { screenTexts } from '../../screen-texts.ts';

/** The platforms on which a customer can have an account, with the fields of the account. */
export const ACCOUNTS = [
  { platform: 'PLATFORM_A', id: 'platformAId', username: 'platformAUsername' },
  { platform: 'PLATFORM_B', id: 'platformBId', username: 'platformBUsername' },
  { platform: 'PLATFORM_C', id: 'platformCId', username: 'platformCUsername' },
  { platform: 'MARKET_A', id: 'marketAId', username: 'marketAUsername' },
  { platform: 'MARKET_B', id: 'marketBId', username: 'marketBUsername' },
] as const;

/** The accounts of a customer in words. */
export const accountsOf = (customer: Customer, labelOf: typeof platformLabel): string[] =>
  ACCOUNTS.flatMap(({ platform, id, username }) => {
    const account = [customer[username], customer[id]].filter(Boolean).join(' · ');
    return account === '' ? [] : [`${labelOf(platform)}: ${account}`];
  });

/** Whether nothing is known about a person, as after a customer was forgotten. */
export const isForgotten = ({
  id: _,
  createdAt: __,
  licenseCount: ___,
  metadata,
  ...person
}: ListedCustomer): boolean =>
  [...Object.values(person), ...Object.values(metadata)].every((value) => value === null);

/** The best available name of a customer. */
export const nameOf = (customer: Customer): string =>
  [customer.firstName, customer.lastName].filter(Boolean).join(' ') ||
  customer.username ||
  customer.chatUsername ||
  customer.email ||
  ACCOUNTS.map(({ username, id }) => customer[username] ?? customer[id]).find(Boolean) ||
  customer.chatId ||
  screenTexts.customers.nameless(customer.id);
