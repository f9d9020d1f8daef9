import fc from 'fast-check';

/** What can happen in a world, as data: fast-check makes it up and shrinks it. */

/** How long after the command before; then it begins, and nobody waits for its end. */
interface Paced {
  pauseMs: number;
  /** The number of an isolate, or of the one that took its place. */
  isolate: number;
}

/** Numbers of licenses, tokens and blacklist entries count those that exist, around and around. */
export type Command = Paced &
  (
    | {
        type: 'validate';
        /** Null asks for a key that no license has. */
        license: number | null;
        isForOtherProduct: boolean;
        /** Numbers of addresses; without one in the body the connecting one counts. */
        ip: number | null;
        connectingAddress: number;
        hwid: number | null;
        /** Null asks v1, which takes no token. */
        token: number | null;
      }
    /** At once, from as many addresses, one isolate after the other. */
    | { type: 'validate in a burst'; license: number; count: number; hwid: number | null }
    | {
        type: 'create a license';
        product: number;
        maxIPs: number;
        maxHWIDs: number;
        lifeSeconds: number | null;
      }
    | { type: 'change a license'; license: number; change: LicenseChange }
    | { type: 'delete a license'; license: number }
    | { type: 'block'; value: number; product: number | null }
    | { type: 'unblock'; entry: number }
    | { type: 'create a token' }
    | { type: 'change a token'; token: number; canValidate: boolean }
    | { type: 'revoke a token'; token: number }
    | { type: 'weather'; weather: Weather; location: number; seconds: number }
    | { type: 'crash' }
    | { type: 'run the scheduled handler' }
  );

export type LicenseChange =
  | { licenseStatus: 'ACTIVE' | 'DEACTIVATED' }
  | { maxIPs: number }
  | { maxHWIDs: number }
  | { free: 'ips' | 'hwids' }
  /** From then on it expires. */
  | { lifeSeconds: number };

const WEATHERS = [
  'the database cannot be reached',
  'messages of the database get lost',
  'KV cannot be reached',
  'messages of KV get lost',
  'KV fails writes',
  'the queue cannot be reached',
  'messages of the queue get lost',
  'rate limiters fail',
] as const;
export type Weather = (typeof WEATHERS)[number];

const number = fc.nat(7);
const limit = fc.constantFrom(-1, 0, 1, 1, 2, 2, 3);
const lifeSeconds = fc.constantFrom(1, 20, 70, 200);
const orNull = <Value>(value: fc.Arbitrary<Value>, frequency: number) =>
  fc.option(value, { freq: frequency });

/** Mostly so close that everything overlaps, sometimes so far apart that everything has settled. */
const pauseMs = fc.oneof(
  { weight: 6, arbitrary: fc.nat(15) },
  { weight: 4, arbitrary: fc.nat(300) },
  { weight: 3, arbitrary: fc.integer({ min: 300, max: 10_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 10_000, max: 58_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 61_000, max: 150_000 }) },
);

/** Few licenses, so that what happens meets. */
const license = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: number },
);

const validate = fc.record({
  type: fc.constant('validate' as const),
  license: orNull(license, 12),
  isForOtherProduct: fc.integer({ min: 0, max: 11 }).map((value) => value === 11),
  ip: orNull(number, 4),
  connectingAddress: number,
  hwid: orNull(fc.nat(2), 2),
  token: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(1) }),
});

const happening = fc.oneof(
  { weight: 14, arbitrary: validate },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('validate in a burst' as const),
      license,
      count: fc.integer({ min: 2, max: 6 }),
      hwid: orNull(fc.nat(2), 2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('create a license' as const),
      product: fc.nat(1),
      maxIPs: limit,
      maxHWIDs: limit,
      lifeSeconds: orNull(lifeSeconds, 1),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      type: fc.constant('change a license' as const),
      license,
      change: fc.oneof(
        {
          weight: 5,
          arbitrary: fc
            .constantFrom('ACTIVE' as const, 'DEACTIVATED' as const)
            .map((licenseStatus) => ({ licenseStatus })),
        },
        { weight: 2, arbitrary: limit.map((maxIPs) => ({ maxIPs })) },
        { weight: 1, arbitrary: limit.map((maxHWIDs) => ({ maxHWIDs })) },
        {
          weight: 3,
          arbitrary: fc.constantFrom('ips' as const, 'hwids' as const).map((free) => ({ free })),
        },
        { weight: 1, arbitrary: lifeSeconds.map((seconds) => ({ lifeSeconds: seconds })) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('delete a license' as const), license: number }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('block' as const),
      value: number,
      product: orNull(fc.nat(1), 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('unblock' as const), entry: number }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('create a token' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('change a token' as const),
      token: fc.nat(1),
      canValidate: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('revoke a token' as const), token: fc.nat(1) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('weather' as const),
      weather: fc.constantFrom(...WEATHERS),
      location: fc.nat(2),
      seconds: fc.constantFrom(1, 2, 8, 30, 90, 200),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('crash' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('run the scheduled handler' as const) }),
  },
);

export const command: fc.Arbitrary<Command> = fc
  .tuple(fc.record({ pauseMs, isolate: fc.nat(3) }), happening)
  .map(([paced, what]) => ({ ...paced, ...what }));
