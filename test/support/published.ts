import { env } from 'cloudflare:workers';
import { expect } from 'vitest';
import { type License, settled } from './client.ts';

/**
 * Resolves when every change is in KV, which happens after the response. The policy of the migration is left
 * out: the scheduled handler publishes it.
 */
export async function isAllPublished(): Promise<void> {
  await settled();
  const due = env.DB.prepare('select count(*) n from outbox where revision > 1');
  expect(await due.first('n')).toBe(0);
}

export const emptyOutbox = () => env.DB.prepare('delete from outbox').run();

export async function kvKeyOf({ licenseKey }: Pick<License, 'licenseKey'>): Promise<string> {
  return `license:${await sha256Hex(licenseKey)}`;
}

export const kvKeyOfToken = async (token: string): Promise<string> =>
  `token:${await sha256Hex(token)}`;

/** The SHA-256 of a text, by no code of the service. */
export async function sha256Hex(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return new Uint8Array(hash).toHex();
}

/** All keys and values of KV. */
export async function contentsOfKv(): Promise<Map<string, string>> {
  const { keys } = await env.SNAPSHOTS.list();
  const entries = await Promise.all(
    keys.map(async ({ name }) => [name, (await env.SNAPSHOTS.get(name)) ?? ''] as const),
  );
  return new Map(entries);
}

export async function emptyKv(): Promise<void> {
  const { keys } = await env.SNAPSHOTS.list();
  await Promise.all(keys.map(({ name }) => env.SNAPSHOTS.delete(name)));
}
