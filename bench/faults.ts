import type { Measured } from './load.ts';
import type { Tally } from './workers.ts';

/** Requests that were sent, and their responses. */
type Sent = Pick<Measured, 'wrong' | 'wrongResponse' | 'lost'> & {
  name: string;
  connections: number;
};

/** Events that must never happen, however slow the machine is. */
export function faultsOf(results: readonly Sent[], tallies: readonly Tally[]): string[] {
  const ofResults = results.flatMap(({ name, connections, wrong, wrongResponse, lost }) => {
    const load = `${name} at ${connections} connections`;
    return [
      ...(wrong > 0 ? [`${load}: ${wrong} wrong responses, such as: ${wrongResponse}`] : []),
      ...(lost > 0 ? [`${load}: ${lost} requests got no response`] : []),
    ];
  });
  const ofTallies = tallies.flatMap(({ responses, stored, ofKnown, counted, orphans }) => [
    ...(stored === responses
      ? []
      : [`${responses} validations had a response, ${stored} are stored`]),
    ...(counted === ofKnown
      ? []
      : [`${ofKnown} responses for known licenses, ${counted} in their totals`]),
    ...(orphans === 0 ? [] : [`${orphans} records are not those of their callers`]),
  ]);
  return [...ofResults, ...ofTallies];
}
