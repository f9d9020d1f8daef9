import { texts } from '../../texts.ts';
import type { Step } from './queries.ts';

/** Outcomes in a few groups, each with a colour of the theme. */

type Outcome = Exclude<keyof Step, 'time'>;

const GROUPS: readonly (readonly [
  name: keyof typeof texts.overview.groups,
  swatch: string,
  fill: string,
  outcomes: readonly Outcome[],
])[] = [
  ['valid', 'bg-accent', 'fill-accent', ['VALID']],
  ['ended', 'bg-edge', 'fill-edge', ['LICENSE_EXPIRED', 'LICENSE_DEACTIVATED', 'LICENSE_DELETED']],
  ['full', 'bg-chart-full', 'fill-chart-full', ['MAX_IPS_REACHED', 'MAX_HWIDS_REACHED']],
  [
    'rejected',
    'bg-chart-rejected',
    'fill-chart-rejected',
    [
      'LICENSE_NOT_FOUND',
      'PRODUCT_MISMATCH',
      'IP_BLACKLISTED',
      'HWID_BLACKLISTED',
      'RATE_LIMITED',
      'INVALID_REQUEST',
      'ERROR',
    ],
  ],
];

export interface Group {
  name: string;
  /** The classes of its colour, for the legend and for the bars. */
  swatch: string;
  fill: string;
  /** The count of each step. */
  counts: readonly number[];
  total: number;
}

export const groupsOf = (series: readonly Step[]): Group[] =>
  GROUPS.map(([name, swatch, fill, outcomes]) => {
    const counts = series.map((step) =>
      outcomes.reduce((sum, outcome) => sum + (step[outcome] ?? 0), 0),
    );
    const total = counts.reduce((sum, count) => sum + count, 0);
    return { name: texts.overview.groups[name], swatch, fill, counts, total };
  });
