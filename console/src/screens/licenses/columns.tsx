import type { License } from '@licet/client';
import { countTaken } from '@licet/contract/addresses';
import { StatusBadge } from '../../components/badge.tsx';
import { Cut } from '../../components/cut.tsx';
import type { Column } from '../../components/data-table.tsx';
import { MetadataTexts } from '../../components/metadata-texts.tsx';
import { EndTime, Time } from '../../components/time.tsx';
import { formatNumber, formatSlots, productName } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { isForgotten } from '../customers/accounts.ts';
import { ownerOf } from './owner.ts';

const { columns: words } = screenTexts.licenses;

/** The owner of a license in words, also of one whose owner was forgotten; empty without an owner. */
export const ownerName = (license: License): string =>
  // A license that names an account has an owner of whom nothing else may be known.
  ownerOf(license) ||
  (license.customer && isForgotten(license.customer) ? screenTexts.licenses.ownerForgotten : '');

/** The columns of every list of licenses. */
export const columnsOf = (products: ReadonlyMap<number, string>): readonly Column<License>[] => [
  {
    id: 'licenseKey',
    header: words.licenseKey,
    cell: ({ licenseKey }) => <Cut isMono>{licenseKey}</Cut>,
    width: 'w-51 xl:w-52',
    phone: 'title',
  },
  {
    id: 'status',
    header: words.status,
    cell: ({ licenseStatus }) => <StatusBadge status={licenseStatus} />,
    width: 'w-25',
    phone: 'lineEnd',
  },
  {
    id: 'product',
    header: words.product,
    cell: ({ productId }) => <Cut>{productName(products, productId)}</Cut>,
    phone: 'last',
  },
  {
    id: 'owner',
    header: words.owner,
    cell: (license) =>
      ownerName(license) ? (
        <Cut>{ownerName(license)}</Cut>
      ) : (
        <span className="text-muted">{screenTexts.licenses.noOwner}</span>
      ),
    phone: 'line',
  },
  {
    id: 'expires',
    header: words.expires,
    cell: ({ expiryDate, expiresAfterDays }) => (
      <span className="whitespace-nowrap">
        {expiresAfterDays === null && (
          <span className={`md:hidden ${expiryDate === null ? '' : 'max-sm:sr-only'}`}>
            {words.expires}:{' '}
          </span>
        )}
        {expiryDate === null ? (
          <span className="text-muted">{screenTexts.licenses.noDate(expiresAfterDays)}</span>
        ) : (
          <EndTime value={expiryDate} />
        )}
      </span>
    ),
    sort: { ascending: 'expiryDate', descending: '-expiryDate' },
    width: 'w-38 xl:w-42',
    phone: 'lastEnd',
  },
  {
    id: 'ips',
    header: words.ips,
    isNumber: true,
    cell: ({ ips, maxIPs }) => formatSlots(countTaken(ips), maxIPs),
    width: 'w-20',
    isWide: true,
  },
  {
    id: 'hwids',
    header: words.hwids,
    isNumber: true,
    cell: ({ hwids, maxHWIDs }) => formatSlots(hwids.length, maxHWIDs),
    width: 'w-20',
    isWide: true,
  },
  {
    id: 'requests',
    header: words.requests,
    isNumber: true,
    cell: ({ totalRequests }) => formatNumber(totalRequests),
    width: 'w-20',
    isWide: true,
  },
  {
    id: 'created',
    header: words.created,
    cell: ({ createdDate }) => <Time value={createdDate} show="date" />,
    sort: { ascending: 'id', descending: '-id' },
    width: 'w-28',
    isExtra: true,
  },
  {
    id: 'notes',
    header: words.notes,
    cell: ({ notes }) => <span className="line-clamp-2 break-words">{notes}</span>,
    isExtra: true,
  },
  {
    id: 'metadata',
    header: words.metadata,
    cell: ({ metadata }) => <MetadataTexts metadata={metadata} list="/licenses" />,
    isExtra: true,
  },
];
