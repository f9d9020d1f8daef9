import type { Purchase } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Form, SelectField } from '../../components/form.tsx';
import { Facts, LoadFailure, Skeleton } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { formatNumber } from '../../format.ts';
import { useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { LinkButton } from '../customers/link-button.tsx';
import { licenseQuery } from '../license/queries.ts';
import { SendKey } from '../mail/send-key.tsx';
import { amountText, orderOf, soldName } from './names.ts';
import { purchaseQuery, refreshMarkets } from './queries.ts';

const words = screenTexts.purchases;
const TONES = { GRANTED: 'good', REVOKED: 'neutral', UNMATCHED: 'warn' } as const;

/** The state of a purchase: amber if somebody must act. */
export const PurchaseBadge = ({ purchase: { state, isIgnored } }: { purchase: Purchase }) =>
  isIgnored ? (
    <Badge>{words.ignored}</Badge>
  ) : (
    <Badge tone={TONES[state]}>{words.states[state]}</Badge>
  );

/** All that is known about a purchase, and the next steps. */
export function PurchasePane({ id, known }: { id: number; known: Purchase | undefined }) {
  const { data: purchase, error, refetch } = useQuery(purchaseQuery(id, known));
  if (error && !purchase) return <LoadFailure error={error} onRetry={refetch} />;
  if (!purchase) return <Skeleton />;
  return (
    <div className="flex flex-col">
      <div className="flex flex-col gap-3 border-b border-line px-4 pb-4 sm:px-5">
        <p className="flex flex-wrap items-center gap-2">
          <PurchaseBadge purchase={purchase} />
          {purchase.isTest && <Badge>{words.test}</Badge>}
          <span className="text-muted">
            <Time value={purchase.createdAt} />
          </span>
        </p>
        <Explanation purchase={purchase} />
        <Steps purchase={purchase} />
      </div>
      <Details purchase={purchase} />
    </div>
  );
}

function Explanation({
  purchase: { state, reason, revokedAt, isIgnored, marketName },
}: {
  purchase: Purchase;
}) {
  if (isIgnored) return <p>{words.ignoredLead}</p>;
  if (state === 'UNMATCHED') return <p>{marketName === null ? words.goneLead : reason}</p>;
  if (state === 'GRANTED') return null;
  return (
    <p>
      {words.revoked(reason ?? '')}
      {revokedAt !== null && (
        <>
          {', '}
          <Time value={revokedAt} />
        </>
      )}
    </p>
  );
}

function Steps({ purchase }: { purchase: Purchase }) {
  const { id, state, isIgnored, licenseId, customerId, marketName } = purchase;
  const refusal = useRefusal('writePurchases');
  const mayLink = useMay('writeLicenses');
  const customer = useCustomer(purchase);
  const [isChoosing, setChoosing] = useState(false);
  if (isChoosing) {
    return <ChooseProduct id={id} refusal={refusal} onDone={() => setChoosing(false)} />;
  }
  const ignore = async (next: boolean): Promise<void> => {
    const store = async (value: boolean) => {
      await licet.purchases.ignore(id, { isIgnored: value });
      await refreshMarkets();
    };
    try {
      await store(next);
      toasts.done(next ? words.ignoredDone : words.waitsDone, () => store(!next));
    } catch (error) {
      toasts.fail(error);
    }
  };
  return (
    <div className="flex flex-wrap gap-2 empty:hidden">
      {state === 'UNMATCHED' && licenseId === null && (
        <>
          {/* A deleted market delivers no key. */}
          {marketName !== null && (
            <Button look="primary" refusal={refusal} onClick={() => setChoosing(true)}>
              {words.choose}
            </Button>
          )}
          <Button refusal={refusal} onClick={() => ignore(!isIgnored)}>
            {isIgnored ? words.unignore : words.ignore}
          </Button>
        </>
      )}
      {licenseId !== null && customerId !== null && mayLink && <LinkButton of={{ licenseId }} />}
      {state === 'GRANTED' && licenseId !== null && (
        <SendKey licenseId={licenseId} email={customer?.email ?? null} />
      )}
    </div>
  );
}

/** Grants a purchase that waits for a product. */
function ChooseProduct({
  id,
  refusal,
  onDone,
}: {
  id: number;
  refusal: string | undefined;
  onDone: () => void;
}) {
  const { data: products = [] } = useProducts();
  return (
    <Form
      onSubmit={async (data) => {
        const productId = Number(data.get('productId'));
        const { licenseId } = await licet.purchases.grant(id, { productId });
        await refreshMarkets();
        toasts.done(words.granted(licenseId ?? 0));
        onDone();
      }}
      buttons={(isBusy) => (
        <>
          <Button type="submit" look="primary" disabled={isBusy} refusal={refusal}>
            {words.grant}
          </Button>
          <Button look="quiet" onClick={onDone}>
            {words.cancel}
          </Button>
        </>
      )}
      className="flex flex-col gap-4"
    >
      <p>{words.chooseLead}</p>
      <SelectField
        label={words.columns.item}
        name="productId"
        options={[
          ['', words.chooseOne],
          ...products.map(({ id: value, name }) => [String(value), name] as const),
        ]}
        required
      />
    </Form>
  );
}

const Mono = ({ value, children }: { value: string; children?: ReactNode }) => (
  <span className="-my-1.5 -mr-3 flex items-center gap-1 sm:mr-0">
    <span className="min-w-0 flex-1 py-1.5 font-mono text-xs break-all">{children ?? value}</span>
    <CopyButton value={value} label={words.copy(value)} isIcon />
  </span>
);

/** The customer who has the license now, with the e-mail: after a transfer it is not the buyer. */
function useCustomer({ licenseId }: Purchase) {
  const mayRead = useMay('readLicenses');
  const { data } = useQuery({
    ...licenseQuery(licenseId ?? 0),
    enabled: mayRead && licenseId !== null,
  });
  return data?.item.customer ?? null;
}

function Details({ purchase }: { purchase: Purchase }) {
  const { licenseId, licenseKey, productId, customerId, marketId, marketName } = purchase;
  const [mayReadMarkets, mayReadProducts, mayReadCustomers] = [
    useMay('readMarkets'),
    useMay('readProducts'),
    useMay('readCustomers'),
  ];
  const customer = useCustomer(purchase);
  const email = purchase.email ?? customer?.email ?? null;
  const order = orderOf(purchase);
  const buyer = [purchase.buyerName, purchase.buyerId].filter((one) => one !== null).join(' · ');
  const market = marketName ?? words.goneMarket;
  const rows: readonly (readonly [string, ReactNode])[] = [
    [words.columns.order, order !== null && <Mono key="order" value={order} />],
    [words.columns.buyer, buyer],
    [words.email, email && <Mono value={email} />],
    [
      words.customer,
      customerId !== null && mayReadCustomers && (
        <TextLink to="/customers/$id" params={{ id: customerId }}>
          {customer?.username ?? customer?.email ?? words.customerOf(customerId)}
        </TextLink>
      ),
    ],
    [words.columns.amount, amountText(purchase)],
    [words.quantity, purchase.quantity > 1 && formatNumber(purchase.quantity)],
    [
      words.columns.item,
      productId !== null &&
        (mayReadProducts ? (
          <TextLink to="/products/$id" params={{ id: productId }}>
            {soldName(purchase)}
          </TextLink>
        ) : (
          soldName(purchase)
        )),
    ],
    [
      words.atMarket,
      <span key="item" className="font-mono text-xs break-all">
        {purchase.item}
      </span>,
    ],
    [
      words.columns.license,
      licenseId !== null &&
        (licenseKey === null ? (
          words.license(licenseId)
        ) : (
          <Mono value={licenseKey}>
            <TextLink to="/licenses/$licenseId" params={{ licenseId }}>
              {licenseKey}
            </TextLink>
          </Mono>
        )),
    ],
    [
      words.columns.market,
      marketName !== null && mayReadMarkets ? (
        <TextLink key="market" to="/markets/$id" params={{ id: marketId }}>
          {market}
        </TextLink>
      ) : (
        market
      ),
    ],
  ];
  return <Facts rows={rows.filter(([, value]) => value)} />;
}
