/** Messages by which a client recognizes an error. */

/** The message for a session or a log-in under a name that is not the console's. */
export const WRONG_HOST =
  'The console does not log in at this address. Open the link of npm run licet -- console; behind a proxy, set PUBLIC_URL to the public address';
