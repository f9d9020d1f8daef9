import type { Market, MarketDelivery, Purchase } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { TextLink } from '../../components/button.tsx';
import { Facts, LoadFailure, Section, Skeleton } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { PaneDialog } from '../../components/side-pane.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { soldName } from './names.ts';
import { PurchaseBadge } from './purchase.tsx';
import { arrivedQuery } from './queries.ts';
import { marketRoute } from './route.ts';

/** The latest requests of a market. A row opens its request in a dialog. */

const words = screenTexts.markets;
const EFFECT_TONES = { CHANGED: 'good', NOTHING: 'neutral', NEEDS_PERSON: 'warn' } as const;

const EffectBadge = ({ status, effect }: MarketDelivery) =>
  effect === null ? (
    <Badge tone="bad">{status < 500 ? words.rejected : words.failed}</Badge>
  ) : (
    <Badge tone={EFFECT_TONES[effect]}>{words.effects[effect]}</Badge>
  );

const columnsOf = (id: number): readonly SimpleColumn<MarketDelivery>[] => [
  [
    words.arrivedColumns.time,
    (row) => (
      <TextLink to="/markets/$id" params={{ id }} search={{ open: row.id }} resetScroll={false}>
        <Time value={row.time} show="clock" />
      </TextLink>
    ),
  ],
  [words.arrivedColumns.state, EffectBadge],
  [words.arrivedColumns.type, ({ type }) => type],
  [words.arrivedColumns.result, ({ result }) => result],
  [words.arrivedColumns.status, ({ status }) => status, 'number'],
];

/** Whether the last request was right, as the state of the market says it too. */
function LastBadge({ last }: { last: MarketDelivery }) {
  if (last.effect === null || !last.isAccepted) return <Badge tone="bad">{words.failing}</Badge>;
  return last.effect === 'NEEDS_PERSON' ? (
    <Badge tone="warn">{words.needsYou}</Badge>
  ) : (
    <Badge tone="good">{words.works}</Badge>
  );
}

/** The latest requests of the market, read again every few seconds: the first one turns the line green. */
export function Arrived({ market: { id } }: { market: Market }): ReactNode {
  const { open } = marketRoute.useSearch();
  const navigate = marketRoute.useNavigate();
  const query = useQuery(arrivedQuery(id));
  const last = query.data?.[0];
  const opened = query.data?.find((one) => one.id === open);
  return (
    <Section
      title={words.arrived}
      note={
        <span role="status" className="flex items-center gap-2">
          {last === undefined ? words.waiting : <LastBadge last={last} />}
        </span>
      }
    >
      <SectionRows query={query} empty={words.nothingArrived}>
        {(rows) => <SimpleTable rows={rows} label={words.arrived} columns={columnsOf(id)} />}
      </SectionRows>
      <PaneDialog
        title={words.arrivedTitle}
        isOpen={open !== undefined}
        onClose={() => void navigate({ search: {}, replace: true, resetScroll: false })}
      >
        {opened ? (
          <Details marketId={id} delivery={opened} />
        ) : query.data ? (
          <p className="px-4 pb-4 sm:px-5">{words.arrivedGone}</p>
        ) : query.error ? (
          <LoadFailure error={query.error} onRetry={query.refetch} />
        ) : (
          <Skeleton />
        )}
      </PaneDialog>
    </Section>
  );
}

/** A body in lines, if it is whole JSON. */
function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function Details({ marketId, delivery }: { marketId: number; delivery: MarketDelivery }) {
  const { time, type, result, item, order, body } = delivery;
  const purchases = usePurchases(marketId, order);
  return (
    <div className="flex flex-col">
      <div className="flex flex-col gap-3 border-b border-line px-4 pb-4 sm:px-5">
        <p className="flex flex-wrap items-center gap-2">
          <EffectBadge {...delivery} />
          <span className="text-muted">
            <Time value={time} />
          </span>
        </p>
        <p className="break-words">{result}</p>
      </div>
      <Facts
        rows={[
          [words.arrivedColumns.type, type ?? ''] as const,
          [words.arrivedItem, item ?? ''] as const,
          [words.arrivedOrder, order ?? ''] as const,
          [
            words.arrivedPurchases,
            purchases.length > 0 && <Purchases key="purchases" purchases={purchases} />,
          ] as const,
          [words.arrivedColumns.status, String(delivery.status)] as const,
        ].filter(([, value]) => value)}
      />
      <div className="border-t border-line px-4 py-4 sm:px-5">
        <p className="pb-2 text-muted">{words.arrivedBody}</p>
        {body ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: viewers without a mouse scroll it by keyboard
          <pre tabIndex={0} className="max-h-80 overflow-auto rounded-lg bg-hover p-3 text-xs">
            {readable(body)}
          </pre>
        ) : (
          <p>{body === null ? words.noBody : words.erasedBody}</p>
        )}
      </div>
    </div>
  );
}

const SHOWN = 5;

/** The purchases of an order, or of a payment of it; none without an order. */
function usePurchases(marketId: number, order: string | null): readonly Purchase[] {
  const mayRead = useMay('readPurchases');
  const { data = [] } = useQuery({
    queryKey: ['purchases', 'order', marketId, order],
    queryFn: ({ signal }) =>
      licet.purchases.list({ marketId, q: order ?? '', limit: SHOWN }, { signal }),
    enabled: mayRead && order !== null,
  });
  // A short id can be a part of others.
  const exact = data.filter((one) => one.order === order || one.reference === order);
  return exact.length > 0 ? exact : data;
}

const Purchases = ({ purchases }: { purchases: readonly Purchase[] }) => (
  <ul className="flex flex-col gap-1.5">
    {purchases.map((purchase) => (
      <li key={purchase.id} className="flex flex-wrap items-center gap-2">
        <TextLink to="/purchases" search={{ open: purchase.id }}>
          {soldName(purchase)}
        </TextLink>
        <PurchaseBadge purchase={purchase} />
      </li>
    ))}
  </ul>
);
