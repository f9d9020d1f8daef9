import type { Installation, License, LicenseRequest } from '@licet/client';
import { isBound, isStillRefused, lacksSlot, limitOf } from '@licet/contract/refusals';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { hasStatus, licet } from '../../api.ts';
import { Badge, OutcomeBadge } from '../../components/badge.tsx';
import { Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { requestsQuery } from './queries.ts';

/** The installations of a license. */

const words = screenTexts.license;
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
  value && (
    <span className="font-mono text-[0.8125rem] break-all sm:min-w-32 xl:min-w-78">{value}</span>
  );

const KINDS = [
  ['ips', 'ip'],
  ['hwids', 'hwid'],
] as const;

/** The words for an installation: whether it is bound, and whether its latest request was refused. */
function stateOf(
  license: License,
  installation: Installation,
  requests: readonly LicenseRequest[] | undefined,
) {
  const latest = requests?.find(
    ({ ip, hwid }) => ip === installation.ip && hwid === installation.hwid,
  );
  const isRefused = latest !== undefined && isStillRefused(license, latest);
  const limited = KINDS.flatMap(([kind, field]) => {
    const value = installation[field];
    return value === null || limitOf(license, kind) === -1 ? [] : [{ kind, value }];
  });
  const hasSlots =
    limited.length > 0 && limited.every(({ kind, value }) => isBound(license, kind, value));
  const isFull = limited.some(({ kind, value }) => lacksSlot(license, kind, value));
  if (!hasSlots && !isRefused && limited.length === 0) return null;
  return (
    <span className="inline-flex flex-wrap gap-1">
      {hasSlots && <Badge tone="good">{words.bound}</Badge>}
      {isRefused && <OutcomeBadge outcome={latest.responseType} />}
      {!hasSlots && !isRefused && limited.length > 0 && (
        <Badge tone={isFull ? 'bad' : 'neutral'}>{isFull ? words.noSlot : words.notBound}</Badge>
      )}
    </span>
  );
}

export function InstallationSection({ license }: { license: License }) {
  const query = useQuery(installationsQuery(license.id));
  const requests = useQuery({
    ...requestsQuery(license.licenseKey),
    enabled: useMay('readRequests'),
  });
  const state = (row: Installation) => stateOf(license, row, requests.data);
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
                headers.installation,
                ({ ip, hwid }) => (
                  <span className="flex flex-col">
                    {mono(ip)}
                    {hwid !== null && <span className="text-muted">{mono(hwid)}</span>}
                  </span>
                ),
              ],
              ...(rows.some((row) => state(row) !== null)
                ? [[headers.state, state] satisfies SimpleColumn<Installation>]
                : []),
              [
                headers.version,
                ({ productVersion }) =>
                  productVersion && (
                    <span className="wrap-anywhere sm:inline-block sm:min-w-20">
                      {productVersion}
                    </span>
                  ),
              ],
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
              [headers.first, ({ firstSeen }) => <Time value={firstSeen} show="date" />, 'wide'],
              [headers.last, ({ lastSeen }) => <Time value={lastSeen} show="ago" />],
              [headers.requests, ({ requests }) => formatNumber(requests), 'number'],
            ]}
          />
        )}
      </SectionRows>
    </Section>
  );
}
