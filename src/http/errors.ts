import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** An answer that refuses; the message is for the client and holds nothing secret [7]. */
export class ApiError extends Error {
  constructor(
    readonly status: ContentfulStatusCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** 404 for an object that does not exist. */
export const notFound = (what: string): ApiError => new ApiError(404, `${what} not found`);
