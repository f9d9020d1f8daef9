import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { newSigningKey } from '@licet/cli/signing-keys';
import { DAY_MS } from '@licet/contract/durations';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { databaseFile, migrate } from '../../scripts/local/database.ts';
import { provideSigningKeys, reportMissingKeys } from '../../scripts/local/signing-keys.ts';
import { ownFolder } from './own.ts';
import { argsOfScript, watch } from './service.ts';

/** A database that came without its signing keys (1.8). */

const NOW = Date.parse('2026-11-27');
const printed: string[] = [];
beforeEach(() => {
  printed.length = 0;
  vi.spyOn(console, 'error').mockImplementation((line) => void printed.push(String(line)));
});
afterEach(() => vi.restoreAllMocks());

interface Use {
  kid: string;
  lastSeenAt?: number;
}

/** Stores programs that were built with these keys. */
function use(folder: string, ...uses: readonly Use[]): void {
  const database = new DatabaseSync(databaseFile(folder));
  const insert = database.prepare(`insert into installations
    (license_key_normalized, fingerprint, license_id, license_key, first_seen_at, last_seen_at, aggregated_bucket, kid)
    values ('K', ?, 1, 'K', 0, ?, 0, ?)`);
  uses.forEach(({ kid, lastSeenAt = NOW }, index) => {
    insert.run(`${kid} ${index}`, lastSeenAt, kid);
  });
  database.close();
}

/** A data folder whose programs were built with these keys. */
function newFolder(...uses: readonly Use[]): string {
  const folder = ownFolder();
  mkdirSync(dirname(databaseFile(folder)), { recursive: true });
  migrate(folder);
  use(folder, ...uses);
  return folder;
}

const keysFileIn = (folder: string): string => join(folder, 'signing-keys.env');
/** Writes a signing key into the data folder. @returns its kid */
function writeKey(folder: string): string {
  const { kid, jwk } = newSigningKey('ES256');
  writeFileSync(keysFileIn(folder), `SIGNING_KEY_1='${jwk}'\n`);
  return kid;
}

describe('a start without the signing keys that programs ask for', () => {
  it('a start without the keys names them and the file to copy, and makes no other keys', () => {
    const folder = newFolder({ kid: 'rs-1' }, { kid: 'rs-1' }, { kid: 'es-2' });
    expect(provideSigningKeys(folder, false)).toEqual({});
    expect(existsSync(keysFileIn(folder))).toBe(false);
    const text = printed.join('\n');
    expect(text).toContain(
      '✗ Programs ask for signing keys that are not here: rs-1 (2 installations), es-2 (1',
    );
    expect(text).toContain(keysFileIn(folder));
    expect(text).toContain('--new-signing-keys');
  });

  it('a start makes other keys when it is told to', () => {
    const folder = newFolder({ kid: 'rs-1' });
    const keys = provideSigningKeys(folder, true);
    expect(Object.keys(keys)).toEqual(['SIGNING_KEY_1', 'SIGNING_KEY_2']);
    expect(readFileSync(keysFileIn(folder), 'utf8')).toContain('SIGNING_KEY_1=');
    expect(printed.join('\n')).toContain('rs-1 (1 installation)');
  });

  it('a start uses the keys that are there, and names the one that is missing', () => {
    const folder = newFolder({ kid: 'rs-1' });
    writeKey(folder);
    expect(Object.keys(provideSigningKeys(folder, false))).toEqual(['SIGNING_KEY_1']);
    expect(printed).toEqual([expect.stringContaining('rs-1 (1 installation)')]);
    expect(Object.keys(provideSigningKeys(folder, true))).toEqual(['SIGNING_KEY_1']);
    expect(printed.at(-1)).toContain('--new-signing-keys is ignored');
  });
});

it('a start with all keys in use reports nothing, also not a key that was retired', () => {
  const folder = newFolder({ kid: 'es-retired', lastSeenAt: NOW - 31 * DAY_MS });
  use(folder, { kid: writeKey(folder) });
  expect(reportMissingKeys(folder)).toBe(false);
  expect(printed).toEqual([]);
});

it('a first start makes keys, and says where', () => {
  const folder = newFolder();
  expect(Object.keys(provideSigningKeys(folder, false))).toHaveLength(2);
  expect(printed).toEqual([`✓ Signing keys were made, in ${keysFileIn(folder)}`]);
});

it('a restore names the keys that did not come with the backup', async () => {
  const file = databaseFile(newFolder({ kid: 'rs-1' }));
  const folder = ownFolder();
  const args = [...argsOfScript('restore'), file, '--persist-to', folder];
  const { code, output } = await watch(spawn(process.execPath, args)).ended;
  expect(output).toContain('✗ Programs ask for signing keys that are not here: rs-1');
  expect(output).toContain(`npm start -- --persist-to ${folder}`);
  expect(code).toBe(0);
});
