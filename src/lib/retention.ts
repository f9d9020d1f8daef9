import { DAY_MS } from '@licet/contract/durations';

/** A setting with an invalid value. Its message may be logged. */
export class SettingError extends Error {
  override name = 'SettingError';
}

/**
 * The time of the oldest rows that are kept, in milliseconds since 1970; null to keep all.
 *
 * @param name the variable with the number of days; 0 keeps all
 * @throws SettingError if the variable is not a number of days
 */
export function retentionStart(name: string, retentionDays: string, now: number): number | null {
  const days = Number(retentionDays);
  // Removing data by mistake is worse than keeping it.
  if (!(days >= 0)) throw new SettingError(`${name} must be a number of days`);
  return days === 0 ? null : now - days * DAY_MS;
}
