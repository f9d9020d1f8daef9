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
  | { lifeSeconds: number }
  /** Whatever was done to it before, it validates for up to three addresses. */
  | { isRestored: true };

const WEATHERS = [
  'the database cannot be reached',
  'messages of the database get lost',
  'the database is slow',
  'KV cannot be reached',
  'messages of KV get lost',
  'KV is slow',
  'KV fails writes',
  'KV shows writes late',
  'the queue cannot be reached',
  'messages of the queue get lost',
  'rate limiters fail',
] as const;
export type Weather = (typeof WEATHERS)[number];

const number = fc.nat(7);
const limit = fc.constantFrom(-1, 0, 1, 1, 2, 2, 3);
const lifeSeconds = fc.constantFrom(0, 20, 70, 200);
const seconds = fc.constantFrom(1, 2, 8, 30, 90, 200);
const orNull = <Value>(value: fc.Arbitrary<Value>, frequency: number) =>
  fc.option(value, { freq: frequency });

const isolate = fc.nat(3);

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
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('weather' as const),
      weather: fc.constantFrom(...WEATHERS),
      location: fc.nat(3),
      seconds,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('crash' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('run the scheduled handler' as const) }),
  },
);

const command: fc.Arbitrary<Command> = fc
  .tuple(fc.record({ pauseMs, isolate }), happening)
  .map(([paced, what]) => ({ ...paced, ...what }));

/** What makes an answer wrong that was right. */
const REVOCATIONS = ['deactivate', 'delete', 'expire', 'free', 'block', 'revoke'] as const;

/** What was valid, for whom, and how it ends. */
export interface Revoked {
  license: number;
  address: number;
  how: (typeof REVOCATIONS)[number];
}

const revoked: fc.Arbitrary<Revoked> = fc.record({
  license: fc.nat(1),
  address: fc.nat(1),
  how: fc.constantFrom(...REVOCATIONS, 'deactivate'),
});

export function revoke({ license, address, how }: Revoked, paced: Paced): Command {
  switch (how) {
    case 'deactivate':
      return {
        ...paced,
        type: 'change a license',
        license,
        change: { licenseStatus: 'DEACTIVATED' },
      };
    case 'expire':
      return { ...paced, type: 'change a license', license, change: { lifeSeconds: 0 } };
    case 'free':
      return { ...paced, type: 'change a license', license, change: { free: 'ips' } };
    case 'delete':
      return { ...paced, type: 'delete a license', license };
    case 'block':
      // The first entries of the two lists hold the same addresses.
      return { ...paced, type: 'block', value: address, product: null };
    case 'revoke':
      return { ...paced, type: 'revoke a token', token: 0 };
  }
}

export const validation = ({ license, address, how }: Revoked, paced: Paced): Command => ({
  ...paced,
  type: 'validate',
  license,
  isForOtherProduct: false,
  ip: null,
  connectingAddress: address,
  hwid: null,
  token: how === 'revoke' ? 0 : null,
});

export const restoration = ({ license }: Revoked, paced: Paced): Command => ({
  ...paced,
  type: 'change a license',
  license,
  change: { isRestored: true },
});

/** Bad weather where an isolate is, or none. */
export const weatherAt = (isolate: number, weather: Weather | null, seconds: number): Command[] =>
  weather === null
    ? []
    : [{ type: 'weather', pauseMs: 0, isolate, weather, location: isolate, seconds }];

/** What validates somewhere is revoked somewhere else; then, or about a minute later, it is tried. */
const revokedElsewhere = fc
  .record({
    what: revoked,
    reader: isolate,
    writer: isolate,
    pauseMs: fc.integer({ min: 300, max: 3_000 }),
    delayMs: fc.nat(20_000),
    waitMs: fc.oneof(fc.integer({ min: 40_000, max: 110_000 }), fc.nat(5_000)),
    /** Another address has to take a slot first. */
    isForOther: fc.boolean(),
  })
  .map(({ what, reader, writer, pauseMs, delayMs, waitMs, isForOther }): Command[] => [
    restoration(what, { pauseMs, isolate: reader }),
    validation(what, { pauseMs: 2_000, isolate: reader }),
    revoke(what, { pauseMs: delayMs, isolate: writer }),
    validation(isForOther ? { ...what, address: what.address + 2 } : what, {
      pauseMs: waitMs,
      isolate: reader,
    }),
  ]);

/** What validates is revoked in the same isolate, while it is being read there. */
const revokedHere = fc
  .record({
    what: revoked,
    isolate,
    weather: fc.constantFrom(
      null,
      'the database is slow' as const,
      'messages of the database get lost' as const,
      'KV is slow' as const,
    ),
    pausesMs: fc.array(fc.oneof(fc.nat(20), fc.nat(200), fc.nat(400), fc.nat(3_000)), {
      minLength: 4,
      maxLength: 8,
    }),
    after: fc.constantFrom(0, 0, 0, 1, 2),
  })
  .map(({ what, isolate, weather, pausesMs, after }): Command[] => [
    restoration(what, { pauseMs: 300, isolate }),
    ...weatherAt(isolate, weather, 8),
    ...pausesMs.flatMap((pauseMs, index) => {
      const asked = validation(what, { pauseMs: index === 0 ? 1_000 : pauseMs, isolate });
      return index === after ? [asked, revoke(what, { pauseMs: 0, isolate })] : [asked];
    }),
  ]);

/**
 * A license is changed in two places at once while copies are hard to write; and one of them may not
 * live to do it again.
 */
const publishedTwice = fc
  .record({
    what: revoked,
    first: isolate,
    second: isolate,
    weather: fc.constantFrom<Weather>('KV is slow', 'KV fails writes', 'KV cannot be reached'),
    seconds: fc.constantFrom(8, 30, 90),
    pauseMs: fc.nat(2_000),
    crashMs: fc.option(fc.nat(4_000)),
  })
  .map(({ what, first, second, weather, seconds, pauseMs, crashMs }): Command[] => [
    ...weatherAt(first, weather, seconds),
    ...weatherAt(second, weather, seconds),
    restoration(what, { pauseMs: 1_500, isolate: first }),
    revoke(what, { pauseMs, isolate: second }),
    ...(crashMs === null ? [] : [{ pauseMs: crashMs, isolate: first, type: 'crash' } as const]),
  ]);

/**
 * All that happens in a world: mostly anything, with stories between that need several things to meet.
 * What else happens may get in their way.
 */
export const commands: fc.Arbitrary<Command[]> = fc
  .array(
    fc.oneof(
      { weight: 24, arbitrary: command.map((single) => [single]) },
      { weight: 2, arbitrary: revokedElsewhere },
      { weight: 3, arbitrary: revokedHere },
      { weight: 2, arbitrary: publishedTwice },
    ),
    { minLength: 8, maxLength: 32, size: 'max' },
  )
  .map((stories) => stories.flat());
