import type { Event, Purchase } from '@licet/client';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { type EventType, SERVICE_EVENT_TYPES } from '@licet/contract/enums';
import { DOCTOR_KEY } from '@licet/contract/license-key';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import type { Range } from './route.ts';

/** The queries of the overview. Each part has its own, so that one failure leaves the other parts. */

const REFRESH_MS = MINUTE_MS;

export type Statistics = Awaited<ReturnType<typeof licet.statistics>>;
export type Step = Statistics['series'][number];

const RANGE = {
  day: { step: 'hour', backMs: 23 * HOUR_MS },
  week: { step: 'hour', backMs: 7 * DAY_MS - HOUR_MS },
  month: { step: 'day', backMs: 29 * DAY_MS },
} as const;

/** The statistics of a range that ends now. */
export const statisticsQuery = (range: Range) =>
  queryOptions({
    queryKey: ['history', 'statistics', range],
    queryFn: ({ signal }) => {
      const { step, backMs } = RANGE[range];
      return licet.statistics(
        { step, from: new Date(Date.now() - backMs).toISOString() },
        { signal },
      );
    },
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

/**
 * Validations of today and of the same hours of yesterday, in the viewer's time zone. `before` is null for a yesterday
 * without validations: the service may not have run.
 */
export interface Today {
  licenses: Statistics['licenses'];
  total: readonly [now: number, before: number | null];
  refused: readonly [now: number, before: number | null];
  /** The most frequent reason of the refusals of today. */
  topReason: string | undefined;
}

/** The number of all validations of a step, and of those that were refused. */
export function countsOf({ time: _, VALID = 0, ...refusals }: Step): {
  total: number;
  refused: number;
} {
  const refused = Object.values(refusals).reduce((sum: number, count) => sum + (count ?? 0), 0);
  return { total: VALID + refused, refused };
}

/** The most frequent outcome of the refusals in some steps. */
function topReasonOf(steps: readonly Step[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { time: _, VALID: __, ...refusals } of steps) {
    for (const [outcome, count = 0] of Object.entries(refusals)) {
      counts.set(outcome, (counts.get(outcome) ?? 0) + count);
    }
  }
  const [top] = [...counts].toSorted(([, few], [, many]) => many - few);
  return top?.[0];
}

export const todayQuery = queryOptions({
  queryKey: ['history', 'statistics', 'today'],
  queryFn: async ({ signal }): Promise<Today> => {
    const now = new Date();
    const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
    const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1).getTime();
    const from = new Date(yesterday).toISOString();
    const { licenses, series } = await licet.statistics({ step: 'hour', from }, { signal });
    /** Sums the hours of a period. The hour of `toMs` counts in proportion to the part of it before `toMs`. */
    const sum = (fromMs: number, toMs: number, kind: 'total' | 'refused'): number =>
      Math.round(
        series.reduce((total, step) => {
          const start = Date.parse(step.time);
          if (start < fromMs || start > toMs) return total;
          return total + countsOf(step)[kind] * Math.min(1, (toMs - start) / HOUR_MS);
        }, 0),
      );
    const nextHour = now.getTime() + HOUR_MS;
    const untilNow = yesterday + (now.getTime() - today);
    const ranYesterday = sum(yesterday, today, 'total') > 0;
    const both = (kind: 'total' | 'refused') =>
      [sum(today, nextHour, kind), ranYesterday ? sum(yesterday, untilNow, kind) : null] as const;
    return {
      licenses,
      total: both('total'),
      refused: both('refused'),
      topReason: topReasonOf(series.filter(({ time }) => Date.parse(time) >= today)),
    };
  },
  refetchInterval: REFRESH_MS,
});

/** The sales of today, in the viewer's time zone. */
export const salesQuery = queryOptions({
  queryKey: ['purchases', 'today'],
  queryFn: ({ signal }) => {
    const from = new Date(new Date().setHours(0, 0, 0, 0)).toISOString();
    return licet.purchases.statistics({ from }, { signal });
  },
  refetchInterval: REFRESH_MS,
});

/** Enough to name the buyers of each product that is not chosen. */
const WAITING_READ = 100;

/** Purchases that wait for the same reason. */
export interface Waiting {
  purchases: readonly [Purchase, ...Purchase[]];
  /** Whether there may be more than these. */
  isCut: boolean;
}

/** The purchases that were paid and have no license, by market and product, those of the newest first. */
export const waitingQuery = queryOptions({
  queryKey: ['purchases', 'waiting'],
  queryFn: async ({ signal }): Promise<Waiting[]> => {
    const query = {
      state: 'UNMATCHED',
      isIgnored: false,
      sort: '-id',
      limit: WAITING_READ,
    } as const;
    const { items, after } = await licet.purchases.page(query, { signal });
    const groups = Map.groupBy(items, ({ marketId, item }) => `${marketId} ${item}`);
    return [...groups.values()].flatMap(([first, ...others]) =>
      first ? [{ purchases: [first, ...others], isCut: after !== undefined }] : [],
    );
  },
  refetchInterval: REFRESH_MS,
});

const LATEST_ROWS = 6;
/** More than a run of the doctor adds: its refusals are no customer's. */
const DOCTOR_ROWS = 12;

export const refusalsQuery = queryOptions({
  queryKey: ['history', 'latest refusals'],
  queryFn: async ({ signal }) => {
    const query = { valid: false, limit: LATEST_ROWS + DOCTOR_ROWS };
    const rows = await licet.requests.list(query, { signal });
    return rows.filter(({ licenseKey }) => licenseKey !== DOCTOR_KEY).slice(0, LATEST_ROWS);
  },
  refetchInterval: 15_000,
});

export const eventsQuery = queryOptions({
  queryKey: ['events', 'latest'],
  queryFn: ({ signal }) => licet.events.list({ limit: LATEST_ROWS }, { signal }),
  refetchInterval: REFRESH_MS,
});

const isAlert = (type: EventType): boolean => SERVICE_EVENT_TYPES.some((one) => one === type);

const ALERT_DAYS = 7;
/** Enough to find the urgent ones among the others. */
const ALERTS_READ = 200;

/** One alert of each object and type, the latest; those that need no action only if there is room for them. */
function worthALook(events: readonly Event[]): Event[] {
  const latest = new Map<string, Event>();
  // The service also stores what markets report; that needs nobody. Purchases that wait stand above.
  for (const event of events.filter(({ type, changes }) =>
    type === 'purchase.unmatched' ? changes?.licenseId?.after != null : isAlert(type),
  )) {
    const about = `${event.type} ${event.resourceId}`;
    if (!latest.has(about)) latest.set(about, event);
  }
  const [urgent = [], others = []] = [true, false].map((isUrgent) =>
    [...latest.values()].filter(({ type }) => isUrgent === (type !== 'license.first_used')),
  );
  return [...urgent, ...others].slice(0, LATEST_ROWS).toSorted((a, b) => b.id - a.id);
}

/** The latest events of the service, newest first. */
export const alertsQuery = queryOptions({
  queryKey: ['events', 'alerts'],
  queryFn: async ({ signal }): Promise<Event[]> => {
    const from = new Date(Date.now() - ALERT_DAYS * DAY_MS).toISOString();
    const query = { actor: 'service', from, limit: ALERTS_READ } as const;
    return worthALook(await licet.events.list(query, { signal }));
  },
  refetchInterval: REFRESH_MS,
});

/** The steps from an empty service to a running one, in their order. */
export const STEPS = ['product', 'license', 'program', 'validation', 'token'] as const;
/** Those and the one that not every service needs. */
export const ALL_STEPS = [...STEPS, 'market'] as const;
export type StepName = (typeof ALL_STEPS)[number];

/** Whether all steps are done that every service needs. */
export const areDone = (done: Record<StepName, boolean>): boolean =>
  STEPS.every((step) => done[step]);

const isThere = async (list: Promise<readonly unknown[]>): Promise<boolean> =>
  (await list).length > 0;

/** The steps that are done. Read again every few seconds until all are. */
export const stepsQuery = queryOptions({
  queryKey: ['first steps'],
  queryFn: async ({ signal }): Promise<Record<StepName, boolean>> => {
    const one = { limit: 1 };
    const call = { signal };
    const [product, license, program, validation, token, market] = await Promise.all([
      isThere(licet.products.list(one, call)),
      isThere(licet.licenses.list({ ...one, total: false }, call)),
      // A refused validation also shows that a program has the snippet.
      isThere(licet.requests.list(one, call)),
      isThere(licet.requests.list({ ...one, valid: true }, call)),
      isThere(licet.tokens.list(one, call)),
      isThere(licet.markets.list(one, call)),
    ]);
    return { product, license, program, validation, token, market };
  },
  staleTime: 0,
  refetchInterval: ({ state: { data } }) => (data && areDone(data) ? false : 5_000),
});
