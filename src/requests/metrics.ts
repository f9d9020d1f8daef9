import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import { RESPONSE_TYPES, type ResponseType } from '@licet/contract/outcomes';
import { and, desc, eq, gt, gte, lte } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import { ALL_PRODUCTS } from '../db/codes.ts';
import { byLabel, type Metric } from '../lib/exposition.ts';
import { DurationHistogram } from '../lib/histogram.ts';
import { BUCKETS_A_DAY, bucketAt, firstIdAt } from '../lib/time-id.ts';
import { gaps, rollups } from './schema.ts';

/** The metrics of validations (6), from the roll-ups, and of the requests of this process. */

/** An hour has its roll-ups this long after its end, unless the scheduled handler is late. */
const ROLLED_UP_MS = 20 * MINUTE_MS;
/** Each isolate leaves a gap of its own, and an outage has many. */
const MAX_GAPS = 100;

const lastHourAt = (now: number): number => bucketAt(now - ROLLED_UP_MS) - 1;

/** The statements of a scrape. Each reads a range of a primary key. @param now milliseconds since 1970 */
export const requestMetricStatements = (db: Database, now: number) => ({
  hours: db
    .select({ bucket: rollups.bucket, outcome: rollups.outcome, requests: rollups.requests })
    .from(rollups)
    .where(
      and(
        eq(rollups.productId, ALL_PRODUCTS),
        gt(rollups.bucket, lastHourAt(now) - BUCKETS_A_DAY),
        lte(rollups.bucket, lastHourAt(now)),
      ),
    ),
  gaps: db
    .select({ requests: gaps.requests })
    .from(gaps)
    .where(gte(gaps.id, firstIdAt(now - DAY_MS)))
    .orderBy(desc(gaps.id))
    .limit(MAX_GAPS),
});

/** The rows of {@link requestMetricStatements}. */
interface RequestMetricRows {
  hours: readonly { bucket: number; outcome: ResponseType; requests: number }[];
  gaps: readonly { requests: number }[];
}

const sum = (rows: readonly { requests: number }[]): number =>
  rows.reduce((total, { requests }) => total + requests, 0);

/** Each outcome, also without requests: a rule can then divide by it. */
const byOutcome = (rows: RequestMetricRows['hours']) =>
  byLabel(
    'outcome',
    RESPONSE_TYPES.map((type) => [type, sum(rows.filter(({ outcome }) => outcome === type))]),
  );

/** @param now as for the statements */
export const requestMetrics = (
  { hours, gaps: found }: RequestMetricRows,
  now: number,
): Metric[] => [
  {
    name: 'licet_validations_last_hour',
    type: 'gauge',
    help: 'Stored validations by outcome, in the last hour of the clock that ended 20 minutes ago or earlier.',
    samples: byOutcome(hours.filter(({ bucket }) => bucket === lastHourAt(now))),
  },
  {
    name: 'licet_validations_last_day',
    type: 'gauge',
    help: 'Stored validations by outcome, in that hour and the 23 before it.',
    samples: byOutcome(hours),
  },
  {
    name: 'licet_records_given_up_last_day',
    type: 'gauge',
    help: 'Records of the last 24 hours that are missing in the history, because the database did not take them.',
    samples: [{ value: sum(found) }],
  },
];

/** A request with its end: a validation, or any other one. */
export type RequestKind = 'validation' | 'other';

/** The label of validations that were rejected before a decision. */
const NONE = 'NONE';

/** The requests of this process since its start. A validation adds to numbers in memory, and to nothing else. */
export class RequestCounts {
  readonly #durations: Readonly<Record<RequestKind, DurationHistogram>> = {
    validation: new DurationHistogram(),
    other: new DurationHistogram(),
  };
  readonly #outcomes = new Map<string, number>(
    [...RESPONSE_TYPES, NONE].map((outcome) => [outcome, 0]),
  );

  /** @param outcome undefined for a validation that was not decided, and for other requests */
  add(kind: RequestKind, outcome: ResponseType | undefined, durationMs: number): void {
    this.#durations[kind].add(durationMs);
    if (kind === 'other') return;
    const counted = outcome ?? NONE;
    this.#outcomes.set(counted, (this.#outcomes.get(counted) ?? 0) + 1);
  }

  /** @param pending the number of records that are not written yet */
  metrics(pending: number): Metric[] {
    return [
      {
        name: 'licet_process_validations_total',
        type: 'counter',
        help: 'Validations since the start of the process, by outcome. NONE was rejected before a decision.',
        samples: byLabel('outcome', this.#outcomes),
      },
      {
        name: 'licet_process_request_duration_seconds',
        type: 'histogram',
        help: 'Duration of requests until their response since the start of the process, without files.',
        samples: Object.entries(this.#durations).flatMap(([kind, durations]) =>
          durations.samples({ kind }),
        ),
      },
      {
        name: 'licet_process_records_pending',
        type: 'gauge',
        help: 'Records that the process has not written yet.',
        samples: [{ value: pending }],
      },
    ];
  }
}
