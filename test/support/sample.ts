import { env } from 'cloudflare:workers';

/** Every nth of many cases that are alike; all of them in the long form. */
export const sampleOf = <Case>(cases: readonly Case[], nth: number): Case[] =>
  cases.filter((_, index) => env.IS_LONG || index % nth === 0);
