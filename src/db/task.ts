import { DAY_MS } from '@licet/contract/durations';
import type { SQL } from 'drizzle-orm';
import { logFailure } from '../lib/log.ts';
import type { Outbound } from '../lib/outbound.ts';
import type { Sender } from './change.ts';
import type { Database } from './client.ts';

/** The settings that tasks read, as they were entered. */
interface Settings {
  REQUEST_RETENTION_DAYS?: string;
  EVENT_RETENTION_DAYS?: string;
  MANY_ADDRESSES?: string;
  PLATFORM_LABELS?: string;
}

/** A run of the scheduled handler. */
export interface Run {
  /** Counts its queries. */
  db: Database;
  /** When the run was due, in milliseconds since 1970. */
  now: number;
  settings: Settings;
  outbound: Outbound;
  /** Makes a sender for the service itself, with the clock of now. */
  newSender: () => Sender;
  /** The number of queries and requests that remain. */
  left: () => number;
  /** Counts requests to others. */
  spend: (requests: number) => void;
  /** Adds a task that is due in this run, right after this one. */
  add: (task: Task) => void;
}

/** Work of the scheduled handler, each minute. */
export interface Task {
  /** The line of the log if it fails. */
  failure: string;
  /** The number of its queries and requests, at most: with fewer left it waits for the next run. */
  most: number;
  /**
   * Selects since when its oldest work is due, in milliseconds since 1970; null for none. Only for work that customers or
   * receivers wait for.
   */
  dueSince?: (now: number) => SQL;
  run: (run: Run) => Promise<void>;
}

/** The number of a setting. A wrong one is logged, and counts as 0. */
export function numberIn(
  settings: Settings,
  name: 'REQUEST_RETENTION_DAYS' | 'EVENT_RETENTION_DAYS' | 'MANY_ADDRESSES',
  unit: string,
  effect: string,
): number {
  const value = Number(settings[name]);
  if (value >= 0) return value;
  const message = `${name} must be a number of ${unit}, not "${settings[name]}": ${effect}`;
  logFailure(message, new RangeError());
  return 0;
}

/**
 * The time before which a setting of days lets rows be removed, in milliseconds since 1970; null to keep all. Removing data
 * by mistake is worse than keeping it.
 */
export function retentionStart(
  { settings, now }: Run,
  name: 'REQUEST_RETENTION_DAYS' | 'EVENT_RETENTION_DAYS',
): number | null {
  const days = numberIn(settings, name, 'days', 'nothing was removed');
  return days > 0 ? now - days * DAY_MS : null;
}
