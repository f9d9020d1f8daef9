import type { LicenseRequest } from '@licet/client';
import { countUnknownKeys } from '@licet/contract/refusals';
import { useQuery } from '@tanstack/react-query';
import { OutcomeBadge } from '../../components/badge.tsx';
import { TextLink } from '../../components/button.tsx';
import { Actor, EventObject } from '../../components/changes.tsx';
import { Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { Time } from '../../components/time.tsx';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { Fix } from '../history/fix.tsx';
import { eventsQuery, refusalsQuery } from './queries.ts';

const words = texts.overview;

/** The latest refusals and events. */

/** Whether the key of a record was erased: the outcome shows that the program has sent one. */
const isErased = ({ licenseId, responseType }: LicenseRequest): boolean =>
  licenseId !== null || responseType === 'LICENSE_NOT_FOUND';

/** The latest refusals, with the buttons that fix them. */
export function Refusals() {
  const query = useQuery(refusalsQuery);
  const unknownKeys = countUnknownKeys(query.data ?? []);
  return (
    <Section
      title={words.refusals}
      actions={
        <TextLink to="/history" search={{ valid: false }} className="mr-2">
          {words.allRefusals}
        </TextLink>
      }
    >
      <SectionRows query={query} empty={words.noRefusals} lines={6}>
        {(rows) => (
          <ul>
            {rows.map((record, index) => (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: many records can have one id
                key={`${record.id} ${index}`}
                data-row
                className="flex cursor-pointer hover:bg-hover min-h-14 items-center gap-3 border-line py-1.5 pr-2 pl-4 not-last:border-b sm:pl-5"
              >
                <div className="min-w-0 flex-1">
                  <p className="flex flex-wrap items-center gap-x-2">
                    <OutcomeBadge outcome={record.responseType} />
                    <span className="text-xs text-muted">
                      <Time value={record.requestDate} show="ago" />
                    </span>
                  </p>
                  <TextLink
                    to="/history"
                    search={{ valid: false, open: record.id }}
                    className="block truncate font-mono text-[0.8125rem]"
                  >
                    {record.licenseKey ??
                      record.ip ??
                      (isErased(record) ? words.erased : words.noKey)}
                  </TextLink>
                </div>
                <Fix record={record} unknownKeys={unknownKeys.get(record.ip ?? '') ?? 0} />
              </li>
            ))}
          </ul>
        )}
      </SectionRows>
    </Section>
  );
}

/** The latest events. */
export function Events() {
  const query = useQuery(eventsQuery);
  const names = useProductNames();
  return (
    <Section
      title={words.events}
      actions={
        <TextLink to="/events" className="mr-2">
          {words.allEvents}
        </TextLink>
      }
    >
      <SectionRows query={query} empty={words.noEvents} lines={6}>
        {(rows) => (
          <ul>
            {rows.map((event) => (
              <li
                key={event.id}
                data-row
                className="flex has-[a]:cursor-pointer has-[a]:hover:bg-hover min-h-14 flex-col justify-center border-line px-4 py-1.5 not-last:border-b sm:px-5"
              >
                <p className="flex flex-wrap gap-x-3">
                  <span className="flex-1 whitespace-nowrap">
                    {screenTexts.eventTypes[event.type]}
                  </span>
                  <span className="min-w-0">
                    <EventObject event={event} names={names} />
                  </span>
                </p>
                <p className="flex gap-x-3 text-xs text-muted">
                  <span className="min-w-0 flex-1 truncate">
                    <Actor actor={event.actor} />
                  </span>
                  <Time value={event.time} show="ago" />
                </p>
              </li>
            ))}
          </ul>
        )}
      </SectionRows>
    </Section>
  );
}
