import { HOUR_MS } from '@licet/contract/durations';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { ButtonLink } from '../../components/button.tsx';
import { Empty, Section } from '../../components/page.tsx';
import { formatClock, formatDay, formatNumber } from '../../format.ts';
import { texts } from '../../texts.ts';
import { Chart } from './chart.tsx';
import { groupsOf } from './outcomes.ts';
import type { Statistics } from './queries.ts';
import { RANGES, type Range } from './route.ts';

const words = texts.overview;

/** The links that choose the range. */
const RangeLinks = ({ range }: { range: Range }) => (
  <nav aria-label={words.range} className="flex gap-1">
    {RANGES.map((each) => (
      <ButtonLink
        key={each}
        to="/"
        search={each === 'day' ? {} : { range: each }}
        replace
        resetScroll={false}
        look={each === range ? 'plain' : 'quiet'}
        aria-current={each === range ? 'true' : undefined}
      >
        {words.ranges[each]}
      </ButtonLink>
    ))}
  </nav>
);

/** The outcomes over time. */
export function OutcomeSection({ data, range }: { data: Statistics; range: Range }) {
  const navigate = useNavigate();
  const { series, step } = data;
  const [chosen, setPointed] = useState<number>();
  // Another range can have fewer steps.
  const pointed = chosen !== undefined && chosen < series.length ? chosen : undefined;
  const groups = useMemo(() => groupsOf(series), [series]);
  const timesMs = useMemo(() => series.map(({ time }) => Date.parse(time)), [series]);
  // Days are days in UTC, so their date is in UTC too.
  const nameOf = (time: string): string =>
    step === 'day' ? formatDay(time.slice(0, 10)) : formatClock(time).slice(0, -3);
  const stepMs = step === 'day' ? 24 * HOUR_MS : HOUR_MS;
  const open = (index: number): void => {
    const startMs = timesMs[index];
    if (startMs === undefined) return;
    const [from, to] = [startMs, startMs + stepMs - 1].map((ms) => new Date(ms).toISOString());
    void navigate({ to: '/history', search: { from, to } });
  };
  const describePoint = (index: number): string =>
    [
      nameOf(series[index]?.time ?? ''),
      ...groups.map(({ name, counts }) => `${name}: ${formatNumber(counts[index] ?? 0)}`),
    ].join(', ');
  const pointedTime = pointed === undefined ? undefined : series[pointed]?.time;
  return (
    <Section
      title={words.outcomes}
      note={pointedTime ? nameOf(pointedTime) : words.inRange[range]}
      actions={<RangeLinks range={range} />}
    >
      {groups.every(({ total }) => total === 0) ? (
        <Empty title={words.noValidations}>{words.noValidationsLead[range]}</Empty>
      ) : (
        <div className="relative flex flex-col gap-3 px-2 pt-1 pb-4 sm:px-3">
          <Chart
            timesMs={timesMs}
            groups={groups}
            stepMs={stepMs}
            pointed={pointed}
            describePoint={describePoint}
            onPoint={setPointed}
            onOpen={open}
          />
          <ul className="flex flex-wrap gap-x-6 gap-y-2 px-2">
            {groups.map(({ name, swatch, counts, total }) => (
              <li key={name} className="flex items-center gap-2">
                <span aria-hidden className={`size-3 rounded-sm ${swatch}`} />
                <span className="text-muted">{name}</span>
                <span className="font-medium">
                  {formatNumber(pointed === undefined ? total : (counts[pointed] ?? 0))}
                </span>
              </li>
            ))}
          </ul>
          <div className="sr-only">
            <table>
              <caption>{words.outcomes}</caption>
              <thead>
                <tr>
                  <th scope="col">{words.time}</th>
                  {groups.map(({ name }) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {series.map(({ time }, index) => (
                  <tr key={time}>
                    <th scope="row">{nameOf(time)}</th>
                    {groups.map(({ name, counts }) => (
                      <td key={name}>{formatNumber(counts[index] ?? 0)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
      )}
    </Section>
  );
}
