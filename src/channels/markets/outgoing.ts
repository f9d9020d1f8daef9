import type { Outbound } from '../../lib/outbound.ts';
import { type Json, parseObject } from './json.ts';

/** Requests to the APIs of markets. */

const MAX_RESPONSE_BYTES = 256 * 1024;

const isOfToken = (status: number): boolean => status === 401 || status === 403;

/** A market that responds with an error. */
class MarketError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The market returned ${status}${isOfToken(status) ? ': check the API token' : ''}`);
    this.status = status;
  }
}

/** Whether a market does not accept a request, and would not accept it again. */
export const isRefusedBy = (error: unknown): boolean =>
  error instanceof MarketError && error.status >= 400 && error.status < 500 && error.status !== 429;

/** Whether a market does not accept the token. */
export const isWrongToken = (error: unknown): boolean =>
  error instanceof MarketError && isOfToken(error.status);

/** Sends a request. @throws Error if it fails */
export async function fetchJson(
  outbound: Pick<Outbound, 'send'>,
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
): Promise<Json> {
  const result = await outbound.send(url, { ...init, maxBytes: MAX_RESPONSE_BYTES });
  if ('error' in result) throw new Error(result.error);
  const json = parseObject(result.body);
  if (result.status !== 200 || !json) throw new MarketError(result.status);
  return json;
}
