import { expect, it } from 'vitest';
import type { Names } from '../../src/channels/markets/load.ts';
import type { KnownPurchase, State, SubjectRow } from '../../src/channels/markets/state.ts';
import { statesOf } from '../../src/channels/markets/states.ts';

/** The states for requests that are read together. */

const subject = (id: string, parent: string | null = null): SubjectRow => ({
  ...{ marketId: 1, id, parent, facts: {}, revision: 1, expiresAt: null },
});

const bought = (reference: string, orderId: string | null, licenseId: number): KnownPurchase => ({
  purchase: {
    ...{ id: licenseId, marketId: 1, item: 'guard', reference, unit: 0, orderId, licenseId },
    ...{ buyerId: null, buyerName: null, email: null, quantity: 1, isTest: false, facts: {} },
    ...{ state: 'GRANTED', reason: null, deactivatedRevision: null, misses: 0, amount: null },
    ...{
      currency: null,
      ignoredAt: null,
      revokedAt: null,
      createdAt: 0,
      updatedAt: 0,
      revision: 1,
    },
  },
  license: null,
});

const about = (subjects: readonly string[], references: readonly string[] = []): Names => ({
  subjects,
  purchases: references.map((reference) => ['guard', reference]),
  purchaseId: null,
  licenseId: null,
});

/** The references and subjects in the state for each request; null where another request comes first. */
const seen = (read: Partial<State>, ...requests: Names[]) =>
  statesOf({ subjects: [], purchases: [], license: null, ...read }, requests).map((state) =>
    state
      ? [
          ...state.subjects.map(({ id }) => id),
          ...state.purchases.map(({ purchase }) => purchase.reference),
        ]
      : null,
  );

it('requests about different orders see their own', () => {
  const subjects = [subject('order-1'), subject('order-2')];
  const purchases = [bought('line-1', 'order-1', 1), bought('line-2', 'order-2', 2)];
  expect(seen({ subjects, purchases }, about(['order-2']), about([], ['line-1']))).toEqual([
    ['order-2', 'line-2'],
    ['order-1', 'line-1'],
  ]);
});

it('requests about an order, or a purchase, that is not known yet come one after the other', () => {
  expect(seen({}, about(['order-1']), about(['order-1']), about(['order-2']))).toEqual([
    [],
    null,
    [],
  ]);
  expect(seen({}, about([], ['line-1']), about([], ['line-1']))).toEqual([[], null]);
});

it('requests about the invoices of a subscription come one after the other', () => {
  const subjects = [subject('in_1', 'sub_1'), subject('in_2', 'sub_1'), subject('sub_1')];
  expect(seen({ subjects }, about(['in_1']), about(['in_2']))).toEqual([
    ['in_1', 'in_2', 'sub_1'],
    null,
  ]);
});

it('requests about purchases with one license come one after the other', () => {
  const purchases = [bought('line-1', null, 7), bought('line-2', null, 7)];
  expect(seen({ purchases }, about([], ['line-1']), about([], ['line-2']))).toEqual([
    ['line-1', 'line-2'],
    null,
  ]);
});

it('a request that names nothing sees nothing', () => {
  const purchases = [bought('line-1', null, 1)];
  expect(seen({ purchases }, about([]), about([], ['line-1']))).toEqual([[], ['line-1']]);
});
