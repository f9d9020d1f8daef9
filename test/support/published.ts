import { env } from 'cloudflare:workers';
import { expect, vi } from 'vitest';
import type { License } from './client';

/** Resolves when all that has changed is in KV: it is put there after the answer. */
export const isAllPublished = () =>
  vi.waitFor(async () => {
    const due = env.DB.prepare(
      'select count(*) n from changes where not is_published',
    );
    expect(await due.first('n')).toBe(0);
  });

/** Makes the log what it is in a shop that has run for a while: what has changed was put, and holds. */
export const settleLog = () =>
  env.DB.batch([
    env.DB.prepare('update changes set is_published = true'),
    env.DB.prepare('delete from changes where seq < (select max(seq) from changes)'),
  ]);

/** Under which KV has a license. */
export async function kvKeyOf({ licenseKey }: License): Promise<string> {
  return `license:${await sha256Hex(licenseKey)}`;
}

export async function sha256Hex(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return new Uint8Array(hash).toHex();
}
