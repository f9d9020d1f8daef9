/** This module imports nothing, because Node and the pages of the console use it too. */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** The longest session of the console. */
export const SESSION_LIFE_MS = 12 * HOUR_MS;
