import type { License } from '@licet/client';
import { LICENSE_STATUSES, LICENSE_TYPES } from '@licet/contract/enums';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Button, ButtonLink } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { Filters } from '../../components/filters.tsx';
import { FilterProduct, FilterSelect, FilterText } from '../../components/form.tsx';
import { Download, Plus, X } from '../../components/icons.tsx';
import { NamedFilter } from '../../components/metadata-texts.tsx';
import { Empty, NoMatch, Page } from '../../components/page.tsx';
import { runWithProgress } from '../../components/progress.tsx';
import { toasts } from '../../components/toasts.tsx';
import { downloadItems } from '../../csv.ts';
import { formatDay } from '../../format.ts';
import { useProductNames, useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { countGiven } from '../../search.ts';
import { useMay, useRefusal } from '../../session.ts';
import { texts } from '../../texts.ts';
import { columnsOf } from './columns.tsx';
import { iterateAll, readPage, sortOf, totalQuery } from './queries.ts';
import { type LicensesSearch, licensesRoute, QUESTIONS, SORTS } from './route.ts';
import { SelectionBar } from './selection-bar.tsx';

const words = screenTexts.licenses;

/** Reads all licenses that match, with progress; undefined if it was stopped. */
const readAll = (search: LicensesSearch, title: string): Promise<License[] | undefined> =>
  runWithProgress(title, async (progress, signal) => {
    const all: License[] = [];
    for await (const license of iterateAll(search, signal)) {
      all.push(license);
      if (all.length % 100 === 0) progress(all.length);
    }
    return all;
  });

export function Screen() {
  const search = licensesRoute.useSearch();
  const navigate = licensesRoute.useNavigate();
  const products = useProducts();
  const names = useProductNames();
  const columns = useMemo(() => columnsOf(names), [names]);
  const refusal = useRefusal('writeLicenses');
  const [selected, setSelected] = useState<ReadonlyMap<string, License>>(new Map());
  const page = useQuery({
    queryKey: ['licenses', 'list', search],
    queryFn: ({ signal }) => readPage(search, signal),
    placeholderData: keepPreviousData,
  });

  const { sort: _, after, ...filters } = search;
  const next = page.data?.after;
  const total = useQuery({
    ...totalQuery(search),
    // A list of one page needs no count.
    enabled: after !== undefined || next !== undefined,
  });

  const filter = (changes: Partial<LicensesSearch>): void => {
    setSelected(new Map());
    void navigate({ search: (old) => ({ ...old, after: undefined, ...changes }) });
  };
  const isFiltered = countGiven(filters) > 0;
  const owner = search.email ?? search.chatId ?? search.customerId;

  const saveAll = async (): Promise<void> => {
    const all = await readAll(search, words.csvReading).catch(toasts.fail);
    if (all) downloadItems(words.csvName, 'licenses', all);
  };
  const selectMatching = async (): Promise<void> => {
    const all = await readAll(search, words.selecting).catch(toasts.fail);
    if (!all) return;
    // Another filter, or the viewer, may have ended the selection meanwhile.
    setSelected((now) =>
      now === selected ? new Map(all.map((license) => [String(license.id), license])) : now,
    );
  };

  return (
    <Page
      title={words.title}
      actions={
        // An empty list has its own first step.
        (isFiltered || page.data?.items.length !== 0) && (
          <>
            <Button onClick={saveAll} disabled={page.data?.items.length === 0}>
              <Download size={16} aria-hidden />
              <span className="sm:hidden">{words.csvSelected}</span>
              <span className="max-sm:hidden">
                {words.csvAll(search.licenseStatus === undefined)}
              </span>
            </Button>
            {refusal === undefined && (
              <ButtonLink to="/licenses/new" look="primary" aria-label={words.new}>
                <Plus size={16} aria-hidden />
                <span className="sm:hidden">{words.newShort}</span>
                <span className="max-sm:hidden">{words.new}</span>
              </ButtonLink>
            )}
          </>
        )
      }
    >
      <DataTable
        name="licenses"
        label={words.title}
        columns={columns}
        rows={page.data?.items}
        error={page.error}
        onRetry={page.refetch}
        linkOf={({ id }) => ({ to: '/licenses/$licenseId', params: { licenseId: id } })}
        {...(refusal === undefined && {
          onEdit: ({ id }: License) =>
            void navigate({ to: '/licenses/$licenseId/edit', params: { licenseId: id } }),
        })}
        nameOf={({ licenseKey }) => licenseKey}
        selection={{ rows: selected, onChange: setSelected }}
        sort={{
          value: sortOf(search),
          onChange: (value) => filter({ sort: licensesSort(value) }),
        }}
        tools={
          <Filters
            to="/licenses"
            count={countGiven({ ...filters, q: undefined })}
            search={
              <FilterText
                label={words.filters.text}
                value={search.q ?? ''}
                onChange={(q) => filter({ q: q || undefined })}
              />
            }
          >
            <FilterSelect
              label={words.filters.question}
              any={words.filters.noQuestion}
              options={QUESTIONS.map((question) => [question, words.questions[question]] as const)}
              value={search.question}
              onChange={(question) => filter({ question, sort: undefined })}
            />
            <FilterSelect
              label={words.filters.status}
              any={words.filters.anyStatus}
              options={LICENSE_STATUSES.map((status) => [status, texts.statuses[status]] as const)}
              value={search.licenseStatus}
              onChange={(licenseStatus) => filter({ licenseStatus })}
            />
            <FilterSelect
              label={words.filters.type}
              any={words.filters.anyType}
              options={LICENSE_TYPES.map((type) => [type, screenTexts.licenseTypes[type]] as const)}
              value={search.licenseType}
              onChange={(licenseType) => filter({ licenseType })}
            />
            <FilterProduct
              label={words.filters.product}
              names={names}
              value={search.productId}
              onChange={(productId) => filter({ productId })}
            />
            <NamedFilter value={search.metadata} onClear={() => filter({ metadata: undefined })} />
            <NamedFilter
              value={search.entitlement}
              words={screenTexts.entitlements}
              onClear={() => filter({ entitlement: undefined })}
            />
            {search.expiresFrom !== undefined && (
              <Button onClick={() => filter({ expiresFrom: undefined, expiresTo: undefined })}>
                {words.filters.expiring(
                  formatDay(search.expiresFrom),
                  search.expiresTo === undefined || search.expiresTo === search.expiresFrom
                    ? undefined
                    : formatDay(search.expiresTo),
                )}
                <X size={14} aria-label={texts.actions.clear} />
              </Button>
            )}
            {owner !== undefined && (
              <Button
                onClick={() =>
                  filter({ email: undefined, chatId: undefined, customerId: undefined })
                }
              >
                {words.filters.of(String(owner))}
                <X size={14} aria-label={texts.actions.clear} />
              </Button>
            )}
          </Filters>
        }
        empty={<NoLicenses isFiltered={isFiltered} hasProduct={products.data?.length !== 0} />}
        pages={{ to: '/licenses', search, after, next }}
        total={total.data ?? undefined}
        count={words.count}
      />
      {selected.size > 0 && (
        <SelectionBar
          selected={selected}
          onChange={setSelected}
          refusal={refusal}
          selectMatching={
            next !== undefined && selected.size === page.data?.items.length
              ? selectMatching
              : undefined
          }
        />
      )}
    </Page>
  );
}

const licensesSort = (value: string) => SORTS.find((known) => known === value);

function NoLicenses({ isFiltered, hasProduct }: { isFiltered: boolean; hasProduct: boolean }) {
  const mayWrite = useMay('writeLicenses');
  const mayAll = useMay('everything');
  if (isFiltered) {
    return <NoMatch to="/licenses" />;
  }
  return (
    <Empty
      title={words.emptyTitle}
      actions={
        <>
          {mayWrite && (
            <ButtonLink to={hasProduct ? '/licenses/new' : '/products'} look="primary">
              {hasProduct ? words.new : words.createProduct}
            </ButtonLink>
          )}
          {mayAll && <ButtonLink to="/import">{words.import}</ButtonLink>}
        </>
      }
    >
      {hasProduct ? words.empty : words.emptyProductFirst}
    </Empty>
  );
}
