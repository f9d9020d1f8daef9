import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { licet } from '../../api.ts';
import { OutcomeBadge } from '../../components/badge.tsx';
import { ButtonLink, TextLink } from '../../components/button.tsx';
import { FilterSelect } from '../../components/form.tsx';
import { Check, CircleAlert, Radio } from '../../components/icons.tsx';
import { EmptyScreen, LoadFailure, Page, Skeleton } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { type ExampleFile, FILES } from './files.ts';
import { programRoute } from './route.ts';

const words = screenTexts.program;
const WAITING_MS = 2_000;
const ARRIVED_MS = 15_000;

const Example = lazy(() => import('./example.tsx'));

export function Screen() {
  const search = programRoute.useSearch();
  const navigate = programRoute.useNavigate();
  const mayCreate = useMay('writeProducts');
  const products = useProducts();
  const product = products.data?.find(({ id }) => id === search.productId) ?? products.data?.[0];
  const file: ExampleFile = search.file ?? FILES[0];
  const content = (): ReactNode => {
    if (products.error) return <LoadFailure error={products.error} onRetry={products.refetch} />;
    if (!products.data) return <Skeleton lines={8} />;
    if (!product) {
      return (
        <EmptyScreen
          title={words.noProductTitle}
          actions={
            mayCreate && (
              <ButtonLink to="/products" search={{ open: 'new' }} look="primary">
                {words.createProduct}
              </ButtonLink>
            )
          }
        >
          {words.noProduct}
        </EmptyScreen>
      );
    }
    return (
      <>
        <Live productId={product.id} />
        <Suspense fallback={<Skeleton lines={12} />}>
          <Example
            file={file}
            product={product}
            licenseId={search.licenseId}
            isSigned={search.signed === true}
            onSign={(isSigned) =>
              void navigate({
                search: ({ signed: _, ...old }) => ({ ...old, ...(isSigned && { signed: true }) }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        </Suspense>
      </>
    );
  };
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        product && (
          <FilterSelect
            label={words.product}
            value={product.id}
            options={(products.data ?? []).map(({ id, name }) => [id, name] as const)}
            onChange={(productId) =>
              void navigate({ search: ({ licenseId: _, ...old }) => ({ ...old, productId }) })
            }
          />
        )
      }
    >
      {content()}
    </Page>
  );
}

/** Waits for the first validation of a product, and shows its outcome. */
function Live({ productId }: { productId: number }) {
  const mayRead = useMay('readRequests');
  const latest = useQuery({
    queryKey: ['history', 'latest', productId],
    queryFn: async ({ signal }) => {
      const { items } = await licet.requests.page({ productId, limit: 1 }, { signal });
      return items[0] ?? null;
    },
    refetchInterval: ({ state }) => (state.data ? ARRIVED_MS : WAITING_MS),
    staleTime: 0,
    enabled: mayRead,
  });
  if (!mayRead) return <p className="text-muted">{words.mayNotWatch}</p>;
  if (latest.error) return <LoadFailure error={latest.error} onRetry={latest.refetch} />;
  const { data } = latest;
  const [tone, Icon, title] = !data
    ? (['border-line bg-surface', Radio, words.waiting] as const)
    : data.valid
      ? (['border-good bg-good-soft text-good', Check, words.arrived] as const)
      : (['border-warn bg-warn-soft text-warn', CircleAlert, words.refused] as const);
  return (
    <div role="status" className={`flex gap-3 rounded-xl border px-4 py-3 sm:px-5 ${tone}`}>
      <Icon
        size={20}
        aria-hidden
        className={`mt-0.5 shrink-0 ${data ? '' : 'animate-pulse text-accent'}`}
      />
      <div className="min-w-0">
        <p className="font-semibold">{title}</p>
        {data ? (
          <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
            {!data.valid && <OutcomeBadge outcome={data.responseType} />}
            <Time value={data.requestDate} show="ago" />
            {data.productVersion && <span>{words.version(data.productVersion)}</span>}
            <TextLink to="/history" search={{ productId }}>
              {words.showHistory}
            </TextLink>
          </p>
        ) : (
          <p className="text-muted">{words.waitingLead}</p>
        )}
      </div>
    </div>
  );
}
