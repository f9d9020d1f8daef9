import type { Event } from '@licet/client';
import { EVENT_ACTORS, EVENT_RESOURCES, EVENT_TYPES } from '@licet/contract/enums';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { licet, queries } from '../../api.ts';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import {
  Actor,
  ChangeSummary,
  ChangeTable,
  EventObject,
  fieldName,
  formatValue,
  hasObject,
  TypeBadge,
} from '../../components/changes.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Filters } from '../../components/filters.tsx';
import { FilterDay, FilterSelect } from '../../components/form.tsx';
import { X } from '../../components/icons.tsx';
import { ItemDialog } from '../../components/item-dialog.tsx';
import { Empty, Facts, NoMatch, Notice, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { lastOfDay, startOfDay } from '../../dates.ts';
import { usePlatformLabel } from '../../platforms.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { countGiven } from '../../search.ts';
import { isOfService } from '../../senders.ts';
import { useMay, useRefusal } from '../../session.ts';
import { texts } from '../../texts.ts';
import { isKept, isRestorable, putBack, rightTo } from './restore.ts';
import { type EventsSearch, eventsRoute } from './route.ts';
import { useStoredNames } from './stored-names.ts';

const words = screenTexts.events;
const PAGE_ROWS = 50;

const columnsOf = (
  names: ReadonlyMap<number, string>,
  storedNames: ReadonlyMap<string, string>,
): readonly Column<Event>[] => [
  {
    id: 'time',
    header: words.columns.time,
    cell: ({ time }) => (
      <>
        {/* The year would leave no room for the type beside it. */}
        <span className="md:hidden">
          <Time value={time} show="short" />
        </span>
        <span className="max-md:hidden">
          <Time value={time} />
        </span>
      </>
    ),
    width: 'w-42',
    phone: 'titleEnd',
  },
  {
    id: 'type',
    header: words.columns.type,
    cell: ({ type }) => <TypeBadge type={type} />,
    width: 'w-42 xl:w-44',
    phone: 'title',
  },
  {
    id: 'resource',
    header: words.columns.resource,
    cell: (event) => <EventObject event={event} names={names} storedNames={storedNames} />,
    width: 'w-50',
    phone: 'line',
  },
  {
    id: 'changes',
    header: words.columns.changes,
    cell: (event) => <ChangeSummary event={event} names={names} />,
    isWide: true,
  },
  {
    id: 'actor',
    header: words.columns.actor,
    cell: ({ actor }) => <Actor actor={actor} />,
    width: 'w-45',
    phone: 'lineEnd',
  },
  {
    id: 'ip',
    header: words.columns.ip,
    cell: ({ ip }) => ip && <Cut isMono>{ip}</Cut>,
    width: 'w-34',
    isExtra: true,
  },
];

/** Reads an event; `item` is undefined if the event is no longer kept. */
async function readEvent(id: number, signal?: AbortSignal): Promise<{ item: Event | undefined }> {
  const [event] = await licet.events.list({ after: id + 1, limit: 1 }, { signal });
  return { item: event?.id === id ? event : undefined };
}

export function Screen() {
  const search = eventsRoute.useSearch();
  const navigate = eventsRoute.useNavigate();
  const names = useProductNames();
  // The changes show platforms by their labels.
  usePlatformLabel();
  const storedNames = useStoredNames();
  const columns = useMemo(() => columnsOf(names, storedNames), [names, storedNames]);
  const { open, after, ...filters } = search;
  const { from, to, ...others } = filters;
  const query = { ...others, from: startOfDay(from), to: lastOfDay(to) };
  const page = useQuery({
    queryKey: ['events', 'list', query, after],
    queryFn: ({ signal }) => licet.events.page({ ...query, after, limit: PAGE_ROWS }, { signal }),
    placeholderData: keepPreviousData,
  });
  const next = page.data?.after;
  const isFiltered = countGiven(filters) > 0;
  const close = (): void =>
    void navigate({ search: (old) => ({ ...old, open: undefined }), state: true, replace: true });
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={<ButtonLink to="/changes">{words.mine.title}</ButtonLink>}
    >
      <DataTable
        name="events"
        label={words.title}
        columns={columns}
        rows={page.data?.items}
        error={page.error}
        onRetry={page.refetch}
        linkOf={({ id }) => ({ to: '/events', search: { ...search, open: id }, state: true })}
        tools={<EventFilters filters={filters} />}
        empty={
          isFiltered ? (
            <NoMatch to="/events" />
          ) : (
            <Empty title={words.emptyTitle}>{words.empty}</Empty>
          )
        }
        count={words.count}
        pages={{ to: '/events', search: filters, after, next }}
      />
      <ItemDialog<Event | undefined>
        name="events"
        open={open}
        onClose={close}
        titleOf={(event) => (event ? screenTexts.eventTypes[event.type] : words.title)}
        read={async (id, signal) => ({ ...(await readEvent(id, signal)), etag: undefined })}
        isWide
      >
        {(stored) =>
          stored?.item ? (
            <Detail
              event={stored.item}
              names={names}
              storedNames={storedNames}
              onRestored={close}
            />
          ) : (
            <Notice>{words.gone}</Notice>
          )
        }
      </ItemDialog>
    </Page>
  );
}

type FilterValues = Omit<EventsSearch, 'open' | 'after'>;

function EventFilters({ filters }: { filters: FilterValues }) {
  const navigate = eventsRoute.useNavigate();
  const mayReadTokens = useMay('everything');
  const tokens = useQuery({
    queryKey: ['tokens'],
    queryFn: ({ signal }) => licet.tokens.list({}, { signal }),
    enabled: mayReadTokens,
  });
  const { resourceType, resourceId, tokenId, actor } = filters;
  const filter = (changes: Partial<FilterValues>): void =>
    void navigate({ search: { ...filters, ...changes } });
  const tokenNames = new Map(tokens.data?.map(({ id, name }) => [id, name]));
  // A revoked token is not in the list, but still has events.
  if (tokenId !== undefined && !tokenNames.has(tokenId)) {
    tokenNames.set(tokenId, words.token(tokenId));
  }
  return (
    <Filters to="/events" count={countGiven(filters)}>
      <FilterSelect
        label={words.filters.type}
        any={words.filters.anyType}
        options={EVENT_TYPES.map((type) => [type, screenTexts.eventTypes[type]] as const)}
        value={filters.type}
        onChange={(type) => filter({ type })}
      />
      {resourceType !== undefined && resourceId !== undefined ? (
        <Button onClick={() => filter({ resourceType: undefined, resourceId: undefined })}>
          {words.oneObject(texts.resources[resourceType], resourceId)}
          <X size={14} aria-label={texts.actions.clear} />
        </Button>
      ) : (
        <FilterSelect
          label={words.filters.resource}
          any={words.filters.anyResource}
          options={EVENT_RESOURCES.map((one) => [one, texts.resources[one]] as const)}
          value={resourceType}
          onChange={(chosen) => filter({ resourceType: chosen })}
        />
      )}
      <FilterSelect<string | number>
        label={words.filters.by}
        any={words.filters.anybody}
        options={[...EVENT_ACTORS.map((one) => [one, words.filters[one]] as const), ...tokenNames]}
        value={actor ?? tokenId}
        onChange={(chosen) =>
          filter(
            typeof chosen === 'number'
              ? { actor: undefined, tokenId: chosen }
              : {
                  actor: EVENT_ACTORS.find((one) => one === chosen),
                  tokenId: undefined,
                },
          )
        }
      />
      <FilterDay
        label={words.filters.from}
        value={filters.from ?? ''}
        onChange={(from) => filter({ from: from || undefined })}
      />
      <FilterDay
        label={words.filters.to}
        value={filters.to ?? ''}
        onChange={(to) => filter({ to: to || undefined })}
      />
    </Filters>
  );
}

/** A message has room for this much of a value. */
const MAX_SHOWN = 60;

/** The values of a list that an event has removed, and that its restoration adds. */
const freed = ({ changes }: Event, field: string): unknown => {
  const { before, after } = changes?.[field] ?? {};
  return Array.isArray(before) && Array.isArray(after)
    ? before.filter((value) => !after.includes(value))
    : before;
};

/** An event with all of its fields. */
function Detail({
  event,
  names,
  storedNames,
  onRestored,
}: {
  event: Event;
  names: ReadonlyMap<number, string>;
  storedNames: ReadonlyMap<string, string>;
  onRestored: () => void;
}) {
  const refusal = useRefusal(rightTo(event));
  const restore = async (): Promise<void> => {
    try {
      let { overtaken, values, undo } = await putBack(event);
      if (overtaken.length > 0) {
        const now = overtaken.map(({ field, value }) =>
          isKept(field)
            ? words.restore.kept(fieldName(field))
            : words.restore.now(fieldName(field), formatValue(field, value, names) || words.none),
        );
        const isReplaced = overtaken.some(({ field }) => !isKept(field));
        const question = {
          title: words.restore.overtaken,
          lead: [...now, isReplaced && words.restore.anyway].filter(Boolean).join(' '),
          action: words.restore.action,
        };
        if (!(await confirm(question))) return;
        ({ values, undo } = await putBack(event, { isForced: true }));
      }
      onRestored();
      await queries.invalidateQueries();
      const named = Object.entries(values).map(([field, value]) => {
        const shown = isKept(field) ? freed(event, field) : value;
        return `${fieldName(field)}: ${formatValue(field, shown, names).slice(0, MAX_SHOWN) || words.none}`;
      });
      toasts.done(words.restore.done(named.slice(0, 3).join('; ')), async () => {
        await undo();
        await queries.invalidateQueries();
      });
    } catch (error) {
      toasts.fail(error);
    }
  };

  const { time, actor, ip, changes, resourceType, resourceId } = event;
  const { columns } = words;
  // The service changes nothing: it has found these values.
  const isFound = isOfService(event);
  const found = Object.entries(changes ?? {}).map(
    ([field, { after }]) => [fieldName(field), formatValue(field, after, names)] as const,
  );
  return (
    <div className="flex flex-col gap-4">
      <div className="-mx-4 -mt-4 sm:-mx-5">
        <Facts
          rows={[
            [columns.time, <Time key="time" value={time} />],
            ...(hasObject(event)
              ? [
                  [
                    columns.resource,
                    <EventObject
                      key="resource"
                      event={event}
                      names={names}
                      storedNames={storedNames}
                    />,
                  ] as const,
                ]
              : []),
            [columns.actor, <Actor key="actor" actor={actor} />],
            ...(isFound ? found : [[columns.ip, ip] as const]),
          ]}
        />
      </div>
      {isFound ? null : changes ? (
        <ChangeTable changes={changes} names={names} />
      ) : (
        <p className="text-muted">{words.noChanges}</p>
      )}
      {isRestorable(event) && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Button refusal={refusal} onClick={restore}>
            {words.restore.action}
          </Button>
          <p className="text-muted">{words.restore.hint}</p>
        </div>
      )}
      {resourceId !== null && (
        <p>
          <TextLink to="/events" search={{ resourceType, resourceId }}>
            {words.all}
          </TextLink>
        </p>
      )}
    </div>
  );
}
