import { texts } from '../../texts';
import type { Step } from './queries';

/** Outcomes in a few groups, each with a colour of the theme. */

type Outcome = Exclude<keyof Step, 'time'>;

const GROUPS: readonly (readonly [
  name: keyof typeof texts.overview.groups,
  color: string,
  swatch: string,
  outcomes: readonly Outcome[],
])[] = [
  ['valid', 'accent', 'bg-accent', ['VALID']],
  ['ended', 'edge', 'bg-edge', ['LICENSE_EXPIRED', 'LICENSE_DEACTIVATED', 'LICENSE_DELETED']],
  ['full', 'chart-full', 'bg-chart-full', ['MAX_IPS_REACHED', 'MAX_HWIDS_REACHED']],
  [
    'rejected',
    'chart-rejected',
    'bg-chart-rejected',
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
  /** The name of its colour, and the class of a field in it. */
  color: string;
  swatch: string;
  /** One for each step. */
  counts: readonly number[];
  total: number;
}

export const groupsOf = (series: readonly Step[]): Group[] =>
  GROUPS.map(([name, color, swatch, outcomes]) => {
    const counts = series.map((step) =>
      outcomes.reduce((sum, outcome) => sum + (step[outcome] ?? 0), 0),
    );
    const total = counts.reduce((sum, count) => sum + count, 0);
    return { name: texts.overview.groups[name], color, swatch, counts, total };
  });
