import type { Replacement } from './bundle.ts';

/** A bug that somebody could write. */
export interface SeededFault {
  name: string;
  replacements: readonly Replacement[];
  /** What the first line of the violation says. */
  brokenInvariant: RegExp;
  /** Where it takes many runs to meet it: a seed with which it takes few. */
  seed?: number;
}

const claim = 'src/validation/claim.ts';
const record = 'src/validation/record.ts';
const validate = 'src/validation/validate.ts';

/** What was looked up is taken from memory for a while. */
const remembering = (milliseconds: number): Replacement[] => [
  {
    file: validate,
    from: '...(await lookUp(db, request, context.connectingAddress))',
    to: '...(await remembered(request, () => lookUp(db, request, context.connectingAddress)))',
  },
  {
    file: validate,
    from: "import { claim } from './claim';",
    to: `import { claim } from './claim';
      const memory = new Map();
      const remembered = async (request, load) => {
        const { licenseKey, productId, ip, hwid } = request;
        const key = JSON.stringify([licenseKey, productId, ip, hwid]);
        const held = memory.get(key);
        if (held && Date.now() - held.at < ${milliseconds}) return held.found;
        const found = await load();
        memory.set(key, { found, at: Date.now() });
        return found;
      };`,
  },
];

/**
 * Bugs that the model test must find, so that its invariants are known to fail. To add one: the file,
 * a piece of it that occurs once, what it becomes, and which invariant breaks.
 */
export const SEEDED_FAULTS: readonly SeededFault[] = [
  {
    name: 'a claim without its condition',
    brokenInvariant: /exceed/,
    replacements: [
      {
        file: claim,
        from: 'where not exists (\n',
        to: 'where 1 = 0 and not exists (\n',
      },
    ],
  },
  {
    name: 'a claim that does not look at the state',
    brokenInvariant: /Bound, but refused/,
    replacements: [
      {
        file: claim,
        from: "and l.state = 'ACTIVE'",
        to: '',
      },
    ],
  },
  {
    name: 'a claim that does not look at the expiry',
    brokenInvariant: /Bound, but refused/,
    replacements: [{ file: claim, from: 'and (l.expires_at is null or', to: 'and (true or' }],
  },
  {
    name: 'a decision that the claim does not change',
    brokenInvariant: /Stale or wrong/,
    replacements: [
      {
        file: validate,
        from: 'return { outcome: decide({ ...found, license }, request, now), license };',
        to: 'return { outcome, license };',
      },
    ],
  },
  {
    name: 'a record that is retried without its identity',
    brokenInvariant: /recorded twice/,
    replacements: [
      {
        file: record,
        from: 'await retry(RETRY_DELAYS_MS, async () => {',
        to: 'await retry(RETRY_DELAYS_MS, async () => { id = newRequestId(requestedAt);',
      },
    ],
  },
  {
    name: 'an id taken for the identity of a record',
    brokenInvariant: /not recorded/,
    replacements: [
      {
        file: record,
        from: '.where(and(hasId, eq(requests.nonce, row.nonce))),',
        to: '.where(hasId),',
      },
    ],
  },
  {
    name: 'a repeated record that is counted again',
    brokenInvariant: /counts \d+ requests/,
    replacements: [
      {
        file: record,
        from: '.where(and(countsFor, notExists(taken))),',
        to: '.where(countsFor),',
      },
    ],
  },
  {
    name: 'a record that is written once',
    brokenInvariant: /not recorded/,
    replacements: [
      {
        file: record,
        from: '[100, 400, 1_500, 5_000, 12_000]',
        to: '[]',
      },
    ],
  },
  {
    name: 'a record that nothing keeps alive',
    brokenInvariant: /not recorded/,
    replacements: [
      {
        file: 'src/api/validate.ts',
        from: 'c.executionCtx.waitUntil(',
        to: 'void Promise.resolve(',
      },
    ],
  },
  {
    name: 'a change that overwrites others',
    brokenInvariant: /was not asked to change/,
    replacements: [
      {
        file: 'src/licenses/queries.ts',
        from: 'const asRead = and(eq(licenses.id, id), eq(licenses.revision, revision));',
        to: 'const asRead = and(eq(licenses.id, id));',
      },
    ],
  },
  {
    name: 'a revoked token that lives on',
    brokenInvariant: /Stale or wrong/,
    replacements: [
      {
        file: 'src/auth/tokens.ts',
        from: ', isNull(tokens.revokedAt)',
        to: '',
      },
    ],
  },
  {
    name: 'a memory that the isolate trusts for 30 seconds, whatever it changes itself',
    brokenInvariant: /Stale or wrong/,
    replacements: remembering(30_000),
  },
  {
    name: 'a memory that is trusted for 90 seconds',
    brokenInvariant: /Stale or wrong/,
    replacements: remembering(90_000),
  },
];
