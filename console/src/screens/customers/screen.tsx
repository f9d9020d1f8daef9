import type { Customer } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useMemo } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, TextLink } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FilterText } from '../../components/form.tsx';
import { Empty, NoMatch, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { type platformLabel, usePlatformLabel } from '../../platforms.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { plural } from '../../texts.ts';
import { accountsOf, isForgotten, nameOf } from './accounts.ts';
import { CustomerForm } from './form.tsx';
import { customersRoute } from './route.ts';

const words = screenTexts.customers;
const PAGE_ROWS = 50;

const Cut = ({ children }: { children: string | null }) => (
  <span className="block max-w-56 truncate max-sm:max-w-full" title={children ?? undefined}>
    {children}
  </span>
);

/** The columns; those about licenses only if the token may read licenses. */
const columnsOf = (
  labelOf: typeof platformLabel,
  mayReadLicenses: boolean,
): readonly Column<Customer>[] => [
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
  { id: 'email', header: words.columns.email, cell: ({ email }) => <Cut>{email}</Cut> },
  {
    id: 'chat',
    header: words.columns.chat,
    cell: ({ chatUsername, chatId }) => <Cut>{chatUsername ?? chatId}</Cut>,
    phone: 'hidden',
  },
  {
    id: 'accounts',
    header: words.columns.accounts,
    cell: (customer) => <Cut>{accountsOf(customer, labelOf).join(', ')}</Cut>,
    phone: 'hidden',
  },
  {
    id: 'phone',
    header: words.columns.phone,
    cell: ({ phoneNumber }) => <Cut>{phoneNumber}</Cut>,
    phone: 'hidden',
    isExtra: true,
  },
  ...(mayReadLicenses
    ? [
        {
          id: 'licenses',
          header: words.columns.licenses,
          cell: (customer: Customer) => (
            <TextLink
              to="/licenses"
              search={{ customerId: customer.id }}
              aria-label={words.licensesOf(nameOf(customer))}
            >
              {words.licenses}
            </TextLink>
          ),
        },
      ]
    : []),
  {
    id: 'created',
    header: words.columns.created,
    cell: ({ createdAt }) => createdAt && <Time value={createdAt} show="date" />,
    phone: 'hidden',
  },
];

export function Screen() {
  const search = customersRoute.useSearch();
  const navigate = customersRoute.useNavigate();
  const refusal = useRefusal('everything');
  const mayReadLicenses = useMay('readLicenses');
  const labelOf = usePlatformLabel();
  const columns = useMemo(() => columnsOf(labelOf, mayReadLicenses), [labelOf, mayReadLicenses]);
  const { q, after } = search;
  const page = useQuery({
    queryKey: ['customers', 'list', q, after],
    queryFn: ({ signal }) => licet.customers.page({ q, after, limit: PAGE_ROWS }, { signal }),
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
  return (
    <Page title={words.title} actions={create}>
      <DataTable
        name="customers"
        label={words.title}
        columns={columns}
        rows={page.data?.items}
        error={page.error}
        onRetry={page.refetch}
        linkOf={({ id }) => ({ to: '/customers/$id', params: { id } })}
        {...(refusal === undefined && {
          onEdit: ({ id }: Customer) =>
            void navigate({ to: '/customers/$id/edit', params: { id } }),
        })}
        tools={
          <search className="block sm:w-80">
            <FilterText
              label={words.search}
              value={q ?? ''}
              onChange={(text) => void navigate({ search: text === '' ? {} : { q: text } })}
            />
          </search>
        }
        empty={
          q === undefined ? (
            <Empty title={words.emptyTitle} actions={create}>
              {words.empty}
            </Empty>
          ) : (
            <NoMatch to="/customers" />
          )
        }
        footer={page.data?.total ? plural(page.data.total, 'customer') : undefined}
        pages={{ to: '/customers', search: { q }, after, next }}
      />
      <Dialog title={words.new} isOpen={search.open !== undefined} onClose={close} isWide>
        <CustomerForm onDone={close} />
      </Dialog>
    </Page>
  );
}
