import { binding } from './binding.ts';
import { blacklist } from './blacklist.ts';
import { cold } from './cold.ts';
import { discord } from './discord.ts';
import { fairness } from './fairness.ts';
import { growth } from './growth.ts';
import { history } from './history.ts';
import { hot } from './hot.ts';
import { limits } from './limits.ts';
import { lists } from './lists.ts';
import { load } from './load.ts';
import { mails } from './mails.ts';
import { markets } from './markets.ts';
import { memory } from './memory.ts';
import type { Scenario } from './scenario.ts';
import { signed } from './signed.ts';
import { start } from './start.ts';
import { token } from './token.ts';
import { unknown } from './unknown.ts';
import { webhooks } from './webhooks.ts';
import { world } from './world.ts';

/** All scenarios by name, in the order in which they run. */
export const SCENARIOS = {
  hot,
  signed,
  token,
  unknown,
  cold,
  binding,
  growth,
  limits,
  blacklist,
  history,
  world,
  memory,
  start,
  load,
  fairness,
  lists,
  webhooks,
  mails,
  markets,
  discord,
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;
