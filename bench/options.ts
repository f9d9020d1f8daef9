import { parseArgs } from 'node:util';
import { fail } from '../scripts/terminal.ts';
import { SCENARIOS, type ScenarioName } from './scenarios/index.ts';
import { FULL, QUICK, type Settings } from './settings.ts';

const DESCRIPTIONS: Record<ScenarioName, string> = {
  hot: 'licenses in memory, bound servers: the figure that counts',
  token: 'the same under v2, with a token',
  unknown: 'keys that no license has',
  cold: 'licenses that are published, but not in memory',
  binding: 'servers that take a free slot',
  growth: '1,000 licenses asked for out of 100,000, and 10,000 blacklist entries',
  limits: 'hot with the rate limiters bound',
  world: 'servers all over the world, in virtual time: how long they wait',
  memory: 'hot for a million requests, with an eye on memory; only when asked for',
};

const HELP = `Measures validations by the built Worker beside a bare one, in turns, on this machine.

  npm run bench [-- scenarios] [options]

Scenarios; without one, all but memory:
${Object.entries(DESCRIPTIONS)
  .map(([name, description]) => `  ${name.padEnd(18)} ${description}`)
  .join('\n')}

  --quick            a smoke run of seconds: everything is tried, and little told of speed
  --million          the same as the scenario memory
  --requests N       how many requests memory takes (1,000,000)
  --connections LIST at how many connections hot, cold and binding are measured (1,16,64)
  --rounds N         how many rounds the medians are of (5)
  --help             this text

Speed is told, and asserts nothing: the machine may be busy. The run fails, with status 1, where a
request was lost, recorded twice or not at all, or answered wrongly.`;

export interface Options {
  scenarios: ScenarioName[];
  settings: Settings;
}

const isScenario = (name: string): name is ScenarioName => name in SCENARIOS;

function toCount(name: string, text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1)
    fail(`--${name} takes numbers from 1, not "${text}".`);
  return count;
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        million: { type: 'boolean', default: false },
        requests: { type: 'string' },
        connections: { type: 'string' },
        rounds: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
  }
}

/** What was asked for on the command line. */
export function readOptions(args: string[]): Options {
  const { values, positionals } = parse(args);
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const scenarios = positionals.map((name) =>
    isScenario(name) ? name : fail(`There is no scenario ${name}.\n\n${HELP}`),
  );
  if (values.million) scenarios.push('memory');
  const all = Object.keys(SCENARIOS).filter(isScenario);
  const { requests, connections, rounds } = values;
  return {
    scenarios: scenarios.length > 0 ? scenarios : all.filter((name) => name !== 'memory'),
    settings: {
      ...(values.quick ? QUICK : FULL),
      ...(requests !== undefined && { memoryRequests: toCount('requests', requests) }),
      ...(rounds !== undefined && { rounds: toCount('rounds', rounds) }),
      ...(connections !== undefined && {
        connections: connections.split(',').map((one) => toCount('connections', one)),
      }),
    },
  };
}
