import { parseBoolean } from './boolean-setting.ts';

const TIMEOUT_MS = 10_000;

export type OutboundResult = { durationMs: number } & (
  | { status: number; headers: Headers; body: string }
  | { error: string }
);

/** Requests to addresses that a person has entered (8). */
export class Outbound {
  readonly #fetcher: Pick<Fetcher, 'fetch'>;
  readonly #isPrivateAllowed: boolean;

  constructor({ OUTBOUND, OUTBOUND_PRIVATE }: { OUTBOUND?: Fetcher; OUTBOUND_PRIVATE?: string }) {
    this.#fetcher = OUTBOUND ?? globalThis;
    this.#isPrivateAllowed = OUTBOUND !== undefined && parseBoolean(OUTBOUND_PRIVATE) === true;
  }

  faultOf(url: string, _ownHost: string): string | undefined {
    if (this.#isPrivateAllowed || url.startsWith('https://')) return undefined;
    return 'must begin with https://';
  }

  async send(
    url: string,
    { headers, body }: { headers: Record<string, string>; body: string },
  ): Promise<OutboundResult> {
    const startedAt = Date.now();
    try {
      const response = await this.#fetcher.fetch(url, {
        method: 'POST',
        headers,
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = (await response.text()).slice(0, 4096);
      return {
        status: response.status,
        headers: response.headers,
        body: text,
        durationMs: Date.now() - startedAt,
      };
    } catch (error) {
      return {
        error: error instanceof Error && error.name === 'TimeoutError' ? 'timeout' : 'connection',
        durationMs: Date.now() - startedAt,
      };
    }
  }
}
