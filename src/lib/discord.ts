import { parseJson } from '@licet/contract/json';
import { retryAfterMs } from './retry-after.ts';

/** The rules of Discord that hold for its webhooks, roles and commands. */

/** Foreign text, in which Discord finds no formatting, no link and no mention. */
export const escapeMarkdown = (text: string): string =>
  text.replace(/[\\*_~`|>#\-[\]()<:@]/g, '\\$&');

interface Response {
  headers: Headers;
  body: string;
}

/**
 * The pause for which a limit asks, in milliseconds. Cloudflare's limit in front of Discord sets only `Retry-After`.
 *
 * @param now milliseconds since 1970
 */
export function limitMs({ headers, body }: Response, now: number): number | undefined {
  const { retry_after: seconds }: { retry_after?: unknown } = Object(parseJson(body));
  return typeof seconds === 'number' ? Math.ceil(seconds * 1000) : retryAfterMs(headers, now);
}
