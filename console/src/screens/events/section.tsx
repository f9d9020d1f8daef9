import type { Event } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { TextLink } from '../../components/button.tsx';
import { Actor, ChangeSummary, EventObject, hasObject } from '../../components/changes.tsx';
import { Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import type { EventsSearch } from './route.ts';

const words = screenTexts.events;
const ROWS = 5;

type Filter = Pick<EventsSearch, 'resourceType' | 'resourceId' | 'tokenId'>;

/** The latest events that a filter finds; nothing if the session's token may not read events. */
export function EventSection({
  title = words.title,
  filter,
  also = [],
  empty = words.noneOfObject,
}: {
  title?: string;
  filter: Filter;
  /** Events that belong to the object, too, such as those of its purchase. */
  also?: readonly Filter[];
  empty?: string;
}) {
  const names = useProductNames();
  const mayRead = useMay('readEvents');
  const query = useQuery({
    queryKey: ['events', 'of', filter, also],
    queryFn: async ({ signal }): Promise<Event[]> => {
      const lists = await Promise.all(
        [filter, ...also].map((one) => licet.events.list({ ...one, limit: ROWS }, { signal })),
      );
      return lists
        .flat()
        .toSorted((one, other) => other.id - one.id)
        .slice(0, ROWS);
    },
    placeholderData: keepPreviousData,
    enabled: mayRead,
  });
  if (!mayRead) return null;
  const { columns: headers } = words;
  const columns: readonly SimpleColumn<Event>[] = [
    [
      headers.time,
      ({ id, time, resourceType, resourceId }) => (
        <TextLink
          to="/events"
          search={
            also.length === 0
              ? { ...filter, open: id }
              : { resourceType, resourceId: resourceId ?? undefined, open: id }
          }
        >
          <Time value={time} />
        </TextLink>
      ),
    ],
    [
      headers.type,
      ({ type }) => <span className="whitespace-nowrap">{screenTexts.eventTypes[type]}</span>,
    ],
    // The object of all rows, or their author, is that of the screen.
    filter.tokenId === undefined
      ? [headers.actor, ({ actor }) => <Actor actor={actor} />]
      : [
          headers.resource,
          (event) => (hasObject(event) ? <EventObject event={event} names={names} /> : null),
        ],
    [headers.changes, (event) => <ChangeSummary event={event} names={names} />],
  ];
  return (
    <Section
      title={title}
      actions={
        query.data && query.data.length > 0 ? (
          <TextLink to="/events" search={filter} className="mr-2">
            {words.allOfObject}
          </TextLink>
        ) : null
      }
    >
      <SectionRows query={query} empty={empty}>
        {(rows) => <SimpleTable rows={rows} label={title} columns={columns} />}
      </SectionRows>
    </Section>
  );
}
