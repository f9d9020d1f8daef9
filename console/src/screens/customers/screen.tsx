import type { ListedCustomer } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FilterText } from '../../components/form.tsx';
import { Plus } from '../../components/icons.tsx';
import { MetadataTexts, NamedFilter } from '../../components/metadata-texts.tsx';
import { Empty, NoMatch, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { type platformLabel, usePlatformLabel } from '../../platforms.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { LicenseLink } from '../licenses/count.tsx';
import { accountsOf, isForgotten, nameOf } from './accounts.ts';
import { CustomerForm } from './form.tsx';
import { customersRoute } from './route.ts';

const words = screenTexts.customers;
const PAGE_ROWS = 50;

/** The columns; those about licenses only if the token may read licenses. */
const columnsOf = (
  labelOf: typeof platformLabel,
  mayReadLicenses: boolean,
): readonly Column<ListedCustomer>[] => [
  {
    id: 'name',
    header: words.columns.name,
    cell: (customer) => (
      <span className="flex items-center gap-2">
        <Cut>{nameOf(customer)}</Cut>
        {isForgotten(customer) && <Badge>{words.noData}</Badge>}
      </span>
    ),
    phone: 'title',
  },
  {
    id: 'email',
    header: words.columns.email,
    // An e-mail that is the best name stands beside it.
    cell: (customer) => customer.email !== nameOf(customer) && <Cut>{customer.email ?? ''}</Cut>,
    phone: 'line',
  },
  {
    id: 'chat',
    header: words.columns.chat,
    cell: ({ chatUsername, chatId }) => <Cut>{chatUsername ?? chatId ?? ''}</Cut>,
    width: 'w-28',
    isWide: true,
  },
  {
    id: 'accounts',
    header: words.columns.accounts,
    cell: (customer) => <Cut>{accountsOf(customer, labelOf).join(', ')}</Cut>,
    width: 'w-40',
    isWide: true,
  },
  {
    id: 'phone',
    header: words.columns.phone,
    cell: ({ phoneNumber }) => phoneNumber && <Cut>{phoneNumber}</Cut>,
    isExtra: true,
  },
  ...(mayReadLicenses
    ? [
        {
          id: 'licenses',
          header: words.columns.licenses,
          isNumber: true,
          cell: (customer: ListedCustomer) => (
            <LicenseLink
              of={{ customerId: customer.id }}
              name={nameOf(customer)}
              total={customer.licenseCount}
            />
          ),
          width: 'w-25',
          phone: 'titleEnd' as const,
        },
      ]
    : []),
  {
    id: 'created',
    header: words.columns.created,
    cell: ({ createdAt }) => createdAt && <Time value={createdAt} show="date" />,
    width: 'w-33',
  },
  {
    id: 'metadata',
    header: screenTexts.metadata.title,
    cell: ({ metadata }) => <MetadataTexts metadata={metadata} list="/customers" />,
    isExtra: true,
  },
];

export function Screen() {
  const search = customersRoute.useSearch();
  const navigate = customersRoute.useNavigate();
  const refusal = useRefusal('everything');
  const mayReadLicenses = useMay('readLicenses');
  const labelOf = usePlatformLabel();
  const columns = useMemo(() => columnsOf(labelOf, mayReadLicenses), [labelOf, mayReadLicenses]);
  const { q, metadata, after } = search;
  const page = useQuery({
    queryKey: ['customers', 'list', q, metadata, after],
    queryFn: ({ signal }) =>
      licet.customers.page(
        { q, metadata, after, limit: PAGE_ROWS, licenseCount: mayReadLicenses },
        { signal },
      ),
    placeholderData: keepPreviousData,
  });
  const next = page.data?.after;
  const close = (): void =>
    void navigate({ search: (old) => ({ ...old, open: undefined }), state: true, replace: true });
  const create = refusal === undefined && (
    <ButtonLink to="/customers" search={{ ...search, open: 'new' }} state look="primary">
      <Plus size={16} aria-hidden />
      {words.new}
    </ButtonLink>
  );
  const filter = (changes: typeof search): void =>
    void navigate({ search: { q, metadata, ...changes } });
  const isEmpty = (q ?? metadata) === undefined && page.data?.items.length === 0;
  return (
    <Page title={words.title} actions={!isEmpty && create}>
      <DataTable
        name="customers"
        label={words.title}
        columns={columns}
        rows={page.data?.items}
        error={page.error}
        onRetry={page.refetch}
        linkOf={({ id }) => ({ to: '/customers/$id', params: { id } })}
        {...(refusal === undefined && {
          onEdit: ({ id }: ListedCustomer) =>
            void navigate({ to: '/customers/$id/edit', params: { id } }),
        })}
        tools={
          <search className="flex flex-wrap gap-2">
            <FilterText
              label={words.search}
              value={q ?? ''}
              onChange={(text) => filter({ q: text || undefined })}
            />
            <NamedFilter value={metadata} onClear={() => filter({ metadata: undefined })} />
          </search>
        }
        empty={
          isEmpty ? (
            <Empty title={words.emptyTitle} actions={create}>
              {words.empty}
            </Empty>
          ) : (
            <NoMatch to="/customers" />
          )
        }
        total={page.data?.total}
        count={words.count}
        pages={{ to: '/customers', search: { q, metadata }, after, next }}
      />
      <Dialog title={words.new} isOpen={search.open !== undefined} onClose={close} isWide>
        <CustomerForm onDone={close} />
      </Dialog>
    </Page>
  );
}
