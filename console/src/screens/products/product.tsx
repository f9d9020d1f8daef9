import type { Product } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import { keysOf } from '@licet/contract/objects';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { describe, hasStatus, licet, queries } from '../../api.ts';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Cancel, EditPage } from '../../components/edit-page.tsx';
import { CodeXml, Pencil } from '../../components/icons.tsx';
import { Facts, Notice, Page, Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { entitlementLines } from '../../entitlements.ts';
import { formatNumber } from '../../format.ts';
import { editedQuery, OneItem } from '../../layout/one-item.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { EventSection } from '../events/section.tsx';
import { LicenseCount } from '../licenses/count.tsx';
import { marketsQuery } from '../markets/queries.ts';
import { limitOf, ProductForm, refreshProducts, typeOf } from './form.tsx';
import { productEditRoute, productRoute } from './route.ts';

const words = screenTexts.products;
const DAYS = 30;

const productQuery = (id: number) =>
  queryOptions({
    queryKey: ['products', 'one', id],
    queryFn: ({ signal }) => licet.products.get(id, { signal }),
  });

/** A product: its values, its licenses, and the versions that are in use. */
export function Screen() {
  const { id } = productRoute.useParams();
  return (
    <OneItem query={useQuery(productQuery(id))}>
      {(product) => <ProductScreen product={product} />}
    </OneItem>
  );
}

function ProductScreen({ product }: { product: Product }) {
  const { id, name } = product;
  const navigate = productRoute.useNavigate();
  const refusal = useRefusal('writeProducts');
  const mayReadRequests = useMay('readRequests');
  const [isInUse, setInUse] = useState(false);
  useShortcuts({
    e: () => {
      if (refusal === undefined) void navigate({ to: '/products/$id/edit', params: { id } });
    },
  });
  const mayReadMarkets = useMay('readMarkets');
  const remove = async (): Promise<void> => {
    const markets = mayReadMarkets ? await queries.fetchQuery(marketsQuery).catch(() => []) : [];
    const sellers = markets
      .filter(({ products }) => products.some(({ productId }) => productId === id))
      .map((market) => market.name);
    const isSure = await confirm({
      title: words.deleteTitle(name),
      lead: sellers.length === 0 ? words.deleteLead : `${words.sold(sellers)} ${words.deleteLead}`,
      action: texts.actions.delete,
    });
    if (!isSure) return;
    try {
      await licet.products.delete(id, { evenIfSold: sellers.length > 0 });
    } catch (error) {
      // A token that may not read the markets learns only now that one sells it.
      if (hasStatus(error, 409) && !describe(error).includes('evenIfSold')) return setInUse(true);
      return toasts.fail(error);
    }
    await navigate({ to: '/products', replace: true });
    toasts.done(words.deleted(name));
    await refreshProducts(id);
  };
  return (
    <Page
      title={name}
      actions={
        <>
          <ButtonLink to="/program" search={{ productId: id }}>
            <CodeXml size={16} aria-hidden />
            {texts.navigation.program}
          </ButtonLink>
          {refusal === undefined && (
            <ButtonLink to="/products/$id/edit" params={{ id }}>
              <Pencil size={16} aria-hidden />
              {texts.actions.edit}
            </ButtonLink>
          )}
          <Button refusal={refusal} onClick={remove}>
            {texts.actions.delete}
          </Button>
        </>
      }
    >
      {isInUse && (
        <Notice tone="bad">
          {words.inUse}{' '}
          <TextLink to="/licenses" search={{ productId: id }} className="underline">
            {words.showLicenses}
          </TextLink>
        </Notice>
      )}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Details product={product} />
        <div className="flex min-w-0 flex-col gap-5">
          <Licenses product={product} />
          {mayReadRequests && <Versions id={id} />}
        </div>
      </div>
      <EventSection filter={{ resourceType: 'product', resourceId: id }} />
    </Page>
  );
}

function Details({ product }: { product: Product }) {
  const { id } = product;
  const { shown } = words;
  const rows: readonly (readonly [string, ReactNode])[] = [
    [
      words.columns.id,
      <span key="id" className="-my-1.5 inline-flex items-center gap-1">
        {id}
        <CopyButton value={String(id)} label={words.copyId(id)} isIcon />
      </span>,
    ],
    [words.type, typeOf(product)],
    [words.description, linesOf(product.description)],
    [words.maxIPs, limitOf(product.defaultMaxIPs)],
    [words.maxHWIDs, limitOf(product.defaultMaxHWIDs)],
    [shown.offline, shown.offlineFor(product.offlineDays)],
    [shown.asks, shown.asksAfter(product.checkAfterHours)],
    [screenTexts.entitlements.title, linesOf(entitlementLines(product.entitlements))],
    ...keysOf(shown.idle).map((name): readonly [string, ReactNode] => [
      shown.idle[name],
      shown.idleAfter(product[name] ?? 0),
    ]),
    [shown.resets, shown.resetsIn(product.selfResets)],
    [words.selfRotate, product.selfRotate && screenTexts.events.yes],
    [
      words.expiry,
      product.defaultExpiresAfterDays && shown.expiry(product.defaultExpiresAfterDays),
    ],
    ...keysOf(words.moreFields).map((name): readonly [string, ReactNode] => [
      words.moreFields[name],
      product[name],
    ]),
    [words.columns.created, <Time key="created" value={product.createdDate} />],
    [words.changed, <Time key="changed" value={product.updatedDate} />],
  ];
  return (
    <Section title={words.facts}>
      <Facts rows={rows.filter(([, value]) => value)} />
    </Section>
  );
}

const linesOf = (text: string) => text && <span className="whitespace-pre-wrap">{text}</span>;

const statisticsQuery = (id: number) =>
  queryOptions({
    queryKey: ['history', 'statistics', 'of', id],
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString();
      return licet.statistics({ productId: id, step: 'day', from }, { signal });
    },
    staleTime: 60_000,
  });

/** The number of licenses, with links to the filtered list. */
function Licenses({ product: { id, name } }: { product: Product }) {
  const mayRead = useMay('readLicenses');
  const mayWrite = useMay('writeLicenses');
  const { data: statistics } = useQuery({
    ...statisticsQuery(id),
    enabled: useMay('readRequests'),
  });
  if (!mayRead) return null;
  const own = statistics?.products.find(({ productId }) => productId === id);
  const rows: readonly (readonly [string, ReactNode])[] = [
    [
      words.columns.licenses,
      <LicenseCount key="licenses" of={{ productId: id }} name={name} isNumber />,
    ],
    [words.active, own && formatNumber(own.active)],
    [words.validations, own && formatNumber(own.validations)],
  ];
  return (
    <Section
      title={words.columns.licenses}
      actions={
        mayWrite && (
          <TextLink to="/licenses/new" search={{ productId: id }} className="mr-2">
            {screenTexts.licenses.new}
          </TextLink>
        )
      }
    >
      <Facts rows={rows.filter(([, value]) => value)} />
    </Section>
  );
}

function Versions({ id }: { id: number }) {
  const query = useQuery(statisticsQuery(id));
  const { versionColumns: headers } = words;
  return (
    <Section title={words.versions}>
      <SectionRows
        query={{ ...query, data: query.data?.versions }}
        empty={words.noVersions}
        lines={2}
      >
        {(versions) => (
          <SimpleTable
            rows={versions.map((version) => ({ ...version, id: version.productVersion ?? '' }))}
            isNarrow
            label={words.versions}
            columns={[
              [
                headers.version,
                ({ productVersion }) =>
                  (productVersion && <span className="break-all">{productVersion}</span>) ?? (
                    <span className="text-muted">{texts.overview.noVersion}</span>
                  ),
              ],
              [headers.installations, ({ installations }) => formatNumber(installations), 'number'],
            ]}
          />
        )}
      </SectionRows>
    </Section>
  );
}

/** Edits a product. */
export function EditScreen() {
  const { id } = productEditRoute.useParams();
  const navigate = productEditRoute.useNavigate();
  const link = { to: '/products/$id', params: { id } } as const;
  return (
    <OneItem query={useQuery(editedQuery('product', id, licet.products))}>
      {(stored) => (
        <EditPage name={stored.item.name}>
          <ProductForm
            stored={stored}
            onDone={() => void navigate(link)}
            cancel={<Cancel {...link} />}
          />
        </EditPage>
      )}
    </OneItem>
  );
}
