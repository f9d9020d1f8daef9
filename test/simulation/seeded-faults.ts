import {
  type Command,
  faultAt,
  type Revoked,
  restoration,
  revoke,
  validation,
} from './commands.ts';
import type { Replacements } from './modules.ts';

/** A plausible bug. */
export interface SeededFault {
  name: string;
  /** Matches the first line of the violation. */
  broken: RegExp;
  /** A seed that meets the bug in few runs; 1 unless set. */
  seed?: number;
  /** The commands of each run, if random commands take too many runs to meet the bug. */
  commands?: readonly Command[];
  replacements: Replacements;
}

const STALE = /Stale or wrong/;
const WRONG_IN_KV = /^KV has/;
const UNRECORDED = /was not recorded/;

const LICENSES: readonly [Revoked, Revoked] = [
  { license: 0, address: 0, how: 'deactivate' },
  { license: 1, address: 1, how: 'deactivate' },
];
const DELETED: Revoked = { license: 0, address: 0, how: 'delete' };

/** A license is deleted while it is read from a slow database, between many validations. */
const deletedWhileRead = ({
  slowSeconds,
  afterMs,
  repeatMs,
}: Record<'slowSeconds' | 'afterMs' | 'repeatMs', number>): Command[] =>
  Array.from({ length: 10 }, () => DELETED).flatMap((license) => [
    restoration(license, { pauseMs: 5_000, isolate: 0 }),
    // By then snapshots in memory are stale, and KV cannot help.
    ...faultAt(0, 'KV cannot be reached', 200),
    validation(license, { pauseMs: 70_000, isolate: 1 }),
    ...faultAt(0, 'the database is slow', slowSeconds),
    validation(license, { pauseMs: 0, isolate: 0 }),
    revoke(license, { pauseMs: afterMs, isolate: 0 }),
    ...Array.from({ length: 12 }, () => validation(license, { pauseMs: repeatMs, isolate: 0 })),
  ]);

/** A license is revoked elsewhere, and validated again when KV shows the revocation everywhere. */
const REVOKED_ELSEWHERE: readonly Command[] = LICENSES.flatMap((license) => [
  restoration(license, { pauseMs: 2_000, isolate: 0 }),
  validation(license, { pauseMs: 2_000, isolate: 0 }),
  revoke(license, { pauseMs: 2_000, isolate: 1 }),
  validation(license, { pauseMs: 200_000, isolate: 0 }),
]);

/** KV shows a revoked license for minutes. No stale response may follow the first comparison. */
const KV_IS_LATE: readonly Command[] = Array.from({ length: 4 }, () => LICENSES[0]).flatMap(
  (license) => [
    restoration(license, { pauseMs: 100_000, isolate: 0 }),
    validation(license, { pauseMs: 5_000, isolate: 0 }),
    { type: 'crash', pauseMs: 100_000, isolate: 3 },
    ...faultAt(0, 'KV shows writes late', 30),
    revoke(license, { pauseMs: 1_000, isolate: 0 }),
    ...Array.from({ length: 6 }, () => validation(license, { pauseMs: 12_000, isolate: 3 })),
  ],
);

/** An isolate reads a change from D1 during an outage of KV, and then KV still shows the state before. */
const KV_IS_BEHIND_MEMORY: readonly Command[] = Array.from(
  { length: 4 },
  () => LICENSES[0],
).flatMap((license) => [
  restoration(license, { pauseMs: 100_000, isolate: 0 }),
  validation(license, { pauseMs: 5_000, isolate: 0 }),
  { type: 'crash', pauseMs: 100_000, isolate: 3 },
  ...faultAt(0, 'KV shows writes late', 30),
  revoke(license, { pauseMs: 1_000, isolate: 0 }),
  ...faultAt(3, 'KV cannot be reached', 8),
  validation(license, { pauseMs: 2_000, isolate: 3 }),
  // From memory, just before the snapshot is looked up again.
  validation(license, { pauseMs: 29_500, isolate: 3 }),
  validation(license, { pauseMs: 3_000, isolate: 3 }),
]);

/** A binding is published late, after the license has changed, and its publisher is cut off. */
const PUT_LATE: readonly Command[] = [
  ...LICENSES.map((license) => restoration(license, { pauseMs: 1_000, isolate: 3 })),
  ...faultAt(0, 'KV is slow', 8),
  ...LICENSES.map((license) =>
    validation({ ...license, address: 3 }, { pauseMs: 3_000, isolate: 0 }),
  ),
  ...LICENSES.map((license) => revoke(license, { pauseMs: 300, isolate: 1 })),
  { type: 'crash', pauseMs: 300, isolate: 0 },
];

/** A license is changed in two places at once, while KV is hard to write. */
const CHANGED_TWICE: readonly Command[] = Array.from({ length: 8 }, () => LICENSES).flatMap(
  (licenses): Command[] => [
    ...faultAt(0, 'KV is slow', 8),
    ...licenses.map((license) => restoration(license, { pauseMs: 0, isolate: 0 })),
    ...licenses.map((license) => revoke(license, { pauseMs: 100, isolate: 1 })),
    { type: 'run the scheduled handler', pauseMs: 15_000, isolate: 3 },
  ],
);

/** Rows that cold isolates read at the primary are changed elsewhere before they are put into KV. */
const CHANGED_WHILE_READ: readonly Command[] = [
  ...Array.from(
    { length: 6 },
    (): Command => ({
      type: 'create a license',
      pauseMs: 100,
      isolate: 0,
      product: 0,
      maxIPs: 3,
      maxHWIDs: -1,
      lifeSeconds: null,
    }),
  ),
  ...Array.from({ length: 8 }, (_, license) => ({ ...LICENSES[0], license })).flatMap(
    (license): Command[] => [
      restoration(license, { pauseMs: 20_000, isolate: 0 }),
      { type: 'crash', pauseMs: 20_000, isolate: 1 },
      { type: 'crash', pauseMs: 0, isolate: 3 },
      ...[1, 3].flatMap((isolate) => [
        ...faultAt(isolate, 'messages of KV get lost', 1),
        ...faultAt(isolate, 'KV is slow', 8),
        validation(license, { pauseMs: 0, isolate }),
      ]),
      revoke(license, { pauseMs: 150, isolate: 0 }),
    ],
  ),
];

/** Values are bound in several places at once, while KV is hard to write. */
const BOUND_TWICE: readonly Command[] = [
  ...LICENSES.map((license) => restoration(license, { pauseMs: 1_000, isolate: 3 })),
  ...[0, 1, 3].flatMap((isolate) => faultAt(isolate, 'KV is slow', 30)),
  ...LICENSES.flatMap((license): Command[] =>
    [0, 1, 2, 3].map((isolate) =>
      validation({ ...license, address: isolate + 1 }, { pauseMs: isolate * 400, isolate }),
    ),
  ),
];

/** Two administrators change different fields of a license at once. */
const CHANGED_AT_ONCE: readonly Command[] = LICENSES.flatMap(({ license }): Command[] => [
  { type: 'change a license', license, change: { maxIPs: 3 }, pauseMs: 1_000, isolate: 0 },
  { type: 'change a license', license, change: { maxHWIDs: 3 }, pauseMs: 0, isolate: 1 },
]);

/**
 * Bugs that the simulation must find, which proves that its invariants can fail. The README explains how to
 * add one.
 */
export const SEEDED_FAULTS: readonly SeededFault[] = [
  // Slots
  {
    name: 'a binding without its condition',
    broken: /exceed/,
    seed: 3,
    replacements: {
      'src/validation/bind.ts': [['where not exists (\n', 'where false and not exists (\n']],
    },
  },
  {
    name: 'a binding that does not check the state',
    broken: /Bound, but refused/,
    seed: 6,
    replacements: { 'src/validation/bind.ts': [["and l.state = 'ACTIVE'", '']] },
  },
  {
    name: 'a binding that does not check the expiry',
    broken: /Bound, but refused/,
    seed: 11,
    replacements: { 'src/validation/bind.ts': [['l.expires_at`, now', 'l.expires_at`, 0']] },
  },
  {
    name: 'a decision that the binding does not change',
    broken: STALE,
    seed: 3,
    replacements: {
      'src/validation/decide.ts': [
        ['const decided = decideOn(bound,', 'const decided = decideOn(snapshots,'],
      ],
    },
  },
  {
    name: 'a binding that is no change of the license',
    broken: WRONG_IN_KV,
    seed: 58,
    commands: BOUND_TWICE,
    replacements: {
      'src/validation/bind.ts': [
        ['revision: nextRevisionSql(licenses.revision, now)', 'revision: licenses.revision'],
      ],
    },
  },

  // Freshness
  {
    name: 'snapshots that are fresh for ten minutes',
    broken: STALE,
    commands: REVOKED_ELSEWHERE,
    replacements: {
      'src/cache/snapshot-cache.ts': [['const FRESH_MS = 30_000;', 'const FRESH_MS = 600_000;']],
    },
  },
  {
    name: 'KV reads that a location may cache for ten minutes',
    broken: STALE,
    commands: LICENSES.flatMap((license) => [
      restoration(license, { pauseMs: 2_000, isolate: 0 }),
      validation(license, { pauseMs: 2_000, isolate: 0 }),
      validation(license, { pauseMs: 100_000, isolate: 3 }),
      revoke(license, { pauseMs: 2_000, isolate: 1 }),
      validation(license, { pauseMs: 200_000, isolate: 3 }),
    ]),
    replacements: {
      'src/cache/publisher.ts': [['const KV_CACHE_SECONDS = 30;', 'const KV_CACHE_SECONDS = 600;']],
    },
  },
  {
    name: 'snapshots of KV that are known to be stale',
    broken: STALE,
    seed: 3,
    replacements: {
      'src/cache/snapshot-cache.ts': [
        ['if (published && this.#isAcceptable(key, published)) {', 'if (published) {'],
      ],
    },
  },
  {
    name: 'snapshots of KV that are older than the one in memory',
    broken: STALE,
    seed: 2,
    commands: KV_IS_BEHIND_MEMORY,
    replacements: {
      'src/cache/snapshot-cache.ts': [
        ['Math.max(this.#lowestOf(key), held)', 'this.#lowestOf(key)'],
      ],
    },
  },
  {
    name: 'a read of the primary that a change has overtaken',
    broken: STALE,
    seed: 4,
    commands: deletedWhileRead({ slowSeconds: 1, afterMs: 300, repeatMs: 500 }),
    replacements: {
      'src/cache/snapshot-cache.ts': [
        ['if (now > lowest && revisionOf(value) < now) continue;', ''],
      ],
    },
  },
  {
    name: 'a change that its own isolate does not evict',
    broken: STALE,
    replacements: { 'src/db/change.ts': [['caches.invalidate([...touched, ...adds]);', '']] },
  },
  {
    name: 'a comparison that repairs nothing',
    broken: STALE,
    seed: 2,
    commands: KV_IS_LATE,
    replacements: {
      'src/cache/caches.ts': [
        ['if (use) waitUntil(', 'if (!use) waitUntil('],
        [
          'this.#caches.repair(use.found, revision ?? undefined, use.usedAt)',
          'Promise.resolve(revision)',
        ],
      ],
    },
  },
  {
    name: 'a revoked token that is accepted',
    broken: STALE,
    seed: 2,
    replacements: {
      'src/auth/tokens.ts': [['revokedAt === null && (expiresAt', '(expiresAt']],
    },
  },

  // Publishing
  {
    name: 'a publish without the revision check',
    broken: WRONG_IN_KV,
    commands: CHANGED_TWICE,
    replacements: {
      'src/cache/publisher.ts': [
        ['subject, isCurrent)', 'subject, sql`true`)'],
        ['if (isCurrent && !own.isAskedAgain) return value;', 'return value;'],
      ],
    },
  },
  {
    name: 'a publish of a row read before, without the revision check',
    broken: WRONG_IN_KV,
    seed: 60,
    commands: CHANGED_WHILE_READ,
    replacements: {
      'src/cache/publisher.ts': [['if (isCurrent && !own', 'if ((isCurrent || row) && !own']],
    },
  },
  {
    name: 'readers that fill KV',
    broken: WRONG_IN_KV,
    seed: 7,
    commands: CHANGED_WHILE_READ,
    replacements: {
      'src/cache/snapshot-cache.ts': [
        ['if ((isMissing || isStale) && this.canPublish()) {', 'if (value) {'],
        [
          'waitUntil(this.publish(key, value ? { row: value } : {}));',
          'waitUntil(this.#publisher?.fill(key, value) ?? Promise.resolve());',
        ],
      ],
      'src/cache/publisher.ts': [
        [
          '  async #read(key: string)',
          `  async fill(key: string, value: Value): Promise<void> {
          const kvKey = await this.#type.kvKey(key);
          await this.#kv.namespace.put(kvKey, this.#type.encode(value)).catch(() => undefined);
        }
        async #read(key: string)`,
        ],
      ],
    },
  },
  {
    name: 'a scheduled handler that publishes nothing',
    broken: WRONG_IN_KV,
    replacements: {
      'src/cache/caches.ts': [['await cache?.publish(key, { retries: 0 });', '']],
    },
  },
  {
    name: 'a late put of a publisher that was cut off, and no read repair',
    broken: /^KV has|Stale or wrong/,
    seed: 6,
    commands: PUT_LATE,
    replacements: {
      'src/cache/snapshot-cache.ts': [
        ['if (isSpread(next, usedAt) && this.canPublish()) await this.publish(key);', ''],
        [
          'if ((isMissing || isStale) && this.canPublish()) {',
          'if (isMissing && this.canPublish()) {',
        ],
      ],
    },
  },

  // History
  {
    name: 'records that are repeated under another identity',
    broken: /recorded twice/,
    seed: 3,
    replacements: {
      'src/requests/recorder.ts': [
        [
          'const records = recordings.flatMap(({ record }) => record ?? []);\n    const { statements',
          `const records = recordings.flatMap(({ record }) =>
          record ? [{ ...record, nonce: Math.floor(Math.random() * 32_768) }] : []);
        const { statements`,
        ],
      ],
    },
  },
  {
    name: 'a failed batch that is dropped',
    broken: UNRECORDED,
    seed: 12,
    replacements: {
      'src/requests/batch-writer.ts': [
        [
          'if (this.#pending.has(item)) this.#pending.set(item, null);',
          'this.#pending.delete(item);',
        ],
      ],
    },
  },
  {
    name: 'a record without waitUntil',
    broken: UNRECORDED,
    replacements: {
      'src/requests/batch-writer.ts': [
        ['waitUntil(this.#writeAll(waitUntil));', 'void this.#writeAll(waitUntil);'],
      ],
    },
  },
  {
    name: 'records that the queue did not take are dropped',
    broken: UNRECORDED,
    seed: 41,
    replacements: { 'src/requests/recorder.ts': [['return false;', 'return true;']] },
  },
  {
    name: 'a message of the queue that is acknowledged unwritten',
    broken: UNRECORDED,
    // The database is unreachable where the messages are delivered, and reachable where they are sent.
    commands: [
      ...[1, 3].flatMap((isolate) => faultAt(isolate, 'the database cannot be reached', 30)),
      ...LICENSES.map((license) => validation(license, { pauseMs: 0, isolate: 0 })),
      validation(LICENSES[0], { pauseMs: 25_000, isolate: 0 }),
    ],
    replacements: {
      'src/requests/queue.ts': [
        [
          'delivered.retry({ delaySeconds: Math.min(MAX_DELAY_SECONDS, delaySeconds) });',
          'delivered.ack();',
        ],
      ],
    },
  },

  // Administrators
  {
    name: 'a change that overwrites others',
    broken: /was not requested|KV has license/,
    commands: CHANGED_AT_ONCE,
    replacements: {
      'src/db/change.ts': [
        ['and(eq(table.id, id), eq(table.revision, revision))', 'eq(table.id, id)'],
      ],
    },
  },
];
