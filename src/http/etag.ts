import type { Context } from 'hono';
import { ApiError } from './errors';

/**
 * The ETag of an object is its revision: what an administrator or a binding changed. What moves by
 * itself is left out, or hardly an `If-Match` would hold: a license's `totalRequests`, its status as
 * the clock has it, and its customer, who has a revision of their own.
 */
export const setETag = (c: Context, row: { revision: number }): void =>
  c.header('ETag', `"${row.revision}"`);

/**
 * Answers 412 unless the request's `If-Match`, where it has one, fits the revision. A weak tag
 * fits too: Cloudflare weakens the tags of answers that it compresses.
 */
export function checkIfMatch(c: Context, row: { revision: number }): void {
  const header = c.req.header('If-Match');
  if (header === undefined || header.trim() === '*') return;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (!tags.includes(`"${row.revision}"`)) {
    throw new ApiError(412, 'The object has changed since it was read');
  }
}
