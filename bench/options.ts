import { parseArgs } from 'node:util';
import { fail } from '../packages/cli/src/terminal.ts';
import { SCENARIOS, type ScenarioName } from './scenarios/index.ts';
import { FULL, QUICK, type Settings } from './settings.ts';

const DESCRIPTIONS: Record<ScenarioName, string> = {
  hot: 'licenses in memory, bound servers: the figure that counts',
  signed: 'the same with signed responses',
  token: 'the same under v2, with a token',
  unknown: 'keys that no license has',
  cold: 'licenses that are published, but not in memory',
  binding: 'servers that take a free slot',
  growth: '1,000 licenses asked for out of 100,000, and 10,000 blacklist entries',
  limits: 'hot with the rate limiters bound',
  blacklist: 'CPU time of a cold isolate for 5,000 blacklist entries',
  history: 'pages of a history of a million records, and its size',
  world: 'response times for servers all over the world, in virtual time',
  start: 'npm start beside a direct socket and npm run dev; its memory, aborted connections',
  memory: 'memory over a million hot validations; runs only when it is named',
};

const HELP = `Measures validations by the built Worker beside a bare one on this machine.

  npm run bench [-- scenarios] [options]

Scenarios; all but memory if none is named:
${Object.entries(DESCRIPTIONS)
  .map(([name, description]) => `  ${name.padEnd(18)} ${description}`)
  .join('\n')}

  --quick            a smoke run: all scenarios run, and their speed means little
  --million          the same as the scenario memory
  --requests N       requests of the scenario memory (1,000,000)
  --connections LIST levels of the scenarios hot, cold and binding (1,16,64)
  --rounds N         rounds (5); each figure is their median
  --help             this text

The run fails with status 1 if a request was lost, got a wrong response, or was not recorded exactly once, and
if a figure misses its threshold that is the same on every machine: rows, bytes, virtual time. A figure of speed
that misses its threshold fails nothing: the machine may be busy.`;

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

/** Reads the command line. */
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
