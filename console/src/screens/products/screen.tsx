import type { Product } from '@licet/client';
import { useMemo } from 'react';
import { ButtonLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Plus } from '../../components/icons.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { LicenseCount } from '../licenses/count.tsx';
import { limitOf, ProductForm, typeOf } from './form.tsx';
import { productsRoute } from './route.ts';

const words = screenTexts.products;

/** The longest list whose licenses are counted: each product takes a request. */
const MAX_COUNTED = 20;

const columnsOf = (isCounted: boolean): readonly Column<Product>[] => [
  {
    id: 'name',
    header: words.columns.name,
    cell: ({ name }) => <Cut>{name}</Cut>,
    phone: 'title',
  },
  {
    id: 'id',
    header: words.columns.id,
    cell: ({ id }) => (
      <span className="-my-3 inline-flex items-center gap-1 max-md:-mr-3 md:-my-2">
        <span className="md:hidden">{words.id(id)}</span>
        <span className="max-md:hidden">{id}</span>
        <CopyButton value={String(id)} label={words.copyId(id)} isIcon />
      </span>
    ),
    width: 'w-28',
    phone: 'lineEnd',
  },
  {
    id: 'type',
    header: words.columns.type,
    cell: typeOf,
    width: 'w-36',
    phone: 'line',
  },
  {
    id: 'licenses',
    header: words.columns.licenses,
    isNumber: true,
    cell: ({ id, name }) => (
      <LicenseCount of={{ productId: id }} name={name} isCounted={isCounted} />
    ),
    width: 'w-24',
    phone: 'titleEnd',
  },
  {
    id: 'maxIPs',
    header: words.columns.maxIPs,
    isNumber: true,
    cell: ({ defaultMaxIPs }) => limitOf(defaultMaxIPs),
    width: 'w-30',
    isWide: true,
  },
  {
    id: 'maxHWIDs',
    header: words.columns.maxHWIDs,
    isNumber: true,
    cell: ({ defaultMaxHWIDs }) => limitOf(defaultMaxHWIDs),
    width: 'w-33',
    isWide: true,
  },
  {
    id: 'created',
    header: words.columns.created,
    cell: ({ createdDate }) => <Time value={createdDate} show="date" />,
    width: 'w-33',
  },
];

export function Screen() {
  const { open } = productsRoute.useSearch();
  const navigate = productsRoute.useNavigate();
  const products = useProducts();
  const isCounted = (products.data?.length ?? 0) <= MAX_COUNTED;
  const columns = useMemo(() => columnsOf(isCounted), [isCounted]);
  const refusal = useRefusal('writeProducts');
  const close = (): void => void navigate({ search: {}, replace: true });
  const create = refusal === undefined && (
    <ButtonLink to="/products" search={{ open: 'new' }} look="primary">
      <Plus size={16} aria-hidden />
      {words.new}
    </ButtonLink>
  );
  return (
    <Page title={words.title} actions={products.data?.length !== 0 && create}>
      <DataTable
        name="products"
        label={words.title}
        columns={columns}
        rows={products.data}
        error={products.error}
        onRetry={products.refetch}
        linkOf={({ id }) => ({ to: '/products/$id', params: { id } })}
        {...(refusal === undefined && {
          onEdit: ({ id }: Product) => void navigate({ to: '/products/$id/edit', params: { id } }),
        })}
        count={words.count}
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
