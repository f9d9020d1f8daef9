import { isGlobal } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import { DATABASE_TIMEOUT_MS, withTimeout } from '../lib/async.ts';
import type { SlotKind } from '../resources/licenses/address-slots.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import { takeOver } from '../resources/licenses/take-over.ts';
import { type FullRefusal, type Services, senderOf, type WantedSlots } from '../services.ts';
import { bind, type IdleSlot } from './bind.ts';
import { type Circumstances, decideFrom, type FullTypes, type Outcome } from './decide.ts';
import type { Snapshots } from './find-snapshots.ts';
import type { ValidationRequest } from './request.ts';

/** A decision, and the snapshots that it was made on. */
export interface Decision {
  outcome: Outcome;
  snapshots: Snapshots;
  /** About slots that are or will be idle (7), for administrators alone. */
  remarks?: string | null;
}

/**
 * Decides in D1 if a decision on snapshots depends on slots or on the first use, unless this isolate has seen the license
 * full of such values just now.
 */
export function confirmSlots(
  services: Services,
  decision: Decision,
  request: ValidationRequest,
  circumstances: Circumstances,
): Decision | Promise<Decision> {
  const { outcome, snapshots } = decision;
  const license = snapshots.license.value;
  if (!license) return decision;
  if ('full' in outcome) {
    const wanted = wantedOf(outcome.full, request);
    const refusal = services.findFull(license, wanted, circumstances.requestedAt);
    if (refusal) return refuseFull(snapshots, outcome.full, refusal);
  } else if (outcome.responseType !== 'VALID' || !outcome.mustBeStored) return decision;
  const binding = bindSlots(services, license, snapshots, request, circumstances);
  return request.takesOver ? takeOverIfFull(services, binding, request, circumstances) : binding;
}

/** Moves a license whose slots are full to the machine of the request, and decides again (1.8). */
async function takeOverIfFull(
  services: Services,
  binding: Promise<Decision>,
  request: ValidationRequest,
  circumstances: Circumstances,
): Promise<Decision> {
  const decision = await binding;
  const { outcome, snapshots } = decision;
  const license = snapshots.license.value;
  if (!license || !('full' in outcome)) return decision;
  const { waitUntil } = circumstances.timings;
  const author = { actor: 'program', ip: circumstances.connectingAddress } as const;
  // It may still move after the timeout, which the next request would do anyway.
  const moved = await withTimeout(
    takeOver(() => senderOf(services, author, waitUntil), license.id, request),
    DATABASE_TIMEOUT_MS,
  );
  if (moved.result === 'free') {
    return bindSlots(services, license, snapshots, request, circumstances);
  }
  const remarks = moved.remarks ?? decision.remarks ?? null;
  if (moved.result === 'refused') {
    const type = outcome.responseType === 'MAX_IPS_REACHED' ? 'IP' : 'HWID';
    const wanted = wantedOf(outcome.full, request);
    services.noteFull(license, wanted, { type, remarks }, circumstances.requestedAt);
    return { ...decision, remarks };
  }
  // Another program may have taken it over since, and this one was valid before.
  const after = { ...snapshots, license: { ...snapshots.license, value: moved.license } };
  return { outcome: decideFrom(after, request, circumstances), snapshots: after, remarks };
}

/** The kinds of the slots of which none is free: each has its own (1.2). */
const kindsOf = (full: FullTypes, { ip }: ValidationRequest): SlotKind[] =>
  full.map((type) => (type === 'IP' && ip !== null && !isGlobal(ip) ? 'LOCAL' : type));

/** The same, and whether the request would take them over. */
const wantedOf = (full: FullTypes, request: ValidationRequest): WantedSlots[] => [
  ...kindsOf(full, request),
  ...(request.takesOver ? (['TAKEN_OVER'] as const) : []),
];

/** Such as `2026-10-01`: in UTC. */
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const refuseFull = (
  snapshots: Snapshots,
  full: FullTypes,
  { type, remarks }: FullRefusal,
): Decision => ({
  outcome: { responseType: type === 'IP' ? 'MAX_IPS_REACHED' : 'MAX_HWIDS_REACHED', full },
  snapshots,
  remarks,
});

/** The refusal of values that D1 has not bound: for the first type of which no slot is free or idle. */
function refusalOf(full: FullTypes, idle: readonly IdleSlot[]): FullRefusal {
  const slotOf = (type: LicenseDataType) => idle.find((slot) => slot.type === type);
  const type = full.find((one) => !slotOf(one)?.taken) ?? full[0];
  const next = slotOf(type)?.idleAt ?? null;
  return { type, remarks: next === null ? null : `The next slot is idle on ${dayOf(next)}` };
}

/** The sentences about values that gave way. */
function remarksOn(idle: readonly IdleSlot[]): string | null {
  const taken = idle.map(
    ({ taken, usedAt }) => `Took the slot of ${taken}, idle since ${dayOf(usedAt ?? 0)}`,
  );
  return taken.length > 0 ? taken.join('. ') : null;
}

/**
 * Binds the values of a request, starts the expiry if it waits for the first use, and decides on the license as the primary has it then [4.7].
 *
 * @throws when the database cannot be reached
 */
async function bindSlots(
  services: Services,
  known: LicenseSnapshot,
  snapshots: Snapshots,
  request: ValidationRequest,
  circumstances: Circumstances,
): Promise<Decision> {
  const { db, caches } = services;
  const { license: found } = snapshots;
  const { requestedAt, timings } = circumstances;
  // A client that disconnects must not leave a binding without its record.
  timings.keepAlive();
  const startedAt = performance.now();
  const { license, isChanged, idle } = await bind(
    db,
    known,
    request,
    requestedAt,
    circumstances.requireHwid,
  );
  timings.noteRead('d1');
  const { key } = found;
  if (license) {
    caches.licenses.put(key, license, startedAt);
    // KV may lack this change, or an earlier one that was never put.
    const isNewer = license.revision > known.revision;
    const isWorthPublishing = isChanged || (isNewer && found.needsComparison);
    if (isWorthPublishing && caches.licenses.canPublish()) {
      timings.waitUntil(caches.licenses.publish(key, { row: license }));
    }
  } else {
    // A removed row counts as one more revision.
    caches.licenses.invalidate(key, known.revision + 1);
  }
  const bound = { ...snapshots, license: { ...found, value: license, needsComparison: false } };
  const outcome = decideFrom(bound, request, circumstances);
  if (!license || !('full' in outcome)) {
    return { outcome, snapshots: bound, remarks: remarksOn(idle) };
  }
  const refusal = refusalOf(outcome.full, idle);
  services.noteFull(license, kindsOf(outcome.full, request), refusal, requestedAt);
  return refuseFull(bound, outcome.full, refusal);
}
