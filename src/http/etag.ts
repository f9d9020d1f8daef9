import type { Context } from 'hono';
import { ApiError } from './errors.ts';

/**
 * Responds with an object and its ETag: its revision, which grows with each change by an administrator or a
 * binding. A license's `totalRequests`, expiry and customer do not change it. Otherwise an `If-Match` would hardly
 * ever match.
 */
export const objectResponse = (c: Context, row: { revision: number }, object: object): Response =>
  c.json(object, 200, { ETag: `"${row.revision}"` });

/** Responds with a new object of a resource, with its ETag and its address. */
export const createdResponse = (
  c: Context,
  resource: string,
  row: { id: number; revision: number },
  object: object,
): Response =>
  c.json(object, 201, {
    ETag: `"${row.revision}"`,
    Location: `/api/v2/${resource}/${row.id}`,
  });

/**
 * Checks an `If-Match`, if the request has one. A weak tag matches too: Cloudflare weakens the tags of
 * responses that it compresses.
 *
 * @throws ApiError 412 if no tag matches the revision
 */
export function checkIfMatch(sent: string | undefined, row: { revision: number }): void {
  if (sent === undefined || sent.trim() === '*') return;
  const tags = sent.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (!tags.includes(`"${row.revision}"`)) {
    throw new ApiError(412, 'The object has changed since it was read');
  }
}
