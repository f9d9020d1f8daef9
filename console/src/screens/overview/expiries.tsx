import { DAY_MS } from '@licet/contract/durations';
import { Link } from '@tanstack/react-router';
import { Section } from '../../components/page.tsx';
import { formatDay, formatNumber } from '../../format.ts';
import { useMay } from '../../session.ts';
import { plural, texts } from '../../texts.ts';
import type { Statistics } from './queries.ts';

const words = texts.overview;
const WEEKS = 26;
const CELL = 20;
const GAP = 3;

/** A cell of the heat map: the licenses that expire in a range of days. */
interface Cell {
  column: number;
  row: number;
  from: string;
  to: string;
  licenses: number;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
/** Monday is 0. */
const weekdayOf = (ms: number): number => (new Date(ms).getUTCDay() + 6) % 7;

function cellsOf(expiries: Statistics['expiries']): { days: Cell[]; weeks: Cell[] } {
  const counts = new Map(expiries.map(({ date, licenses }) => [date, licenses]));
  const today = Date.parse(dayOf(Date.now()));
  const monday = today - weekdayOf(today) * DAY_MS;
  const days: Cell[] = [];
  const weeks: Cell[] = [];
  for (let column = 0; column < WEEKS; column++) {
    let sum = 0;
    for (let row = 0; row < 7; row++) {
      const ms = monday + (column * 7 + row) * DAY_MS;
      const date = dayOf(ms);
      const licenses = counts.get(date) ?? 0;
      sum += licenses;
      if (ms >= today) days.push({ column, row, from: date, to: date, licenses });
    }
    const start = monday + column * 7 * DAY_MS;
    weeks.push({
      column: column % 13,
      row: Math.floor(column / 13),
      from: dayOf(Math.max(start, today)),
      to: dayOf(start + 6 * DAY_MS),
      licenses: sum,
    });
  }
  return { days, weeks };
}

const OPACITIES = ['opacity-35', 'opacity-55', 'opacity-75', 'opacity-100'] as const;

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' });

/** The first day of each month, with its column. */
function monthsOf(days: readonly Cell[]): { column: number; name: string }[] {
  return days
    .filter(({ from }) => from.endsWith('-01'))
    .map(({ column, from }) => ({ column, name: MONTH.format(new Date(from)) }));
}

/** Cells whose colour is stronger the more licenses expire, with links to these licenses. */
function HeatMap({
  cells,
  columns,
  rows,
  months = [],
  className,
}: {
  cells: readonly Cell[];
  columns: number;
  rows: number;
  /** Names above the columns. */
  months?: readonly { column: number; name: string }[];
  className: string;
}) {
  const mayRead = useMay('readLicenses');
  const head = months.length > 0 ? CELL : 0;
  const highest = Math.max(1, ...cells.map(({ licenses }) => licenses));
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: its fields have titles, and are links
    <svg
      viewBox={`0 ${-head} ${columns * CELL} ${rows * CELL + head}`}
      className={`w-full ${className}`}
    >
      {months.map(({ column, name }) => (
        <text
          key={column}
          x={column * CELL}
          y={-6}
          className="fill-muted text-[13px] sm:max-xl:text-[9px]"
          aria-hidden
        >
          {name}
        </text>
      ))}
      {cells.map(({ column, row, from, to, licenses }) => {
        const shape = {
          x: column * CELL + GAP / 2,
          y: row * CELL + GAP / 2,
          width: CELL - GAP,
          height: CELL - GAP,
          rx: 4,
        };
        if (licenses === 0) return <rect key={from} {...shape} className="fill-hover" />;
        const label = `${from === to ? formatDay(from) : `${formatDay(from)} – ${formatDay(to)}`}: ${plural(licenses, 'license')}`;
        const level = Math.ceil((licenses / highest) * OPACITIES.length) - 1;
        const field = (
          <>
            <title>{label}</title>
            <rect {...shape} className={`fill-accent ${OPACITIES[level]} hover:opacity-100`} />
          </>
        );
        if (!mayRead) return <g key={from}>{field}</g>;
        return (
          <Link
            key={from}
            to="/licenses"
            search={{ expiresFrom: from, expiresTo: to }}
            aria-label={label}
          >
            {field}
          </Link>
        );
      })}
    </svg>
  );
}

/** The numbers of licenses that expire: by day, on a phone by week. */
export function ExpirySection({ expiries }: { expiries: Statistics['expiries'] }) {
  const { days, weeks } = cellsOf(expiries);
  const total = expiries.reduce((sum, { licenses }) => sum + licenses, 0);
  return (
    <Section title={words.expiries} note={words.inWeeks(WEEKS)}>
      <div className="flex flex-col gap-3 px-4 py-4 sm:px-5">
        <HeatMap
          cells={days}
          columns={WEEKS}
          rows={7}
          months={monthsOf(days)}
          className="max-sm:hidden"
        />
        <HeatMap cells={weeks} columns={13} rows={2} className="sm:hidden" />
        <p className="flex justify-between gap-4 text-xs text-muted">
          <span>{words.now}</span>
          <span>{total === 0 ? words.noExpiries : words.expiring(formatNumber(total))}</span>
          <span>{formatDay(weeks.at(-1)?.to ?? '')}</span>
        </p>
      </div>
    </Section>
  );
}
