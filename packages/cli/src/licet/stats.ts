import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Statistics } from '@licet/client';
import {
  DEFAULT_STATISTICS_STEPS,
  MAX_EXPIRY_WEEKS,
  MAX_STATISTICS_DAYS,
} from '@licet/contract/limits';
import { type Column, dayText, examples, timeText } from './output.ts';
import { type OpenSession, optionalProductId, sinceArgument } from './session.ts';

type Step = Statistics['series'][number];

const outcomesOf = ({ time: _, ...counts }: Step): [outcome: string, count: number][] =>
  Object.entries(counts).map(([outcome, count]) => [outcome, count ?? 0]);

const countOf = (step: Step): number =>
  outcomesOf(step).reduce((total, [, count]) => total + count, 0);

/** The refusals of a step, the most frequent first: `LICENSE_EXPIRED 3, MAX_IPS_REACHED 1` */
const refusalsOf = (step: Step): string =>
  outcomesOf(step)
    .filter(([outcome]) => outcome !== 'VALID')
    .toSorted(([, one], [, other]) => other - one)
    .map((refusal) => refusal.join(' '))
    .join(', ');

const stepColumns = (isByDay: boolean): Column<Step>[] => [
  {
    title: isByDay ? 'DAY (UTC)' : 'HOUR (UTC)',
    text: ({ time }) => (isByDay ? dayText(time) : timeText(time).slice(0, 16)),
  },
  { title: 'VALIDATIONS', text: (step) => String(countOf(step)) },
  { title: 'VALID', text: ({ VALID = 0 }) => String(VALID) },
  { title: 'REFUSED', text: refusalsOf, isFlexible: true },
];

type Product = Statistics['products'][number];

const productColumns: Column<Product>[] = [
  { title: 'PRODUCT', text: ({ productId, productName }) => `${productId} ${productName}` },
  { title: 'ACTIVE LICENSES', text: ({ active }) => String(active) },
  { title: 'VALIDATIONS', text: ({ validations }) => String(validations) },
];

type Version = Statistics['versions'][number];

const versionColumns: Column<Version>[] = [
  { title: 'PRODUCT', text: ({ productId }) => String(productId) },
  { title: 'VERSION', text: ({ productVersion }) => productVersion ?? 'not sent' },
  { title: 'INSTALLATIONS', text: ({ installations }) => String(installations) },
];

function licensesText({ licenses, expiries }: Statistics): string {
  const { active, activeBefore, deactivated, expired, countedAt } = licenses;
  const before = activeBefore === null ? '' : ` (${activeBefore} at the start of this time)`;
  const expiring = expiries.reduce((total, day) => total + day.licenses, 0);
  return (
    `Licenses: ${active} active${before}, ${deactivated} deactivated, ${expired} expired, ` +
    `${expiring} expire in the next ${MAX_EXPIRY_WEEKS} weeks. Counted ${timeText(countedAt)} (UTC).`
  );
}

/** A sentence about requests that are missing in the history; empty for none. */
function gapsText({ gaps }: Statistics): string {
  const last = gaps.at(-1);
  if (last === undefined) return '';
  const missing = gaps.reduce((total, { requests }) => total + requests, 0);
  return (
    `\nMissing in the history: ${missing} validations, the latest in the hour from ${timeText(last.time)} (UTC). ` +
    'The database did not store their records.'
  );
}

/** `licet stats`: validations by outcome, licenses and versions. */
export function addStats(parent: CommandUnknownOpts, open: OpenSession): void {
  parent
    .command('stats')
    .description('count validations by outcome, licenses, and versions in use')
    .option('--product <product>', 'only of this product, by its id or name')
    .option(
      '--since <time>',
      `since a time ago (90m, 7d) or a date (2026-11-20); default ${DEFAULT_STATISTICS_STEPS.hour}h, or ${DEFAULT_STATISTICS_STEPS.day}d with --by day; at most ${MAX_STATISTICS_DAYS.hour}d, or ${MAX_STATISTICS_DAYS.day}d with --by day`,
      sinceArgument,
    )
    .addOption(
      new Option('--by <step>', 'count by hour or by day').choices(['hour', 'day']).default('hour'),
    )
    .addHelpText(
      'after',
      `
With --json it prints one object, with all steps and the licenses that expire on each day.
${examples('stats', 'stats --by day --since 30d --product "Chunk Guard"')}`,
    )
    .action(async ({ product, since, by }) => {
      const { licet, output } = open();
      const statistics = await licet.statistics({
        step: by === 'day' ? 'day' : 'hour',
        from: since,
        productId: await optionalProductId(licet, product),
      });
      if (output.isJson) {
        output.object(statistics, {});
        return;
      }
      output.list(
        statistics.series.filter((step) => countOf(step) > 0),
        stepColumns(by === 'day'),
        'No validations found.',
      );
      console.log(`\n${licensesText(statistics)}${gapsText(statistics)}`);
      if (statistics.products.length > 0) {
        console.log();
        output.lines(statistics.products, productColumns);
      }
      if (statistics.versions.length > 0) {
        console.log();
        output.lines(statistics.versions, versionColumns);
      }
    });
}
