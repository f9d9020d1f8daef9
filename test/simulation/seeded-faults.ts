import type { ChangeName } from './changes.ts';
import type { SceneName } from './commands.ts';
import type { Replacements } from './modules.ts';
import { IDLE_DAY_MS } from './truth.ts';

/** A plausible bug. */
export interface SeededFault {
  name: string;
  /** Matches the first line of the violation. */
  broken: RegExp;
  /** A seed that meets the bug in few runs; 1 unless set. */
  seed?: number;
  /** The scene of each run, if random commands take too many runs to meet the bug. */
  scene?: SceneName;
  /** How the scene ends a license. It is deactivated unless set. */
  revocation?: ChangeName;
  replacements: Replacements;
}

const STALE = /Stale or wrong/;
const UNHEALED = /After quiet/;
const UNRECORDED = /was not recorded/;

/**
 * Bugs that the simulation must find, which proves that its invariants can fail. The README explains how to
 * add one.
 */
export const SEEDED_FAULTS: readonly SeededFault[] = [
  // Slots
  {
    name: 'a binding without its condition [1.4.1, 1.4.9, 1.4.10]',
    broken: /exceed/,
    seed: 12,
    replacements: {
      'src/validation/bind.ts': [['bound < max as is_free', 'true as is_free']],
    },
  },
  {
    name: 'a binding that does not check the state [1.4.7]',
    broken: /Bound, but refused/,
    scene: 'revoked before a binding',
    replacements: { 'src/validation/bind.ts': [["and l.state = 'ACTIVE'", '']] },
  },

  // Idle slots
  {
    name: 'a take-over by a clock that is two days ahead',
    broken: /a slot in use/,
    seed: 6,
    scene: 'an idle slot',
    replacements: {
      'src/validation/bind.ts': [['when idle_at <', `when idle_at - ${2 * IDLE_DAY_MS} <`]],
    },
  },
  {
    name: 'a take-over that does not check when the slot is idle',
    broken: /a slot in use/,
    seed: 12,
    scene: 'an idle slot',
    replacements: { 'src/validation/bind.ts': [['when idle_at <', 'when 0 <']] },
  },
  {
    name: 'uses that do not count',
    broken: /a slot in use/,
    scene: 'an idle slot',
    replacements: {
      'src/resources/licenses/slot-uses.ts': [
        ["union all select 'IP', null, ip, null, null, used_at from uses", ''],
      ],
    },
  },
  {
    name: 'an idle slot that nobody can take over',
    broken: STALE,
    seed: 12,
    scene: 'an idle slot',
    replacements: { 'src/validation/bind.ts': [['when idle_at <', 'when 0 >']] },
  },

  // Moves
  {
    name: 'a move beyond the budget',
    broken: /moved too often/,
    scene: 'taken over',
    replacements: {
      'src/resources/licenses/take-over.ts': [['if (left === 0)', 'if (left === -1)']],
    },
  },
  {
    name: 'a move that does not check whether the license has changed since',
    broken: /moved too often|A move freed|exceed|was not requested/,
    scene: 'taken over',
    replacements: {
      'src/resources/licenses/queries.ts': [
        ['when: [isUnchanged(licenses, row), ...when],', 'when: [...when],'],
      ],
    },
  },

  // First use
  {
    name: 'an expiry that is started twice',
    broken: /Bound, but refused|moved an expiry/,
    scene: 'a first use',
    replacements: {
      'src/validation/bind.ts': [['      expiresAfterDays: null,\n', '']],
    },
  },
  {
    name: 'an expiry that a refused validation starts',
    broken: /Bound, but refused/,
    scene: 'a first use',
    replacements: {
      'src/validation/bind.ts': [['<> -1 and not exists (', '= -1 and not exists (']],
    },
  },

  // Freshness
  {
    name: 'snapshots that are fresh for ten minutes [1.5.2]',
    broken: STALE,
    seed: 5,
    scene: 'revoked elsewhere',
    replacements: {
      'src/cache/snapshot-cache.ts': [['const FRESH_MS = 30_000;', 'const FRESH_MS = 600_000;']],
    },
  },
  {
    name: 'KV reads that a location may cache for ten minutes [1.5.5]',
    broken: STALE,
    seed: 12,
    scene: 'revoked elsewhere',
    replacements: {
      'src/cache/publisher.ts': [['const KV_CACHE_SECONDS = 30;', 'const KV_CACHE_SECONDS = 600;']],
    },
  },
  {
    name: 'snapshots of KV that are older than the one in memory [1.5.8]',
    broken: STALE,
    scene: 'KV is behind memory',
    seed: 2,
    replacements: {
      'src/cache/snapshot-cache.ts': [
        ['Math.max(this.#lowestOf(key), held)', 'this.#lowestOf(key)'],
      ],
    },
  },
  {
    name: 'a read of the primary that a change has overtaken [1.5.8]',
    broken: STALE,
    scene: 'revoked while it is read',
    seed: 18,
    revocation: 'delete a license',
    replacements: {
      'src/cache/snapshot-cache.ts': [
        ['if (now > lowest && revisionOf(value) < now) continue;', ''],
      ],
    },
  },
  {
    name: 'a change that its own isolate does not evict [1.5.1]',
    broken: STALE,
    scene: 'revoked while it is read',
    replacements: { 'src/db/change.ts': [['caches.invalidate([...touched, ...adds]);', '']] },
  },
  {
    name: 'a comparison that repairs nothing [1.5.6]',
    broken: STALE,
    scene: 'KV is late',
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
    name: 'a revoked token that is accepted [3.2.9]',
    broken: STALE,
    scene: 'revoked elsewhere',
    revocation: 'revoke a token',
    replacements: {
      'src/auth/tokens.ts': [['revokedAt === null && (expiresAt', '(expiresAt']],
    },
  },

  // Publishing
  {
    name: 'a publish without the revision check [1.5.8]',
    broken: UNHEALED,
    scene: 'changed twice',
    seed: 2,
    replacements: {
      'src/cache/publisher.ts': [
        ['subject, isCurrent)', 'subject, sql`true`)'],
        ['if (isCurrent && !own.isAskedAgain) return value;', 'return value;'],
      ],
    },
  },
  {
    name: 'a scheduled handler that publishes nothing [1.5.8]',
    broken: UNHEALED,
    scene: 'a crash after a change',
    replacements: {
      'src/cache/caches.ts': [['await cache?.publish(key, { retries: 0 });', '']],
    },
  },
  {
    name: 'a late put of a publisher that was cut off, and no read repair [1.5.6]',
    broken: /After quiet|Stale or wrong/,
    scene: 'a late put',
    seed: 36,
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
    name: 'records that are repeated under another identity [1.6.1]',
    broken: /recorded twice/,
    scene: 'lost messages',
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
    name: 'a failed batch that is dropped [1.6.1]',
    broken: UNRECORDED,
    scene: 'lost messages',
    seed: 2,
    replacements: {
      'src/requests/batch-writer.ts': [
        [
          'if (this.#pending.has(item)) this.#pending.set(item, null);',
          'this.#pending.delete(item);',
        ],
      ],
    },
  },

  // Administrators
  {
    name: 'a change that overwrites others',
    broken: /was not requested/,
    scene: 'changed at once',
    replacements: {
      'src/db/change.ts': [
        ['and(eq(table.id, id), eq(table.revision, revision))', 'eq(table.id, id)'],
      ],
    },
  },

  // Webhooks
  {
    name: 'an event without its deliveries',
    broken: /No delivery of/,
    replacements: {
      'src/db/change.ts': [['event ? [channels.storeDeliveries(db, now)] : []', '[]']],
    },
  },
  {
    name: 'a delivery without a lease that nobody attempts',
    broken: /Delivered, but not received/,
    replacements: {
      'src/channels/webhooks/outgoing.ts': [['nextAt: sql`ifnull(', 'nextAt: sql`max(']],
    },
  },
  {
    name: 'a lease that is shorter than an attempt',
    broken: /Two attempts at once/,
    seed: 17,
    replacements: {
      'src/channels/webhooks/outgoing.ts': [['LEASE_MS = MINUTE_MS', 'LEASE_MS = 2_000']],
    },
  },
  {
    name: 'a claim without a lease',
    broken: /Two attempts at once/,
    seed: 3,
    replacements: {
      'src/channels/webhooks/store.ts': [['nextAt: now + LEASE_MS,', 'nextAt: now,']],
      // A run knows what it has under way: only another one would find no lease.
      'src/channels/webhooks/deliverer.ts': [['...underWay, ', '']],
    },
  },
  {
    name: 'a failed attempt that counts as a success',
    broken: /Delivered, but not received/,
    replacements: {
      'src/channels/webhooks/attempt.ts': [['status >= 200 && status < 300', 'status >= 200']],
    },
  },
  {
    name: 'a failed attempt without another one',
    broken: /Given up early/,
    replacements: {
      'src/lib/retries.ts': [['RETRY_DELAYS_MS[step]', 'RETRY_DELAYS_MS[99]']],
    },
  },
];
