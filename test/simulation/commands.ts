import fc from 'fast-check';
import type { ChangeName } from './changes.ts';
import type { LinkFault } from './network.ts';

/** The commands of a simulation, as data: fast-check generates and shrinks them. */

export type Service = 'D1' | 'KV' | 'LIMITER';

/** Numbers of licenses, tokens, addresses and others are modulo the number of those that exist. */
export type Command = {
  /** The time since the start of the command before. No command waits for another to end. */
  pauseMs: number;
  /** The number of an isolate, or of its successor after a crash. */
  isolate: number;
} & (
  | {
      type: 'validate';
      /** Null for a key that no license has. */
      license: number | null;
      isForOtherProduct?: boolean;
      address: number;
      /** An address that is sent in the body; null for none. */
      ip: number | null;
      hwid: number | null;
      takesOver?: boolean;
      /** Null for v1, which needs no token. */
      token: number | null;
      /** Requests at once from as many addresses, in one isolate after the other. */
      count: number;
    }
  | { type: 'change'; change: ChangeName; target: number; value: number }
  | { type: 'fault'; fault: readonly [Service, LinkFault]; seconds: number }
  | { type: 'crash' }
  | { type: 'run the scheduled handler' }
);

/** A valid license and address, and the change that ends it. */
interface Revoked {
  license: number;
  address: number;
  how: ChangeName;
}

const revoke = ({ license, address, how }: Revoked, pauseMs: number, isolate: number): Command => {
  const target = how === 'block' || how === 'revoke a token' ? 0 : license;
  return {
    type: 'change',
    change: how,
    target,
    value: how === 'block' ? address : 0,
    pauseMs,
    isolate,
  };
};

const restore = ({ license }: Revoked, pauseMs: number, isolate: number): Command => ({
  type: 'change',
  change: 'restore',
  target: license,
  value: 0,
  pauseMs,
  isolate,
});

const validate = (
  { license, address, how }: Revoked,
  pauseMs: number,
  isolate: number,
): Command => ({
  type: 'validate',
  license,
  address,
  ip: null,
  hwid: null,
  token: how === 'revoke a token' ? 0 : null,
  count: 1,
  pauseMs,
  isolate,
});

const fault = (isolate: number, service: Service, what: LinkFault, seconds: number): Command => ({
  type: 'fault',
  fault: [service, what],
  seconds,
  pauseMs: 0,
  isolate,
});

const change = (name: ChangeName, target: number, value: number): Command => ({
  type: 'change',
  change: name,
  target,
  value,
  pauseMs: 2_000,
  isolate: 0,
});

const times = <Item>(count: number, make: (index: number) => Item[]): Item[] =>
  Array.from({ length: count }, (_, index) => make(index)).flat();

/** Sequences that random commands rarely meet. */
export const SCENES = {
  /** The license is revoked elsewhere, and validated again when KV shows that everywhere. */
  'revoked elsewhere': (what) => [
    restore(what, 2_000, 0),
    validate(what, 2_000, 0),
    revoke(what, 2_000, 1),
    validate(what, 100_000, 0),
  ],
  /** The license is revoked elsewhere, and another address binds itself where it still seems good. */
  'revoked before a binding': (what) => [
    restore(what, 2_000, 0),
    change('limit IPs', what.license, 4),
    change('free IPs', what.license, 0),
    validate(what, 2_000, 1),
    revoke(what, 2_000, 0),
    validate({ ...what, address: what.address + 1 }, 500, 1),
  ],
  /** The license is revoked while it is read from a slow database, between many validations. */
  'revoked while it is read': (what) => [
    restore(what, 5_000, 0),
    // By then snapshots in memory are stale, and KV cannot help.
    fault(0, 'KV', 'is cut', 200),
    validate(what, 70_000, 1),
    fault(0, 'D1', 'is slow', 1),
    validate(what, 0, 0),
    revoke(what, 300, 0),
    ...times(12, () => [validate(what, 500, 0)]),
  ],
  /** KV shows a revoked license for minutes. No stale response may follow the first comparison. */
  'KV is late': (what) => [
    restore(what, 100_000, 0),
    validate(what, 5_000, 0),
    { type: 'crash', pauseMs: 100_000, isolate: 3 },
    fault(0, 'KV', 'shows writes late', 30),
    revoke(what, 1_000, 0),
    ...times(6, () => [validate(what, 12_000, 3)]),
  ],
  /** An isolate reads the change from D1 during an outage of KV, which then shows the state before. */
  'KV is behind memory': (what) => [
    restore(what, 100_000, 0),
    validate(what, 5_000, 0),
    { type: 'crash', pauseMs: 100_000, isolate: 3 },
    fault(0, 'KV', 'shows writes late', 30),
    revoke(what, 1_000, 0),
    fault(3, 'KV', 'is cut', 8),
    validate(what, 2_000, 3),
    // From memory, just before the snapshot is looked up again.
    validate(what, 29_500, 3),
    validate(what, 3_000, 3),
  ],
  /** A binding is published late, after the license has changed, and its publisher is cut off. */
  'a late put': (what) => [
    restore(what, 1_000, 3),
    fault(0, 'KV', 'is slow', 8),
    validate({ ...what, address: 3 }, 3_000, 0),
    revoke(what, 300, 1),
    { type: 'crash', pauseMs: 300, isolate: 0 },
  ],
  /** The license is changed in two places at once, while KV is hard to write. */
  'changed twice': (what) => [
    fault(0, 'KV', 'is slow', 8),
    restore(what, 0, 0),
    revoke(what, 100, 1),
    { type: 'run the scheduled handler', pauseMs: 15_000, isolate: 3 },
  ],
  /** Two administrators change different fields of the license at once. */
  'changed at once': ({ license }) => [
    { type: 'change', change: 'limit IPs', target: license, value: 6, pauseMs: 1_000, isolate: 0 },
    { type: 'change', change: 'limit HWIDs', target: license, value: 6, pauseMs: 0, isolate: 1 },
  ],
  /** The isolate of a change crashes before it has published it. */
  'a crash after a change': (what) => [
    restore(what, 5_000, 0),
    validate(what, 5_000, 0),
    revoke(what, 5_000, 1),
    { type: 'crash', pauseMs: 100, isolate: 1 },
  ],
  /** A license with one address waits for its first use: another address is refused, then the bound one asks anywhere. */
  'a first use': (what) => [
    restore(what, 1_000, 0),
    change('free IPs', what.license, 0),
    validate(what, 2_000, 0),
    change('limit IPs', what.license, 2),
    change('expire later', what.license, 0),
    validate({ ...what, address: what.address + 1 }, 2_000, 1),
    ...times(4, (index) => [validate(what, 100, index)]),
  ],
  /** A license has one idle slot and one in use. Four new addresses ask for it at once. */
  'an idle slot': ({ address, how }) => {
    const first = { license: 2, address, how };
    const second = { ...first, address: address + 1 };
    return [
      restore(first, 2_000, 0),
      change('limit IPs', first.license, 4),
      change('free IPs', first.license, 0),
      validate(first, 2_000, 0),
      ...times(6, (index) => [validate(second, 20_000, index)]),
      { ...validate({ ...first, address: address + 2 }, 15_000, 0), count: 4 },
      // Its slot is taken, and no other is idle.
      validate(first, 40_000, 1),
    ];
  },
  /** A license with one address is full. Four others take it over at once, and then four again. */
  'taken over': (what) => [
    restore(what, 2_000, 0),
    change('free IPs', what.license, 0),
    change('limit IPs', what.license, 2),
    validate(what, 2_000, 0),
    ...times(2, () => [
      {
        ...validate({ ...what, address: what.address + 1 }, 2_000, 0),
        takesOver: true,
        count: 4,
      },
    ]),
  ],
  'lost messages': (what) => [
    fault(0, 'D1', 'loses messages', 8),
    ...times(8, () => [validate(what, 1_000, 0)]),
  ],
} satisfies Record<string, (what: Revoked) => Command[]>;

export type SceneName = keyof typeof SCENES;
const isScene = (name: string): name is SceneName => name in SCENES;
const sceneNames = Object.keys(SCENES).filter(isScene);

/** A scene again and again, with two licenses. */
export const sceneAlone = (name: SceneName, how: ChangeName = 'deactivate'): Command[] =>
  times(6, (index) => SCENES[name]({ license: index % 2, address: index % 2, how }));

const FAULTS: readonly (readonly [Service, LinkFault])[] = [
  ...(['D1', 'KV'] as const).flatMap((service) => [
    [service, 'is cut'] as const,
    [service, 'loses messages'] as const,
    [service, 'is slow'] as const,
  ]),
  ['KV', 'fails writes'],
  ['KV', 'shows writes late'],
  ['LIMITER', 'is cut'],
];

/** Mostly so short that commands overlap, sometimes so long that everything has settled. */
const pauseMs = fc.oneof(
  { weight: 6, arbitrary: fc.nat(15) },
  { weight: 4, arbitrary: fc.nat(300) },
  { weight: 3, arbitrary: fc.integer({ min: 300, max: 10_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 10_000, max: 58_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 61_000, max: 150_000 }) },
);
const isolate = fc.nat(3);
const number = fc.nat(7);
/** Few licenses, for commands to meet. */
const license = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 1, 1, 5);

const anyChange = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.constantFrom<ChangeName>(
      ...([
        'create a license',
        'restore',
        'expire',
        'expire later',
        'limit IPs',
        'limit HWIDs',
      ] as const),
      ...(['delete a license', 'create a token', 'revoke a token'] as const),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<ChangeName>(
      ...(['activate', 'deactivate', 'free IPs', 'free HWIDs'] as const),
      ...(['block', 'unblock', 'change a token'] as const),
    ),
  },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 18,
    arbitrary: fc.record({
      type: fc.constant('validate' as const),
      license: fc.option(license, { freq: 12 }),
      isForOtherProduct: fc.nat(11).map((value) => value === 11),
      address: number,
      ip: fc.option(number, { freq: 2 }),
      hwid: fc.option(fc.nat(2), { freq: 2 }),
      takesOver: fc.nat(7).map((value) => value === 7),
      token: fc.constantFrom(null, null, null, 0, 1),
      count: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 2, 4, 6),
      pauseMs,
      isolate,
    }),
  },
  {
    weight: 18,
    arbitrary: fc.record({
      type: fc.constant('change' as const),
      change: anyChange,
      target: license,
      value: number,
      pauseMs,
      isolate,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('fault' as const),
      fault: fc.constantFrom(...FAULTS),
      seconds: fc.constantFrom(1, 2, 8, 30, 90, 200),
      pauseMs,
      isolate,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom('crash' as const, 'run the scheduled handler' as const),
      pauseMs,
      isolate,
    }),
  },
);

/** A scene with random details: what is revoked, where, and how fast. */
const scene: fc.Arbitrary<Command[]> = fc
  .record({
    name: fc.constantFrom(...sceneNames),
    license: fc.nat(1),
    address: fc.nat(1),
    how: fc.constantFrom<ChangeName>(
      ...(['deactivate', 'deactivate', 'delete a license', 'expire'] as const),
      ...(['free IPs', 'block', 'revoke a token'] as const),
    ),
    firstIsolate: isolate,
    speed: fc.constantFrom(1, 1, 1.5, 2.5, 10),
  })
  .map(({ name, firstIsolate, speed, ...what }) =>
    SCENES[name](what).map((command) => ({
      ...command,
      isolate: (command.isolate + firstIsolate) % 4,
      pauseMs: Math.round(command.pauseMs / speed),
    })),
  );

/** The commands of a run. */
export const commands: fc.Arbitrary<Command[]> = fc
  .array(
    fc.oneof(
      { weight: 7, arbitrary: command.map((single) => [single]) },
      { weight: 2, arbitrary: scene },
    ),
    { minLength: 8, maxLength: 30, size: 'max' },
  )
  .map((parts) => parts.flat());
