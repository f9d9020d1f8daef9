import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** JSON that ends with a line feed, so that a terminal shows its prompt on a new line (3). */
export const jsonResponse = (
  c: Context,
  value: unknown,
  status: ContentfulStatusCode = 200,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  c.body(`${JSON.stringify(value)}\n`, status, { 'Content-Type': 'application/json', ...headers });
