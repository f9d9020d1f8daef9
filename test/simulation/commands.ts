import fc from 'fast-check';

/** The commands of a simulation, as data: fast-check generates and shrinks them. */

/** The time between the start of the command before and this one. No command waits for another to end. */
interface Paced {
  pauseMs: number;
  /** The number of an isolate, or of its successor after a crash. */
  isolate: number;
}

/** Numbers of licenses, tokens and blacklist entries are modulo the number of those that exist. */
export type Command = Paced &
  (
    | {
        type: 'validate';
        /** Null for a key that no license has. */
        license: number | null;
        isForOtherProduct: boolean;
        /** Numbers of addresses. Null sends no address, so the connecting one counts. */
        ip: number | null;
        connectingAddress: number;
        hwid: number | null;
        /** Null for v1, which needs no token. */
        token: number | null;
      }
    /** Requests at once from as many addresses, in one isolate after the other. */
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
    | { type: 'fault'; fault: Fault; location: number; seconds: number }
    | { type: 'crash' }
    | { type: 'run the scheduled handler' }
  );

export type LicenseChange =
  | { licenseStatus: 'ACTIVE' | 'DEACTIVATED' }
  | { maxIPs: number }
  | { maxHWIDs: number }
  | { free: 'ips' | 'hwids' }
  /** The license expires after this. */
  | { lifeSeconds: number }
  /** The license becomes active and permanent, for up to three addresses. */
  | { isRestored: true };

const FAULTS = [
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
export type Fault = (typeof FAULTS)[number];

const number = fc.nat(7);
const limit = fc.constantFrom(-1, 0, 1, 1, 2, 2, 3);
const lifeSeconds = fc.constantFrom(0, 20, 70, 200);
const seconds = fc.constantFrom(1, 2, 8, 30, 90, 200);
const orNull = <Value>(value: fc.Arbitrary<Value>, frequency: number) =>
  fc.option(value, { freq: frequency });

const isolate = fc.nat(3);

/** Mostly so short that commands overlap, sometimes so long that everything has settled. */
const pauseMs = fc.oneof(
  { weight: 6, arbitrary: fc.nat(15) },
  { weight: 4, arbitrary: fc.nat(300) },
  { weight: 3, arbitrary: fc.integer({ min: 300, max: 10_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 10_000, max: 58_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 61_000, max: 150_000 }) },
);

/** Few licenses, for commands to meet. */
const license = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: number },
);

/** Actions of a type, with the weight with which they are chosen. */
const actions = <Type extends string, Fields>(
  weight: number,
  type: Type,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
) => ({ weight, arbitrary: fc.record(fields).map((chosen) => ({ type, ...chosen })) });

const change = fc.oneof(
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
);

const action = fc.oneof(
  actions(14, 'validate', {
    license: orNull(license, 12),
    isForOtherProduct: fc.integer({ min: 0, max: 11 }).map((value) => value === 11),
    ip: orNull(number, 4),
    connectingAddress: number,
    hwid: orNull(fc.nat(2), 2),
    token: fc.oneof(
      { weight: 3, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.nat(1) },
    ),
  }),
  actions(4, 'validate in a burst', {
    license,
    count: fc.integer({ min: 2, max: 6 }),
    hwid: orNull(fc.nat(2), 2),
  }),
  actions(1, 'create a license', {
    product: fc.nat(1),
    maxIPs: limit,
    maxHWIDs: limit,
    lifeSeconds: orNull(lifeSeconds, 1),
  }),
  actions(7, 'change a license', { license, change }),
  actions(1, 'delete a license', { license: number }),
  actions(3, 'block', { value: number, product: orNull(fc.nat(1), 1) }),
  actions(2, 'unblock', { entry: number }),
  actions(1, 'create a token', {}),
  actions(2, 'change a token', { token: fc.nat(1), canValidate: fc.boolean() }),
  actions(1, 'revoke a token', { token: fc.nat(1) }),
  actions(4, 'fault', { fault: fc.constantFrom(...FAULTS), location: fc.nat(3), seconds }),
  actions(1, 'crash', {}),
  actions(1, 'run the scheduled handler', {}),
);

const command: fc.Arbitrary<Command> = fc
  .tuple(fc.record({ pauseMs, isolate }), action)
  .map(([paced, what]) => ({ ...paced, ...what }));

/** The changes after which a valid license is rejected. */
const REVOCATIONS = ['deactivate', 'delete', 'expire', 'free', 'block', 'revoke'] as const;

/** A valid license and address, and the change that ends it. */
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
      // The first entries of both lists have the same addresses.
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

/** A fault in the location of an isolate; none for null. */
export const faultAt = (isolate: number, fault: Fault | null, seconds: number): Command[] =>
  fault === null ? [] : [{ type: 'fault', pauseMs: 0, isolate, fault, location: isolate, seconds }];

/** A validation, a revocation elsewhere, and another validation at once or about a minute later. */
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

/** A revocation in the isolate that validates, between validations. */
const revokedHere = fc
  .record({
    what: revoked,
    isolate,
    fault: fc.constantFrom(
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
  .map(({ what, isolate, fault, pausesMs, after }): Command[] => [
    restoration(what, { pauseMs: 300, isolate }),
    ...faultAt(isolate, fault, 8),
    ...pausesMs.flatMap((pauseMs, index) => {
      const asked = validation(what, { pauseMs: index === 0 ? 1_000 : pauseMs, isolate });
      return index === after ? [asked, revoke(what, { pauseMs: 0, isolate })] : [asked];
    }),
  ]);

/**
 * Changes of a license in two places at once while KV is hard to write. One of the isolates may crash before
 * it publishes again.
 */
const publishedTwice = fc
  .record({
    what: revoked,
    first: isolate,
    second: isolate,
    fault: fc.constantFrom<Fault>('KV is slow', 'KV fails writes', 'KV cannot be reached'),
    seconds: fc.constantFrom(8, 30, 90),
    pauseMs: fc.nat(2_000),
    crashMs: fc.option(fc.nat(4_000)),
  })
  .map(({ what, first, second, fault, seconds, pauseMs, crashMs }): Command[] => [
    ...faultAt(first, fault, seconds),
    ...faultAt(second, fault, seconds),
    restoration(what, { pauseMs: 1_500, isolate: first }),
    revoke(what, { pauseMs, isolate: second }),
    ...(crashMs === null ? [] : [{ pauseMs: crashMs, isolate: first, type: 'crash' } as const]),
  ]);

/**
 * The commands of a run: mostly random ones, and between them sequences that random commands rarely meet.
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
