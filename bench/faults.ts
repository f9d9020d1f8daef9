import type { Measured } from './load.ts';
import type { Tally } from './workers.ts';

/** What was sent, and how it was answered. */
type Sent = Pick<Measured, 'wrong' | 'wrongAnswer' | 'lost'> & {
  name: string;
  connections: number;
};

/** What must never happen, however slow the machine is. */
export function faultsOf(results: readonly Sent[], tallies: readonly Tally[]): string[] {
  const ofResults = results.flatMap(({ name, connections, wrong, wrongAnswer, lost }) => {
    const load = `${name} at ${connections} connections`;
    return [
      ...(wrong > 0 ? [`${load}: ${wrong} wrong answers, such as: ${wrongAnswer}`] : []),
      ...(lost > 0 ? [`${load}: ${lost} requests were not answered`] : []),
    ];
  });
  const ofTallies = tallies.flatMap(({ answered, stored, answeredKnown, totals, miscounted }) => [
    ...(stored === answered ? [] : [`${answered} validations were answered, ${stored} are stored`]),
    ...(totals === answeredKnown
      ? []
      : [`${answeredKnown} answers for known licenses, ${totals} in their totals`]),
    ...(miscounted === 0
      ? []
      : [`The totals of ${miscounted} licenses are not the number of their records`]),
  ]);
  return [...ofResults, ...ofTallies];
}
