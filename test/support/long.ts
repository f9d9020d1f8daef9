/**
 * Whether the long forms run, too: `LICET_LONG=1`, and each week in CI. These are the files `*.long.test.ts`, and more
 * rows, runs, seeds and cases of some tests. In the Worker it is `env.IS_LONG`.
 */
export const isLong = Boolean(process.env.LICET_LONG);
