import type { Product } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { licet } from '../../api.ts';
import { ButtonLink, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../format.ts';
import { useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { limitOf, ProductForm, typeOf } from './form.tsx';
import { productsRoute } from './route.ts';

const words = screenTexts.products;

/** The longest list whose licenses are counted: each product takes a request. */
const MAX_COUNTED = 20;

/** A link to a product's licenses, with their number if there are not many products. */
function LicensesLink({ product: { id: productId, name } }: { product: Product }) {
  const mayRead = useMay('readLicenses');
  const { data: products = [] } = useProducts();
  const isCounted = products.length <= MAX_COUNTED;
  const { data } = useQuery({
    queryKey: ['licenses', 'count', productId],
    queryFn: ({ signal }) => licet.licenses.page({ productId, limit: 1 }, { signal }),
    staleTime: 60_000,
    enabled: mayRead && isCounted,
  });
  const total = data?.total;
  if (mayRead && !isCounted) {
    return (
      <TextLink to="/licenses" search={{ productId }} aria-label={words.licensesOf(name)}>
        {words.columns.licenses}
      </TextLink>
    );
  }
  if (!mayRead || total === undefined) return null;
  return (
    <TextLink to="/licenses" search={{ productId }} aria-label={words.licenses(total)}>
      <span className="sm:hidden">{words.licenses(total)}</span>
      <span className="max-sm:hidden">{formatNumber(total)}</span>
    </TextLink>
  );
}

const COLUMNS: readonly Column<Product>[] = [
  {
    id: 'name',
    header: words.columns.name,
    cell: ({ name }) => (
      <span className="line-clamp-2 max-w-80 break-words" title={name}>
        {name}
      </span>
    ),
    phone: 'title',
  },
  {
    id: 'id',
    header: words.columns.id,
    cell: ({ id }) => (
      <span className="inline-flex items-center gap-1 sm:-my-2">
        <span className="font-mono text-[0.8125rem]">
          <span className="sm:hidden">{words.id(id)}</span>
          <span className="max-sm:hidden">{id}</span>
        </span>
        <CopyButton value={String(id)} label={words.copyId(id)} isIcon />
      </span>
    ),
  },
  {
    id: 'type',
    header: words.columns.type,
    cell: typeOf,
  },
  {
    id: 'licenses',
    header: words.columns.licenses,
    isNumber: true,
    cell: (product) => <LicensesLink product={product} />,
  },
  {
    id: 'maxIPs',
    header: words.columns.maxIPs,
    isNumber: true,
    cell: ({ defaultMaxIPs }) => limitOf(defaultMaxIPs),
    phone: 'hidden',
  },
  {
    id: 'maxHWIDs',
    header: words.columns.maxHWIDs,
    isNumber: true,
    cell: ({ defaultMaxHWIDs }) => limitOf(defaultMaxHWIDs),
    phone: 'hidden',
  },
  {
    id: 'created',
    header: words.columns.created,
    cell: ({ createdDate }) => <Time value={createdDate} show="date" />,
    phone: 'hidden',
  },
];

export function Screen() {
  const { open } = productsRoute.useSearch();
  const navigate = productsRoute.useNavigate();
  const products = useProducts();
  const refusal = useRefusal('writeProducts');
  const close = (): void => void navigate({ search: {}, replace: true });
  const create = refusal === undefined && (
    <ButtonLink to="/products" search={{ open: 'new' }} look="primary">
      <Plus size={16} aria-hidden />
      {words.new}
    </ButtonLink>
  );
  return (
    <Page title={words.title} actions={create}>
      <DataTable
        name="products"
        label={words.title}
        columns={COLUMNS}
        rows={products.data}
        error={products.error}
        onRetry={products.refetch}
        linkOf={({ id }) => ({ to: '/products/$id', params: { id } })}
        {...(refusal === undefined && {
          onEdit: ({ id }: Product) => void navigate({ to: '/products/$id/edit', params: { id } }),
        })}
        empty={
          <Empty title={words.emptyTitle} actions={create}>
            {words.empty}
          </Empty>
        }
      />
      <Dialog title={words.new} isOpen={open !== undefined} onClose={close} isWide>
        <ProductForm onDone={close} />
      </Dialog>
    </Page>
  );
}
