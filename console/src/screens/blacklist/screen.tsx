import type { BlacklistEntry } from '@licet/client';
import { LICENSE_DATA_TYPES } from '@licet/contract/enums';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, IconButton } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Filters } from '../../components/filters.tsx';
import { FilterProduct, FilterSelect, FilterText } from '../../components/form.tsx';
import { Hwid } from '../../components/hwid.tsx';
import { Plus, Trash2 } from '../../components/icons.tsx';
import { ItemDialog } from '../../components/item-dialog.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { productName } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { countGiven } from '../../search.ts';
import { useMay } from '../../session.ts';
import { texts } from '../../texts.ts';
import { removeEntry } from './entries.ts';
import { EntryForm } from './form.tsx';
import { type BlacklistSearch, blacklistRoute } from './route.ts';

const words = screenTexts.blacklist;
const PAGE_ROWS = 50;

const columnsOf = (
  names: ReadonlyMap<number, string>,
  mayRemove: boolean,
): readonly Column<BlacklistEntry>[] => [
  {
    id: 'data',
    header: words.columns.data,
    cell: ({ data, licenseDataType }) =>
      licenseDataType === 'HWID' ? <Hwid value={data} /> : <Cut isMono>{data}</Cut>,
    phone: 'title',
  },
  {
    id: 'type',
    header: words.columns.type,
    cell: ({ licenseDataType }) => <Badge>{screenTexts.dataTypes[licenseDataType]}</Badge>,
    width: 'w-29',
    phone: 'lastEnd',
  },
  {
    id: 'scope',
    header: words.columns.scope,
    cell: ({ productId }) => (
      <Cut>{productId === null ? words.allProducts : productName(names, productId)}</Cut>
    ),
    width: 'w-36',
    phone: 'last',
  },
  {
    id: 'reason',
    header: words.columns.reason,
    cell: ({ reason }) => <Cut>{reason}</Cut>,
    phone: 'line',
  },
  {
    id: 'created',
    header: words.columns.created,
    cell: ({ createdAt }) => <Time value={createdAt} show="date" />,
    width: 'w-29',
    isWide: true,
  },
  ...(mayRemove
    ? [
        {
          id: 'remove',
          header: words.columns.remove,
          isNumber: true,
          isIcon: true,
          width: 'w-16',
          phone: 'titleEnd' as const,
          cell: (entry: BlacklistEntry) => (
            <div className="-my-3 max-md:-mr-3 md:-my-2">
              <IconButton
                label={words.remove(entry.data)}
                onClick={() => removeEntry(entry).catch(toasts.fail)}
              >
                <Trash2 size={16} aria-hidden />
              </IconButton>
            </div>
          ),
        },
      ]
    : []),
];

export function Screen() {
  const search = blacklistRoute.useSearch();
  const navigate = blacklistRoute.useNavigate();
  const mayWrite = useMay('writeBlacklists');
  const names = useProductNames();
  const columns = useMemo(() => columnsOf(names, mayWrite), [names, mayWrite]);
  const { open, after, ...filters } = search;
  const page = useQuery({
    queryKey: ['blacklist', 'list', filters, after],
    queryFn: ({ signal }) =>
      licet.blacklists.page({ ...filters, after, limit: PAGE_ROWS }, { signal }),
    placeholderData: keepPreviousData,
  });
  const next = page.data?.after;
  const isFiltered = countGiven(filters) > 0;
  const isEmpty = !isFiltered && page.data?.items.length === 0;
  const filter = (changes: Partial<BlacklistSearch>): void =>
    void navigate({ search: { ...filters, ...changes } });
  const close = (): void =>
    void navigate({ search: (old) => ({ ...old, open: undefined }), state: true, replace: true });
  const create = (label: string) =>
    mayWrite && (
      <ButtonLink to="/blacklist" search={{ ...search, open: 'new' }} state look="primary">
        <Plus size={16} aria-hidden />
        {label}
      </ButtonLink>
    );
  return (
    <Page title={words.title} lead={words.lead} actions={!isEmpty && create(words.new)}>
      <DataTable
        name="blacklist"
        label={words.title}
        columns={columns}
        rows={page.data?.items}
        error={page.error}
        onRetry={page.refetch}
        linkOf={({ id }) => ({ to: '/blacklist', search: { ...search, open: id }, state: true })}
        onEdit={({ id }) => void navigate({ search: (old) => ({ ...old, open: id }), state: true })}
        tools={
          <Filters
            to="/blacklist"
            count={countGiven({ ...filters, q: undefined })}
            search={
              <FilterText
                label={words.search}
                value={search.q ?? ''}
                onChange={(q) => filter({ q: q || undefined })}
              />
            }
          >
            <FilterSelect
              label={words.type}
              any={words.anyType}
              options={LICENSE_DATA_TYPES.map(
                (type) => [type, screenTexts.dataTypes[type]] as const,
              )}
              value={search.licenseDataType}
              onChange={(licenseDataType) => filter({ licenseDataType })}
            />
            <FilterProduct
              label={words.scope}
              names={names}
              value={search.productId}
              onChange={(productId) => filter({ productId })}
            />
          </Filters>
        }
        empty={
          isFiltered ? (
            <Empty
              title={texts.table.noMatch}
              actions={
                <>
                  <ButtonLink to="/blacklist">{texts.table.clearFilters}</ButtonLink>
                  {search.q !== undefined && create(words.blockValue(search.q))}
                </>
              }
            >
              {search.q === undefined ? texts.table.noMatchLead : words.nothingFor(search.q)}
            </Empty>
          ) : (
            <Empty title={words.emptyTitle} actions={create(words.new)}>
              {words.empty}
            </Empty>
          )
        }
        total={page.data?.total}
        count={words.count}
        pages={{ to: '/blacklist', search: filters, after, next }}
      />
      <ItemDialog<BlacklistEntry>
        name="blacklist"
        open={open}
        onClose={close}
        titleOf={(entry) => (entry ? words.editTitle(entry.data) : words.newTitle)}
        read={(id, signal) => licet.blacklists.read(id, { signal })}
      >
        {(stored) => (
          <EntryForm
            stored={stored}
            // After a search without results, the form begins with the searched value.
            start={page.data?.items.length === 0 ? { ...filters, data: search.q } : {}}
            onDone={close}
          />
        )}
      </ItemDialog>
    </Page>
  );
}
