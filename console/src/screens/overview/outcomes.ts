import { keysOf } from '@licet/contract/objects';
import { OUTCOMES, type OutcomeGroup, RESPONSE_TYPES } from '@licet/contract/outcomes';
import { texts } from '../../texts.ts';
import type { Step } from './queries.ts';

/** Outcomes in a few groups, each with a colour of the theme. */

interface Look {
  name: string;
  /** The classes of its colour, for the legend and for the bars. */
  swatch: string;
  fill: string;
}

const names = texts.overview.groups;

const LOOKS: Record<OutcomeGroup, Look> = {
  valid: { name: names.valid, swatch: 'bg-accent', fill: 'fill-accent' },
  ended: { name: names.ended, swatch: 'bg-edge', fill: 'fill-edge' },
  full: { name: names.full, swatch: 'bg-chart-full', fill: 'fill-chart-full' },
  rejected: { name: names.rejected, swatch: 'bg-chart-rejected', fill: 'fill-chart-rejected' },
};

export interface Group extends Look {
  /** The count of each step. */
  counts: readonly number[];
  total: number;
}

export const groupsOf = (series: readonly Step[]): Group[] =>
  keysOf(LOOKS).map((group) => {
    const outcomes = RESPONSE_TYPES.filter((outcome) => OUTCOMES[outcome].group === group);
    const counts = series.map((step) =>
      outcomes.reduce((sum, outcome) => sum + (step[outcome] ?? 0), 0),
    );
    const total = counts.reduce((sum, count) => sum + count, 0);
    return { ...LOOKS[group], counts, total };
  });
