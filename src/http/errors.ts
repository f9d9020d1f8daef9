import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** An error response. The message is for the client and contains no secrets [7]. */
export class ApiError extends Error {
  readonly status: ContentfulStatusCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ContentfulStatusCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** 503 for a request that was not admitted (1.6). */
export const BUSY = new ApiError(503, 'Service is busy, try again', { 'Retry-After': '2' });

export const notFound = (name: string): ApiError => new ApiError(404, `${name} not found`);
