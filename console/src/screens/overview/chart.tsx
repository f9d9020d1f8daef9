import { HOUR_MS } from '@licet/contract/durations';
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import { texts } from '../../texts.ts';
import type { Group } from './outcomes.ts';

const HEIGHT = 208;
const TICKS = 4;
const LABELS = 8;

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
/** Steps of a day are days in UTC. */
const utcDay = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
const compact = new Intl.NumberFormat('en', { notation: 'compact' });

/** The lines of the scale: round numbers from 0 to the first that is at least `highest`. */
function scaleOf(highest: number): number[] {
  const rough = Math.max(TICKS, highest) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.ceil(highest / step || 1) + 1 }, (_, index) => index * step);
}

/** The texts below some of the bars; the `isMinor` ones only where there is space. */
function labelsOf(timesMs: readonly number[], stepMs: number) {
  const isHourly = stepMs === HOUR_MS;
  const everyDay = Math.ceil(timesMs.length / LABELS);
  return timesMs.flatMap((ms, index) => {
    const hour = new Date(ms).getHours();
    if (!isHourly) {
      const nth = (timesMs.length - 1 - index) / everyDay;
      return Number.isInteger(nth)
        ? [{ index, text: utcDay.format(ms), isMinor: nth % 2 === 1 }]
        : [];
    }
    if (timesMs.length <= 48) {
      return hour % 3 === 0 ? [{ index, text: clock.format(ms), isMinor: hour % 6 === 3 }] : [];
    }
    return hour === 0
      ? [{ index, text: day.format(ms), isMinor: new Date(ms).getDate() % 2 === 1 }]
      : [];
  });
}

/**
 * Stacked bars over time. For the keyboard it is one slider whose value is a bar; a table beside it has all numbers.
 * On a touch screen the first tap shows the numbers of a bar, and the second opens it.
 */
export function Chart({
  timesMs,
  groups,
  stepMs,
  pointed,
  describePoint,
  onPoint,
  onOpen,
}: {
  timesMs: readonly number[];
  groups: readonly Group[];
  stepMs: number;
  /** The index of the bar whose numbers are shown; undefined for none. */
  pointed: number | undefined;
  /** The time and the numbers of a bar. */
  describePoint: (index: number) => string;
  onPoint: (index: number | undefined) => void;
  /** Called with the index of the bar that was chosen. */
  onOpen: (index: number) => void;
}) {
  const plot = useRef<SVGSVGElement>(null);
  const [isFocused, setFocused] = useState(false);
  const last = timesMs.length - 1;
  const totals = timesMs.map((_, index) =>
    groups.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0),
  );
  const ticks = scaleOf(Math.max(...totals));
  const top = ticks.at(-1) ?? 1;
  const bandPercent = 100 / timesMs.length;
  const barPercent = bandPercent * 0.7;
  const yOf = (count: number): number => HEIGHT - (count / top) * HEIGHT;
  const indexAt = (event: { clientX: number }): number => {
    const { left = 0, width = 1 } = plot.current?.getBoundingClientRect() ?? {};
    const index = Math.floor(((event.clientX - left) / width) * timesMs.length);
    return Math.min(Math.max(index, 0), last);
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (event.pointerType === 'mouse') onPoint(indexAt(event));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = pointed ?? last;
    const next = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
    if (next !== undefined) onPoint(Math.min(Math.max(next, 0), last));
    else if (event.key === 'Enter') onOpen(now);
    else return;
    event.preventDefault();
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={texts.overview.outcomes}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={pointed ?? last}
      aria-valuetext={describePoint(pointed ?? last)}
      className="flex cursor-pointer rounded-lg pt-3 pr-5 select-none sm:pr-3"
      onKeyDown={onKeyDown}
      onFocus={({ currentTarget }) => {
        // A click also sets the focus, but already names its bar.
        if (!currentTarget.matches(':focus-visible')) return;
        setFocused(true);
        onPoint(pointed ?? last);
      }}
      onBlur={() => {
        setFocused(false);
        onPoint(undefined);
      }}
      onPointerMove={onPointerMove}
      onPointerLeave={({ pointerType }) => {
        if (pointerType === 'mouse' && !isFocused) onPoint(undefined);
      }}
      onClick={(event) => {
        const index = indexAt(event);
        const { nativeEvent } = event;
        const isTouch = 'pointerType' in nativeEvent && nativeEvent.pointerType === 'touch';
        if (isTouch && pointed !== index) onPoint(index);
        else onOpen(index);
      }}
    >
      <svg aria-hidden className="h-60 w-11 shrink-0 overflow-visible fill-muted text-xs">
        {ticks.map((tick) => (
          <text key={tick} x={36} y={yOf(tick)} dy="0.35em" textAnchor="end">
            {compact.format(tick)}
          </text>
        ))}
      </svg>
      <svg ref={plot} aria-hidden className="h-60 min-w-0 flex-1 overflow-visible text-xs">
        {pointed !== undefined && (
          <rect
            x={`${pointed * bandPercent}%`}
            width={`${bandPercent}%`}
            height={HEIGHT}
            className="fill-hover"
          />
        )}
        {ticks.map((tick) => (
          <line
            key={tick}
            x2="100%"
            y1={yOf(tick)}
            y2={yOf(tick)}
            className="stroke-line"
            shapeRendering="crispEdges"
          />
        ))}
        {timesMs.map((ms, index) => {
          let below = 0;
          return groups.map(({ name, counts, fill }) => {
            const count = counts[index] ?? 0;
            if (count === 0) return null;
            below += count;
            return (
              <rect
                key={`${ms} ${name}`}
                x={`${index * bandPercent + (bandPercent - barPercent) / 2}%`}
                y={yOf(below)}
                width={`${barPercent}%`}
                height={(count / top) * HEIGHT}
                className={fill}
              />
            );
          });
        })}
        {labelsOf(timesMs, stepMs).map(({ index, text, isMinor }) => (
          <text
            key={index}
            x={`${(index + 0.5) * bandPercent}%`}
            y={HEIGHT + 22}
            textAnchor="middle"
            className={`fill-muted ${isMinor ? 'max-sm:hidden' : ''}`}
          >
            {text}
          </text>
        ))}
      </svg>
    </div>
  );
}
