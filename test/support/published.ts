import { env } from 'cloudflare:workers';
import { expect, vi } from 'vitest';

/** Resolves when all that has changed is in KV: it is put there after the answer. */
export const isAllPublished = () =>
  vi.waitFor(async () => {
    const due = env.DB.prepare(
      'select count(*) n from changes where published_revision < revision',
    );
    expect(await due.first('n')).toBe(0);
  });
