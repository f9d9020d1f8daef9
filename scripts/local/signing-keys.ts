import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensureSigningKeys, isSigningKey, readSigningKeys } from '@licet/cli/signing-keys';
import { note, report } from '@licet/cli/terminal';
import { DAY_MS } from '@licet/contract/durations';
import { parseJson } from '@licet/contract/json';
import * as z from 'zod';
import { databaseFile } from './database.ts';

/** The signing keys of a service on this machine (1.8). */

const KEYS_FILE = 'signing-keys.env';

/** Until when before the newest use a key counts as in use: the keys of before may have been retired. */
const IN_USE_MS = 30 * DAY_MS;

const withKid = z.looseObject({ kid: z.string() });

/** The keys that programs were built with, by the installations in the database, the most used one first. */
function kidsInUse(folder: string): { kid: string; count: number }[] {
  const database = new DatabaseSync(databaseFile(folder), { readOnly: true });
  try {
    return database
      .prepare(
        `select kid, count(*) as count from installations where kid is not null group by kid
         having max(last_seen_at) > (select max(last_seen_at) from installations where kid is not null) - ?
         order by count desc`,
      )
      .all(IN_USE_MS)
      .map(({ kid, count }) => ({ kid: String(kid), count: Number(count) }));
  } finally {
    database.close();
  }
}

/** The signing keys of the environment, else those in the data folder. */
function readKeys(folder: string): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (isSigningKey(name) && value !== undefined) given[name] = value;
  }
  if (Object.keys(given).length > 0) return given;
  const file = join(folder, KEYS_FILE);
  return existsSync(file) ? readSigningKeys(file) : {};
}

/** Reports the keys that programs ask for and that are not here. @returns whether there are some */
export function reportMissingKeys(folder: string): boolean {
  const kids = Object.values(readKeys(folder)).map(
    (key) => withKid.safeParse(parseJson(key)).data?.kid,
  );
  const missing = kidsInUse(folder).filter(({ kid }) => !kids.includes(kid));
  if (missing.length === 0) return false;
  const named = missing.map(
    ({ kid, count }) => `${kid} (${count} ${count === 1 ? 'installation' : 'installations'})`,
  );
  report(
    new Error(
      `Programs ask for signing keys that are not here: ${named.join(', ')}. They reject each response, and stop ` +
        `when their leases end. Copy ${KEYS_FILE}, from the folder in which the data was or from where you keep ` +
        `it, to ${join(folder, KEYS_FILE)}. If the service takes its keys from the environment, add them there. Then ` +
        'start the service again.',
    ),
  );
  return true;
}

/**
 * The signing keys of the environment, else those in the data folder, where the first ones are made. None are made while
 * programs ask for others: they would take no new one.
 *
 * @param isNew whether the first ones are made even then
 */
export function provideSigningKeys(folder: string, isNew: boolean): Record<string, string> {
  const isMissing = reportMissingKeys(folder);
  const found = readKeys(folder);
  if (Object.keys(found).length > 0) {
    if (isNew) note('• --new-signing-keys is ignored: there are signing keys.');
    return found;
  }
  if (isMissing && !isNew) {
    note('  Until then no response is signed. If they are lost: npm start -- --new-signing-keys');
    return {};
  }
  // With the data, because a key that is lost makes programs refuse.
  const file = join(folder, KEYS_FILE);
  if (ensureSigningKeys(file)) note(`✓ Signing keys were made, in ${file}`);
  return readSigningKeys(file);
}
