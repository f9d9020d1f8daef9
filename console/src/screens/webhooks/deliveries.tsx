import type { Delivery, Webhook } from '@licet/client';
import { MINUTE_MS } from '@licet/contract/durations';
import { DELIVERY_STATES, PING_TYPE } from '@licet/contract/enums';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { licet, queries } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { EventObject, hasObject } from '../../components/changes.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FilterSelect } from '../../components/form.tsx';
import { Facts, LoadFailure, Notice, Section, Skeleton } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { failureOf } from './failure.ts';
import { eventOf, namedIn, titleOf } from './message.ts';
import { Attempt, Body, DeliveryBadge, formatBody } from './outcome.tsx';
import { deliveriesQuery, deliveryQuery } from './queries.ts';
import { webhookRoute } from './route.ts';

const words = screenTexts.webhooks;
const { deliveryColumns: headers } = words;

/** The object of a delivery's event, with a link to it, or else to the event. */
function DeliveryObject({ delivery }: { delivery: Delivery }): ReactNode {
  const names = useProductNames();
  const event = eventOf(delivery);
  if (event) return <EventObject event={event} names={names} />;
  return (
    <TextLink to="/events" search={{ open: delivery.id }}>
      {namedIn(delivery) || words.toEvent}
    </TextLink>
  );
}

/** The time of the next attempt. The scheduled handler makes it within a minute. */
function NextAttempt({ at }: { at: string }) {
  if (Date.parse(at) <= Date.now() + MINUTE_MS) return words.soon;
  return <Time value={at} show="ago" />;
}

/** The latest deliveries to a webhook, newest first. A row opens its delivery in a dialog. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { id } = webhook;
  const { state, open } = webhookRoute.useSearch();
  const navigate = webhookRoute.useNavigate();
  const query = useInfiniteQuery(deliveriesQuery(id, state));
  const rows = query.data?.pages.flatMap(({ items }) => items);
  const columns: readonly SimpleColumn<Delivery>[] = [
    [
      headers.time,
      (row) => (
        <TextLink
          to="/webhooks/$id"
          params={{ id }}
          search={{ state, open: row.id }}
          resetScroll={false}
        >
          <Time value={row.time} show="clock" />
        </TextLink>
      ),
    ],
    [headers.event, (row) => <span className="lg:whitespace-nowrap">{titleOf(row)}</span>],
    [
      headers.object,
      (row) =>
        row.type === PING_TYPE || !hasObject(row) ? null : (
          <span className="wrap-anywhere sm:block sm:max-w-40 sm:min-w-32 lg:max-w-72">
            <DeliveryObject delivery={row} />
          </span>
        ),
    ],
    [headers.state, (row) => <DeliveryBadge state={row.state} />],
    [headers.status, ({ status }) => status, 'wide'],
    [headers.attempts, ({ attempts }) => formatNumber(attempts), 'number'],
    [headers.next, ({ nextAttemptAt }) => nextAttemptAt && <NextAttempt at={nextAttemptAt} />],
  ];
  return (
    <Section
      title={words.deliveries}
      actions={
        <div className="mr-2">
          <FilterSelect
            label={words.deliveryState}
            any={words.anyState}
            options={DELIVERY_STATES.map((one) => [one, words.deliveryStates[one]] as const)}
            value={state}
            onChange={(chosen) =>
              void navigate({ search: { state: chosen }, replace: true, resetScroll: false })
            }
          />
        </div>
      }
    >
      <SectionRows
        query={{ ...query, data: rows }}
        empty={state === undefined ? words.noDeliveries : words.noneInState}
      >
        {(found) => <SimpleTable rows={found} label={words.deliveries} columns={columns} />}
      </SectionRows>
      {query.hasNextPage && (
        <div className="border-t border-line px-2 py-1 sm:px-3">
          <Button
            look="quiet"
            disabled={query.isFetchingNextPage}
            onClick={() => query.fetchNextPage()}
          >
            {words.older}
          </Button>
        </div>
      )}
      <Dialog
        title={words.delivery}
        isOpen={open !== undefined}
        onClose={() => void navigate({ search: { state }, replace: true, resetScroll: false })}
        isWide
      >
        {open !== undefined && (
          <Detail
            key={open}
            webhook={webhook}
            id={open}
            known={rows?.find((row) => row.id === open)}
          />
        )}
      </Dialog>
    </Section>
  );
}

/** All that is known about a delivery, with the button that sends it again. */
function Detail({
  webhook,
  id,
  known,
}: {
  webhook: Webhook;
  id: number;
  known: Delivery | undefined;
}) {
  const query = deliveryQuery(webhook.id, id);
  const { data = known, error, refetch } = useQuery(query);
  if (error && !data) return <LoadFailure error={error} onRetry={refetch} />;
  if (data === undefined) return <Skeleton />;
  if (data === null) return <Notice>{words.gone}</Notice>;
  const { attemptedAt, status, durationMs, request, response } = data;
  const failure = failureOf(data, webhook.format);
  const rows: readonly (readonly [string, ReactNode])[] = [
    [headers.event, titleOf(data)],
    [
      headers.object,
      data.type !== PING_TYPE && hasObject(data) && <DeliveryObject delivery={data} />,
    ],
    [headers.time, <Time key="time" value={data.time} />],
    [headers.state, <DeliveryBadge key="state" state={data.state} />],
    [headers.attempts, formatNumber(data.attempts)],
    [words.attempted, attemptedAt && <Time value={attemptedAt} show="clock" />],
    [headers.status, status],
    [words.took, durationMs !== null && words.duration(durationMs)],
    [headers.next, data.nextAttemptAt && <NextAttempt at={data.nextAttemptAt} />],
  ];
  return (
    <div className="flex flex-col gap-4">
      <div className="-mx-4 -mt-4 sm:-mx-5">
        <Facts rows={rows.filter(([, value]) => value)} />
      </div>
      {failure !== undefined && <Notice tone="warn">{failure}</Notice>}
      {request !== null && (
        <Attempt
          webhook={webhook}
          label={words.resend}
          make={async () => {
            const sent = await licet.webhooks.resend(webhook.id, id);
            queries.setQueryData(query.queryKey, sent);
            return sent;
          }}
          hasResponse={false}
        />
      )}
      <div className="flex flex-col gap-1.5">
        <div className="flex items-center justify-between gap-2">
          <h3 className="font-medium">{words.request}</h3>
          {request !== null && <CopyButton value={formatBody(request)} />}
        </div>
        {request === null ? (
          <p className="text-muted">{words.noRequest}</p>
        ) : (
          <Body label={words.request} text={request} />
        )}
      </div>
      {response !== null && (
        <div className="flex flex-col gap-1.5">
          <h3 className="font-medium">{words.response}</h3>
          {response === '' ? (
            <p className="text-muted">{words.noResponse}</p>
          ) : (
            <Body label={words.response} text={response} />
          )}
        </div>
      )}
    </div>
  );
}
