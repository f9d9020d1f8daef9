import { useQuery } from '@tanstack/react-query';
import type { Customer } from '../../../../packages/client/src/index';
import { licet } from '../../api';
import { screenTexts } from '../../screen-texts';

/** The platforms on which a customer can have an account, with the fields of the account. */
export const ACCOUNTS = [
  { platform: 'PLATFORM_A', id: 'platformAId', username: 'platformAUsername' },
  { platform: 'PLATFORM_B', id: 'platformBId', username: 'platformBUsername' },
  { platform: 'PLATFORM_C', id: 'platformCId', username: 'platformCUsername' },
  { platform: 'MARKET_A', id: 'marketAId', username: 'marketAUsername' },
  { platform: 'MARKET_B', id: 'marketBId', username: 'marketBUsername' },
] as const;

/** The labels that this service gives the platforms. */
export function usePlatformLabel(): (platform: (typeof ACCOUNTS)[number]['platform']) => string {
  const { data } = useQuery({
    queryKey: ['platforms'],
    queryFn: ({ signal }) => licet.platforms({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (platform) => {
    const label = data?.find((known) => known.platform === platform)?.label;
    // Without a label the service answers with the name.
    return label === undefined || label === platform ? screenTexts.platforms[platform] : label;
  };
}

/** A customer by the best name that there is. */
export const nameOf = (customer: Customer): string =>
  [customer.firstName, customer.lastName].filter(Boolean).join(' ') ||
  customer.username ||
  customer.chatUsername ||
  customer.email ||
  ACCOUNTS.map(({ username, id }) => customer[username] ?? customer[id]).find(Boolean) ||
  customer.chatId ||
  screenTexts.customers.nameless(customer.id);
