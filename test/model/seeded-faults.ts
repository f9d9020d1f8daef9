import type { Replacement } from './bundle.ts';

/** A bug that somebody could write. */
export interface SeededFault {
  name: string;
  replacements: readonly Replacement[];
  /** What the first line of the violation says. */
  brokenInvariant: RegExp;
}

const fault = (
  name: string,
  brokenInvariant: RegExp,
  ...replacements: readonly Replacement[]
): SeededFault => ({ name, replacements, brokenInvariant });

const claim = 'src/validation/claim.ts';
const record = 'src/validation/record.ts';
const validate = 'src/validation/validate.ts';

/**
 * Bugs that the model test must find, so that its invariants are known to fail. To add one: the file,
 * a piece of it that occurs once, what it becomes, and which invariant breaks.
 */
export const SEEDED_FAULTS: readonly SeededFault[] = [
  fault('a claim without its condition', /exceed/, {
    file: claim,
    from: 'where not exists (\n',
    to: 'where 1 = 0 and not exists (\n',
  }),
  fault('a claim that does not look at the state', /Bound, but refused/, {
    file: claim,
    from: "and l.state = 'ACTIVE'",
    to: '',
  }),
  fault('a decision that the claim does not change', /Stale or wrong/, {
    file: validate,
    from: 'return { outcome: decide({ ...found, license }, request, now), license };',
    to: 'return { outcome, license };',
  }),
  fault('a record that is retried without its identity', /recorded twice/, {
    file: record,
    from: 'await retry(RETRY_DELAYS_MS, async () => {',
    to: 'await retry(RETRY_DELAYS_MS, async () => { id = newRequestId(requestedAt);',
  }),
  fault('an id taken for the identity of a record', /not recorded/, {
    file: record,
    from: '.where(and(hasId, eq(requests.nonce, row.nonce))),',
    to: '.where(hasId),',
  }),
  fault('a repeated record that is counted again', /counts \d+ requests/, {
    file: record,
    from: '.where(and(countsFor, notExists(taken))),',
    to: '.where(countsFor),',
  }),
  fault('a record that is written once', /not recorded/, {
    file: record,
    from: '[100, 400, 1_500, 5_000, 12_000]',
    to: '[]',
  }),
  fault('a record that nothing keeps alive', /not recorded/, {
    file: 'src/api/validate.ts',
    from: 'c.executionCtx.waitUntil(',
    to: 'void Promise.resolve(',
  }),
  fault('a change that overwrites others', /was not asked to change/, {
    file: 'src/licenses/queries.ts',
    from: 'const asRead = and(eq(licenses.id, id), eq(licenses.revision, revision));',
    to: 'const asRead = and(eq(licenses.id, id));',
  }),
  fault('a revoked token that lives on', /Stale or wrong/, {
    file: 'src/auth/tokens.ts',
    from: ', isNull(tokens.revokedAt)',
    to: '',
  }),
  fault(
    'a memory of the blacklist and licenses without an end',
    /Stale or wrong/,
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
        const key = JSON.stringify([request.licenseKey, request.productId, request.ip, request.hwid]);
        if (!memory.has(key)) memory.set(key, await load());
        return memory.get(key);
      };`,
    },
  ),
];
