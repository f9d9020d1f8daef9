import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fail } from '@licet/cli/terminal';
import { absoluteFolder } from '../scripts/local/options.ts';
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
  load: 'npm start at up to 1,024 connections: every record, response times, memory',
  fairness: 'first bindings and an administrator beside 200 connections of hot validations',
  lists: '400 validations a second beside one and three complete lists of 100,000 licenses',
  webhooks: 'npm start: 1,000 changes with three webhooks, one of them dead, beside validations',
  mails:
    'npm start: 1,000 sales whose keys are mailed, beside validations; the times of the form for links',
  markets: 'npm start: downloads beside validations, then two bursts of 10,000 notices; memory',
  discord:
    'npm start with 100,000 licenses: /reset beside validations, then 10,000 made-up interactions',
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
  --connections LIST levels of the scenarios cold and binding (1,16,64), hot (also 256,1024) and load
                     (16,64,256,1024)
  --rounds N         rounds (5); each figure is their median
  --beside FOLDER    another checkout, with its packages installed: its service is one more target of the
                     scenarios hot, start and load, in the same rounds. Its faults do not fail the run.
                     wrangler builds it there, which may write the ignored files in its public/.
  --help             this text

Each scenario prints its figures when it ends. The first line of the summary is the verdict, and so is the first
field of bench/result.json: "No record was lost, and no response was wrong.", or what failed, where, and how often.

The run fails with status 1 if a record was lost or stored twice, a request got no response or a wrong one, or a
connection could not be opened; and if a figure misses its threshold that is the same on every machine: rows, bytes,
virtual time. A figure of speed that misses its threshold fails nothing: the machine may be busy. In the scenarios
hot, start, load, fairness, lists, webhooks, mails, markets and discord a validation may get 503 with Retry-After: the load pauses, and the 503s are counted.`;

export interface Options {
  scenarios: ScenarioName[];
  settings: Settings;
  /** The folder of another checkout. */
  beside: string | undefined;
}

const isScenario = (name: string): name is ScenarioName => name in SCENARIOS;

function toCount(name: string, text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1)
    fail(`--${name} takes numbers from 1, not "${text}".`);
  return count;
}

function toCheckout(given: string): string {
  const folder = absoluteFolder(given);
  if (existsSync(join(folder, 'src/index.ts'))) return folder;
  return fail(`--beside takes the folder of a checkout. ${folder} has no src/index.ts.`);
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
        beside: { type: 'string' },
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
  const levels = connections?.split(',').map((one) => toCount('connections', one));
  return {
    scenarios: scenarios.length > 0 ? scenarios : all.filter((name) => name !== 'memory'),
    settings: {
      ...(values.quick ? QUICK : FULL),
      ...(requests !== undefined && { memoryRequests: toCount('requests', requests) }),
      ...(rounds !== undefined && { rounds: toCount('rounds', rounds) }),
      ...(levels && {
        connections: levels,
        hotConnections: levels,
        loadConnections: levels,
      }),
    },
    beside: values.beside === undefined ? undefined : toCheckout(values.beside),
  };
}
