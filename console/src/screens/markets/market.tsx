import type { Market } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Cancel, EditPage } from '../../components/edit-page.tsx';
import { Pencil } from '../../components/icons.tsx';
import { AddressMark, Facts, Page, Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { formatNumber } from '../../format.ts';
import { editedQuery, OneItem } from '../../layout/one-item.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { EventSection } from '../events/section.tsx';
import { Arrived } from './arrived.tsx';
import { MarketForm } from './form.tsx';
import { Mapping } from './mapping.tsx';
import { marketQuery, refreshMarkets } from './queries.ts';
import { marketEditRoute, marketRoute } from './route.ts';
import { StateBadge } from './screen.tsx';
import { SecretForm } from './secret-form.tsx';

const words = screenTexts.markets;

/** A market: what to paste where, its products, and what arrived. */
export function Screen() {
  const { id } = marketRoute.useParams();
  return (
    <OneItem query={useQuery(marketQuery(id))}>
      {(market) => <MarketScreen market={market} />}
    </OneItem>
  );
}

function MarketScreen({ market }: { market: Market }) {
  const { id, name, kind } = market;
  const navigate = marketRoute.useNavigate();
  const refusal = useRefusal('everything');
  useShortcuts({
    e: () => {
      if (refusal === undefined) void navigate({ to: '/markets/$id/edit', params: { id } });
    },
  });
  const remove = async (): Promise<void> => {
    const isSure = await confirm({
      title: words.deleteTitle(name),
      lead: words.deleteLead,
      action: texts.actions.delete,
    });
    if (!isSure) return;
    try {
      await licet.markets.delete(id);
    } catch (error) {
      return toasts.fail(error);
    }
    await navigate({ to: '/markets', replace: true });
    toasts.done(words.deleted(name));
    await refreshMarkets(id);
  };
  return (
    <Page
      title={name}
      heading={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 break-words">{name}</span>
          <StateBadge market={market} />
        </span>
      }
      lead={words.stateLeads[market.state] && <Lead market={market} />}
      actions={
        <>
          <ButtonLink to="/purchases" search={{ marketId: id }}>
            {words.toPurchases}
          </ButtonLink>
          {refusal === undefined && (
            <ButtonLink to="/markets/$id/edit" params={{ id }}>
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
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Section title={words.address}>
          <div className="flex flex-col gap-4 px-4 py-4 sm:px-5">
            <Steps market={market} />
          </div>
        </Section>
        <Section title={words.secret} note={words.secretCount(market.secretCount)}>
          <div className="px-4 py-4 sm:px-5">
            <SecretForm market={market} refusal={refusal} />
          </div>
        </Section>
      </div>
      <Mapping market={market} refusal={refusal} />
      <Arrived market={market} />
      <Section title={words.facts}>
        <Facts
          rows={[
            [words.kind, words.kinds[kind]],
            [words.onRefund, words.refundActions[market.onRefund]],
            [words.onDispute, words.disputeActions[market.onDispute]],
            [words.mailsKey, market.mailsKey ? screenTexts.events.yes : screenTexts.events.no],
            [words.sales, formatNumber(market.sales)],
            [
              words.lastSale,
              market.lastSaleAt === null ? (
                words.never
              ) : (
                <Time key="lastSale" value={market.lastSaleAt} />
              ),
            ],
            [words.created, <Time key="created" value={market.createdAt} />],
          ]}
        />
      </Section>
      <EventSection title={words.ownChanges} filter={{ resourceType: 'market', resourceId: id }} />
    </Page>
  );
}

/** The task of a person. */
function Lead({ market: { id, state } }: { market: Market }) {
  return (
    <>
      {words.stateLeads[state]}{' '}
      {state === 'NEEDS_PRODUCT' && (
        <TextLink
          to="/purchases"
          search={{ marketId: id, state: 'UNMATCHED' }}
          className="underline"
        >
          {words.toWaiting}
        </TextLink>
      )}
    </>
  );
}

/** The addresses to paste, and where. */
function Steps({ market: { addresses, isPublic, kind } }: { market: Market }) {
  const [address] = addresses;
  return (
    <>
      <ol className="flex list-decimal flex-col gap-1.5 pl-5 wrap-anywhere">
        {words.steps[kind].map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {address === undefined ? (
        <p className="text-muted">{words.addressHidden}</p>
      ) : (
        <div className="flex items-center gap-2">
          <output
            aria-label={words.address}
            className="min-w-0 flex-1 rounded-lg border border-line bg-surface px-3 py-2 font-mono text-[0.8125rem] break-all select-all"
          >
            {address}
          </output>
          <CopyButton value={address} />
        </div>
      )}
      {address !== undefined && !isPublic && <AddressMark />}
      <p className="text-xs text-muted">{words.addressHint}</p>
      <p>
        <a
          href={`/docs/${kind}`}
          target="_blank"
          rel="noreferrer"
          className="-my-1.25 rounded-sm py-1.25 text-accent underline underline-offset-2"
        >
          {words.guide}
        </a>
      </p>
    </>
  );
}

/** Edits a market. */
export function EditScreen() {
  const { id } = marketEditRoute.useParams();
  const navigate = marketEditRoute.useNavigate();
  const link = { to: '/markets/$id', params: { id } } as const;
  return (
    <OneItem query={useQuery(editedQuery('market', id, licet.markets))}>
      {(stored) => (
        <EditPage name={stored.item.name}>
          <MarketForm
            stored={stored}
            onDone={() => void navigate(link)}
            cancel={<Cancel {...link} />}
          />
        </EditPage>
      )}
    </OneItem>
  );
}
