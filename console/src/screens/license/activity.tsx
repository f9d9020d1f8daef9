import type { Event, Installation, License, LicenseRequest } from '@licet/client';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { hasStatus, licet } from '../../api.ts';
import { OutcomeBadge } from '../../components/badge.tsx';
import { TextLink } from '../../components/button.tsx';
import { Actor, ChangeSummary } from '../../components/changes.tsx';
import { Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';

/** Installations, history and events of a license. */

const words = screenTexts.license;
const EVENT_ROWS = 5;
const HISTORY_ROWS = 10;
const INSTALLATION_ROWS = 100;

/** The installations of a license, newest first; null if the service does not list them. */
export const installationsQuery = (id: number) =>
  queryOptions({
    queryKey: ['licenses', 'installations', id],
    queryFn: async ({ signal }): Promise<Installation[] | null> => {
      const query = { limit: INSTALLATION_ROWS };
      try {
        return await licet.licenses.installations(id).list(query, { signal });
      } catch (error) {
        if (hasStatus(error, 404)) return null;
        throw error;
      }
    },
  });

const mono = (value: string | null) =>
  value && <span className="font-mono text-[0.8125rem] break-all sm:min-w-32">{value}</span>;

export function InstallationSection({ license }: { license: License }) {
  const query = useQuery(installationsQuery(license.id));
  if (query.data === null) return null;
  const { installationsColumns: headers } = words;
  return (
    <Section title={words.installations}>
      <SectionRows query={query} empty={words.installationsEmpty}>
        {(rows) => (
          <SimpleTable
            rows={rows}
            label={words.installations}
            columns={[
              [
                headers.caller,
                ({ ip, hwid }) => (
                  <span className="flex flex-col">
                    {mono(ip)}
                    {hwid !== null && <span className="text-muted">{mono(hwid)}</span>}
                  </span>
                ),
              ],
              [headers.version, ({ productVersion }) => productVersion],
              [
                headers.system,
                ({ operatingSystem, operatingSystemVersion, javaVersion }) =>
                  [
                    [operatingSystem, operatingSystemVersion].filter(Boolean).join(' '),
                    javaVersion && `Java ${javaVersion}`,
                  ]
                    .filter(Boolean)
                    .join(', '),
              ],
              [headers.first, ({ firstSeen }) => <Time value={firstSeen} show="date" />],
              [headers.last, ({ lastSeen }) => <Time value={lastSeen} show="ago" />],
              [headers.requests, ({ requests }) => formatNumber(requests), 'number'],
            ]}
          />
        )}
      </SectionRows>
    </Section>
  );
}

export function HistorySection({ license }: { license: License }) {
  const { licenseKey } = license;
  const query = useQuery({
    queryKey: ['history', 'of', licenseKey],
    queryFn: ({ signal }): Promise<LicenseRequest[]> =>
      licet.requests.list({ licenseKey, limit: HISTORY_ROWS }, { signal }),
  });
  const { historyColumns: headers } = words;
  return (
    <Section
      title={words.history}
      actions={
        <TextLink to="/history" search={{ licenseKey }} className="mr-2">
          {words.historyAll}
        </TextLink>
      }
    >
      <SectionRows query={query} empty={words.historyEmpty}>
        {(rows) => (
          <SimpleTable
            rows={rows}
            label={words.history}
            columns={[
              [headers.time, ({ requestDate }) => <Time value={requestDate} />],
              [headers.outcome, ({ responseType }) => <OutcomeBadge outcome={responseType} />],
              [headers.ip, ({ ip }) => mono(ip)],
              [headers.version, ({ productVersion }) => productVersion],
            ]}
          />
        )}
      </SectionRows>
    </Section>
  );
}

export function EventSection({ license: { id } }: { license: License }) {
  const query = useQuery({
    queryKey: ['events', 'of', 'license', id],
    queryFn: ({ signal }): Promise<Event[]> =>
      licet.events.list({ resourceType: 'license', resourceId: id, limit: EVENT_ROWS }, { signal }),
    enabled: useMay('readEvents'),
  });
  const names = useProductNames();
  if (!query.data && !query.error) return null;
  const { columns: headers } = screenTexts.events;
  return (
    <Section
      title={words.events}
      actions={
        <TextLink
          to="/events"
          search={{ resourceType: 'license', resourceId: id }}
          className="mr-2"
        >
          {words.eventsAll}
        </TextLink>
      }
    >
      <SectionRows query={query} empty={words.eventsEmpty}>
        {(rows) => (
          <SimpleTable
            rows={rows}
            label={words.events}
            columns={[
              [
                headers.time,
                ({ id: eventId, time }) => (
                  <TextLink
                    to="/events"
                    search={{ resourceType: 'license', resourceId: id, open: eventId }}
                  >
                    <Time value={time} />
                  </TextLink>
                ),
              ],
              [headers.type, ({ type }) => screenTexts.eventTypes[type]],
              [headers.actor, ({ actor }) => <Actor actor={actor} />],
              [headers.changes, (event) => <ChangeSummary event={event} names={names} />],
            ]}
          />
        )}
      </SectionRows>
    </Section>
  );
}
