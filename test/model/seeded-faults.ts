import type { Replacement } from './bundle.ts';
import {
  type Command,
  type Revoked,
  restoration,
  revoke,
  validation,
  weatherAt,
} from './commands.ts';

/** A bug that somebody could write. */
export interface SeededFault {
  name: string;
  /** What the first line of the violation says. */
  broken: RegExp;
  /** A seed with which few runs are enough to meet it; 1 unless given. */
  seed?: number;
  /** What happens in each of its worlds, where what happens at random takes many to meet it. */
  commands?: readonly Command[];
  replacements: readonly Replacement[];
}

const STALE = /Stale or wrong/;
const WRONG_IN_KV = /^KV has/;
const UNRECORDED = /was not recorded/;

const LICENSES: readonly [Revoked, Revoked] = [
  { license: 0, address: 0, how: 'deactivate' },
  { license: 1, address: 1, how: 'deactivate' },
];
const DELETED: Revoked = { license: 0, address: 0, how: 'delete' };
const TOKEN: Revoked = { license: 0, address: 0, how: 'revoke' };
const BLACKLIST: Revoked = { license: 0, address: 0, how: 'block' };

/** A license is deleted while it is read from a slow database, and asked for again and again. */
const deletedWhileRead = ({
  slowSeconds,
  afterMs,
  askedEveryMs,
}: Record<'slowSeconds' | 'afterMs' | 'askedEveryMs', number>): Command[] =>
  Array.from({ length: 10 }, () => DELETED).flatMap((license) => [
    restoration(license, { pauseMs: 5_000, isolate: 0 }),
    // By then the reader has slept, and has to ask the database.
    validation(license, { pauseMs: 70_000, isolate: 1 }),
    ...weatherAt(0, 'the database is slow', slowSeconds),
    validation(license, { pauseMs: 0, isolate: 0 }),
    revoke(license, { pauseMs: afterMs, isolate: 0 }),
    ...Array.from({ length: 12 }, () => validation(license, { pauseMs: askedEveryMs, isolate: 0 })),
  ]);

/** What is valid is revoked elsewhere, and tried again when no copy of it may be believed any more. */
const REVOKED_ELSEWHERE: readonly Command[] = LICENSES.flatMap((license) => [
  restoration(license, { pauseMs: 2_000, isolate: 0 }),
  validation(license, { pauseMs: 2_000, isolate: 0 }),
  revoke(license, { pauseMs: 2_000, isolate: 1 }),
  validation(license, { pauseMs: 75_000, isolate: 0 }),
]);

/** Five minutes after a put somebody looks whether it holds, which would heal the fault before it. */
const nobodyLooksAgain: Replacement = {
  file: 'src/edge/publish.ts',
  from: 'if (published) return published.revision === revision;',
  to: 'if (published) return true;',
};

/**
 * Bugs that the model test must find, so that its invariants are known to fail. To add one: the file,
 * a piece of it that occurs once, what it becomes, and which invariant breaks.
 */
export const SEEDED_FAULTS: readonly SeededFault[] = [
  // Slots
  {
    name: 'a claim without its condition',
    broken: /exceed/,
    replacements: [
      {
        file: 'src/validation/claim.ts',
        from: 'where not exists (\n',
        to: 'where false and not exists (\n',
      },
    ],
  },
  {
    name: 'a claim that does not look at the state',
    broken: /Bound, but refused/,
    seed: 11,
    replacements: [{ file: 'src/validation/claim.ts', from: "and l.state = 'ACTIVE'", to: '' }],
  },
  {
    name: 'a claim that does not look at the expiry',
    broken: /Bound, but refused/,
    replacements: [
      {
        file: 'src/validation/claim.ts',
        from: 'and (l.expires_at is null or',
        to: 'and (true or',
      },
    ],
  },
  {
    name: 'a decision that the claim does not change',
    broken: STALE,
    replacements: [
      {
        file: 'src/validation/validate.ts',
        from: 'return { outcome: decide({ ...facts, license: claimed }, request, now), license: claimed };',
        to: 'return { outcome, license: claimed };',
      },
    ],
  },
  {
    name: 'a binding that is no change of the license',
    broken: WRONG_IN_KV,
    replacements: [
      {
        file: 'src/validation/claim.ts',
        from: 'licenses.revision} + 1`',
        to: 'licenses.revision}`',
      },
    ],
  },

  // Freshness
  {
    name: 'copies that are believed for 90 seconds',
    broken: STALE,
    commands: REVOKED_ELSEWHERE,
    replacements: [
      {
        file: 'src/edge/feed.ts',
        from: 'const IN_TOUCH_MS = 50_000;',
        to: 'const IN_TOUCH_MS = 90_000;',
      },
    ],
  },
  {
    name: 'copies that are believed for ever',
    broken: STALE,
    commands: REVOKED_ELSEWHERE,
    replacements: [
      {
        file: 'src/edge/feed.ts',
        from: 'return performance.now() - this.#readAt < IN_TOUCH_MS;',
        to: 'return true;',
      },
    ],
  },
  {
    name: 'copies in KV that are believed whatever the log says',
    broken: STALE,
    replacements: [
      {
        file: 'src/edge/store.ts',
        from: 'return value && this.isCurrent(key, value) ? value : null;',
        to: 'return value;',
      },
    ],
  },
  {
    name: 'an older copy that takes the place of a newer one',
    broken: STALE,
    seed: 4,
    // Quicker than the answer that is on its way.
    commands: deletedWhileRead({ slowSeconds: 1, afterMs: 1_100, askedEveryMs: 500 }),
    replacements: [
      {
        file: 'src/edge/store.ts',
        from: 'if (!this.isCurrent(key, value)) return;',
        to: '',
      },
    ],
  },
  {
    name: 'a load that began before a change and is given to who came after it',
    broken: STALE,
    commands: deletedWhileRead({ slowSeconds: 8, afterMs: 0, askedEveryMs: 50 }),
    replacements: [
      {
        file: 'src/edge/store.ts',
        from: 'if (shared && (shared.isOwn || this.isCurrent(key, shared.result.value))) return shared.result;',
        to: 'if (shared) return shared.result;',
      },
      {
        file: 'src/validation/validate.ts',
        from: 'if (!edge.licenses.isCurrent(key, license)) license',
        to: 'if (false) license',
      },
    ],
  },
  {
    name: 'a change that its own isolate does not hear of',
    broken: STALE,
    replacements: [
      {
        file: 'src/edge/edge.ts',
        from: 'const news = await inTime(selectChanges(this.db, from), DATABASE_PATIENCE_MS);',
        to: 'const news: Change[] = []; return [];',
      },
    ],
  },
  {
    name: 'an isolate that believes its copies though it could not ask after its change',
    broken: STALE,
    // The change gets through, and what is asked after it does not.
    commands: Array.from({ length: 5 }, () => LICENSES).flatMap((licenses) =>
      licenses.flatMap((license) => [
        restoration(license, { pauseMs: 12_000, isolate: 0 }),
        validation(license, { pauseMs: 2_000, isolate: 0 }),
        revoke(license, { pauseMs: 2_000, isolate: 0 }),
        ...weatherAt(0, 'messages of the database get lost', 8),
        ...Array.from({ length: 4 }, () => validation(license, { pauseMs: 1_000, isolate: 0 })),
      ]),
    ),
    replacements: [
      {
        file: 'src/edge/edge.ts',
        from: '} catch {\n      this.feed.loseTouch(hasChanged);',
        to: '} catch {',
      },
    ],
  },
  {
    name: 'a revoked token that lives on',
    broken: STALE,
    replacements: [
      {
        file: 'src/auth/tokens.ts',
        from: 'found.revokedAt === null && (',
        to: '(',
      },
    ],
  },

  // Copies
  {
    name: 'a publish without the revision check, where nobody looks again',
    broken: WRONG_IN_KV,
    seed: 2,
    replacements: [
      {
        file: 'src/db/changes.ts',
        from: 'and(eq(changes.subject, subject), eq(changes.revision, revision ?? 0))',
        to: 'eq(changes.subject, subject)',
      },
      {
        file: 'src/edge/publish.ts',
        from: 'if (!hasOverwritten && !own.again) return;',
        to: 'return;',
      },
      nobodyLooksAgain,
    ],
  },
  {
    name: 'readers that fill KV, where nobody looks again',
    broken: WRONG_IN_KV,
    seed: 2,
    // What is read over a slow line is put when it has long changed elsewhere.
    commands: [
      ...weatherAt(1, 'the database is slow', 30),
      ...weatherAt(3, 'the database is slow', 30),
      validation(TOKEN, { pauseMs: 0, isolate: 1 }),
      validation(TOKEN, { pauseMs: 0, isolate: 3 }),
      revoke(TOKEN, { pauseMs: 100, isolate: 0 }),
      revoke(BLACKLIST, { pauseMs: 0, isolate: 0 }),
    ],
    replacements: [
      {
        file: 'src/edge/store.ts',
        from: 'if (wasInTouch && this.#publisher.isWorking()) afterAnswer(this.publish(key));',
        to: `afterAnswer(
          this.#kind
            .kvKey(key)
            .then((kvKey) => this.#kv.put(kvKey, this.#kind.encode(value)))
            .catch(() => undefined),
        );`,
      },
      nobodyLooksAgain,
    ],
  },
  {
    name: 'a put of a publisher that was cut off, and nobody looks again',
    broken: WRONG_IN_KV,
    // What one has on its way for long is changed by another, and then the first is no more.
    commands: [
      ...weatherAt(0, 'KV is slow', 8),
      ...LICENSES.map((license) => restoration(license, { pauseMs: 0, isolate: 0 })),
      revoke({ ...BLACKLIST, address: 1 }, { pauseMs: 0, isolate: 0 }),
      { type: 'change a token', token: 0, canValidate: true, pauseMs: 0, isolate: 0 },
      ...[...LICENSES, TOKEN, BLACKLIST].map((what, index) =>
        revoke(what, { pauseMs: index === 0 ? 200 : 0, isolate: 1 }),
      ),
      { type: 'crash', pauseMs: 1_000, isolate: 0 },
    ],
    replacements: [nobodyLooksAgain],
  },
  {
    name: 'a scheduled handler that publishes nothing',
    broken: WRONG_IN_KV,
    replacements: [
      {
        file: 'src/edge/edge.ts',
        from: 'await this.publish(await findUnpublished(this.db, MAX_PUBLISHED));',
        to: '',
      },
    ],
  },

  // History
  {
    name: 'records that are repeated without their identity',
    broken: /recorded twice/,
    replacements: [
      {
        file: 'src/requests/write.ts',
        from: 'const ids = new Set<number>();',
        to: 'rows = rows.map((row) => withIdentity(row, Date.now())); const ids = new Set<number>();',
      },
    ],
  },
  {
    name: 'an id that is taken for the identity of a record',
    broken: UNRECORDED,
    replacements: [
      {
        file: 'src/requests/write.ts',
        from: 'return others.filter(({ nonce }) => !nonces.has(nonce));',
        to: 'return [];',
      },
    ],
  },
  {
    name: 'a repeated record that is counted again',
    broken: /counts \d+ requests/,
    replacements: [
      {
        file: 'src/requests/write.ts',
        from: 'and not exists (select 1 from requests where id = ',
        to: 'and not exists (select 1 from requests where false and id = ',
      },
    ],
  },
  {
    name: 'a group that fails and is dropped',
    broken: UNRECORDED,
    seed: 12,
    replacements: [
      {
        file: 'src/edge/groups.ts',
        from: 'this.#setWaiting([...this.#waiting, ...group]);',
        to: '',
      },
    ],
  },
  {
    name: 'a record that nothing keeps alive',
    broken: UNRECORDED,
    replacements: [
      {
        file: 'src/validation/record.ts',
        from: '  afterAnswer(edge.records',
        to: '  void Promise.resolve(edge.records',
      },
    ],
  },
  {
    name: 'records that the queue did not take are dropped',
    broken: UNRECORDED,
    seed: 3,
    replacements: [
      {
        file: 'src/edge/edge.ts',
        from: 'await this.#store(group, afterAnswer);\n      return;',
        to: 'return;',
      },
    ],
  },
  {
    name: 'a message of the queue that is acknowledged unwritten',
    broken: UNRECORDED,
    // Where the messages come the database is out of reach, unlike where they are from.
    commands: [
      ...[1, 3].flatMap((isolate) => weatherAt(isolate, 'the database cannot be reached', 30)),
      ...LICENSES.map((license) => validation(license, { pauseMs: 0, isolate: 0 })),
      validation(LICENSES[0], { pauseMs: 25_000, isolate: 0 }),
    ],
    replacements: [
      {
        file: 'src/edge/queue.ts',
        from: 'message.retry({ delaySeconds: Math.min(MAX_DELAY_SECONDS, delaySeconds) });',
        to: 'message.ack();',
      },
    ],
  },

  // Administrators
  {
    name: 'a change that overwrites others',
    broken: /was not asked to change|KV has license/,
    commands: LICENSES.flatMap(({ license }) => [
      { type: 'change a license', license, change: { maxIPs: 3 }, pauseMs: 1_000, isolate: 0 },
      { type: 'change a license', license, change: { maxHWIDs: 3 }, pauseMs: 0, isolate: 1 },
    ]),
    replacements: [
      {
        file: 'src/licenses/queries.ts',
        from: 'const asRead = and(eq(licenses.id, id), eq(licenses.revision, revision));',
        to: 'const asRead = and(eq(licenses.id, id));',
      },
    ],
  },
];
