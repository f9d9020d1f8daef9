import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { formatNumber } from '../../format';
import type { Group } from './outcomes';

const HEIGHT_PX = 240;
const DAY_SECONDS = 24 * 60 * 60;
const HOURS = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const DAYS = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** A colour of the theme as a canvas takes it. */
function resolve(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--color-${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Stacked bars over time. Only for the eye: a table says the same to screen readers. */
export default function Chart({
  timesMs,
  groups,
  stepMs,
  onPoint,
  onOpen,
}: {
  timesMs: readonly number[];
  groups: readonly Group[];
  stepMs: number;
  /** Called with the index of the bar under the pointer; undefined for none. */
  onPoint: (index: number | undefined) => void;
  /** Called with the index of the bar that was clicked. */
  onOpen: (index: number) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const calls = useRef({ onPoint, onOpen });
  useEffect(() => {
    calls.current = { onPoint, onOpen };
  });
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let plot: UPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      plot = drawPlot(element, timesMs, groups, stepMs, (index) => calls.current.onPoint(index));
    };
    draw();
    const open = (): void => {
      const index = plot?.cursor.idx;
      if (index != null) calls.current.onOpen(index);
    };
    element.addEventListener('click', open);
    const resized = new ResizeObserver(() =>
      plot?.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      element.removeEventListener('click', open);
      resized.disconnect();
      scheme.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [timesMs, groups, stepMs]);
  return <div ref={place} aria-hidden className="h-60 w-full cursor-pointer" />;
}

function drawPlot(
  element: HTMLElement,
  timesMs: readonly number[],
  groups: readonly Group[],
  stepMs: number,
  onPoint: (index: number | undefined) => void,
): UPlot {
  // Each bar is as high as those below it and itself; the highest are drawn first.
  let below = timesMs.map(() => 0);
  const stacked = groups.map(({ counts, color }) => {
    below = below.map((sum, index) => sum + (counts[index] ?? 0));
    return { color: resolve(color), tops: below };
  });
  const series = stacked.toReversed();
  const muted = resolve('muted');
  const grid = { stroke: resolve('line'), width: 1 };
  const axis = { stroke: muted, font: '12px system-ui, sans-serif', ticks: { show: false } };
  const bars = UPlot.paths.bars?.({ size: [0.7, 40], align: 1 });
  return new UPlot(
    {
      width: element.clientWidth,
      height: HEIGHT_PX,
      padding: [12, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { range: (_, min, max) => [min, max + stepMs / 1000] },
        y: { range: (_, _min, max) => [0, Math.max(4, max * 1.05)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 32,
          space: 60,
          values: (_, splits, _axis, _space, incrementSeconds) =>
            splits.map((seconds) =>
              (incrementSeconds < DAY_SECONDS ? HOURS : DAYS).format(seconds * 1000),
            ),
        },
        {
          ...axis,
          grid,
          size: 48,
          incrs: [1, 2, 5]
            .flatMap((n) => [0, 1, 2, 3, 4, 5, 6, 7].map((e) => n * 10 ** e))
            .toSorted((a, b) => a - b),
          values: (_, splits) => splits.map(formatNumber),
        },
      ],
      series: [
        {},
        ...series.map(({ color }) => ({
          fill: color,
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        })),
      ],
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
    },
    [timesMs.map((ms) => ms / 1000), ...series.map(({ tops }) => tops)],
    element,
  );
}
