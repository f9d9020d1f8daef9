import type { MarketKind } from '@licet/contract/enums';
import { type MarketProduct, marketProduct } from '@licet/contract/markets';
import { expect } from 'vitest';
import type * as z from 'zod';
import { ADAPTERS } from '../../src/channels/markets/adapters.ts';
import { Forest } from '../../src/channels/markets/facts.ts';
import { Incoming } from '../../src/channels/markets/incoming.ts';
import type { PurchaseRow } from '../../src/channels/markets/list.ts';
import { namesOfAll } from '../../src/channels/markets/load.ts';
import {
  type AnyNotice,
  type Buyer,
  isRejection,
  type Notice,
  type Result,
} from '../../src/channels/markets/notice.ts';
import { plan } from '../../src/channels/markets/plan.ts';
import type { MarketRow } from '../../src/channels/markets/source.ts';
import type {
  Completion,
  LicenseRow,
  Plan,
  PlannedProduct,
  PurchaseValues,
  SubjectRow,
} from '../../src/channels/markets/state.ts';

/** A market whose plans are stored in memory, in the place of a database. */

export const NOW = Date.UTC(2026, 8, 1);
const PRODUCT_ID = 1;

const PRODUCT: PlannedProduct = {
  id: PRODUCT_ID,
  defaultMaxIPs: 3,
  defaultMaxHWIDs: 3,
  defaultExpiresAfterDays: null,
};

type SentProduct = Partial<z.input<typeof marketProduct>> & { item: string };

export class MarketWorld {
  readonly market: MarketRow;
  now = NOW;
  readonly subjects = new Map<string, SubjectRow>();
  readonly purchases: PurchaseRow[] = [];
  readonly licenses: LicenseRow[] = [];
  /** The buyers of new licenses, and what later notices say of them. */
  readonly buyers: Buyer[] = [];
  readonly completions: Completion[] = [];
  /** The types of the events of purchases. */
  readonly events: string[] = [];

  constructor(kind: MarketKind, products: readonly SentProduct[], fields: Partial<MarketRow> = {}) {
    this.market = {
      id: 1,
      kind,
      name: 'Market',
      isEnabled: true,
      path: '',
      products: products.map(
        (one): MarketProduct => marketProduct.parse({ productId: PRODUCT_ID, ...one }),
      ),
      onRefund: 'deactivate',
      onDispute: 'deactivate',
      settings: null,
      secrets: [],
      apiToken: null,
      reconciledAt: null,
      failingAt: null,
      createdAt: NOW,
      updatedAt: NOW,
      revision: 1,
      comparisonDueAt: null,
      mailsKey: null,
      ...fields,
    };
  }

  /** The notices of a request, whose signature was right. */
  async read(body: object): Promise<Notice[]> {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const incoming = new Incoming(bytes, new Headers(), this.now);
    const read = await ADAPTERS[this.market.kind].read(incoming, this.market);
    if (isRejection(read)) throw new Error(read.why);
    return [...read.notices];
  }

  async receive(body: object): Promise<Result[]> {
    return (await this.read(body)).map((notice) => this.apply(notice));
  }

  apply(notice: AnyNotice): Result {
    const { state, purchases } = this.#load(notice);
    const planned = plan(
      { ...state, purchases, license: null },
      notice,
      {
        source: { market: { ...this.market, accountName: 'Market' }, platform: 'OTHER' },
        products: [PRODUCT],
      },
      this.now,
    );
    this.#store(planned);
    return planned.isPartial ? this.apply(notice) : planned.result;
  }

  /** The purchase with its license, if there is just one of each. */
  only(): { purchase: PurchaseRow; license: LicenseRow } {
    const [purchase, ...others] = this.purchases;
    const license = this.licenses.find(({ id }) => id === purchase?.licenseId);
    expect([others.length, this.licenses.length]).toEqual([0, 1]);
    if (!purchase || !license) throw new Error('There is no purchase');
    return { purchase, license };
  }

  /** All purchases, as a seller sees them. */
  shown() {
    return this.purchases
      .map((purchase) => {
        const license = this.licenses.find(({ id }) => id === purchase.licenseId);
        return {
          reference: `${purchase.item} ${purchase.unit}`,
          state: purchase.state,
          reason: purchase.reason,
          license: license?.state,
          expiresAt: license?.expiresAt,
        };
      })
      .sort((one, other) => (one.reference < other.reference ? -1 : 1));
  }

  #load(notice: AnyNotice) {
    const names = namesOfAll([notice]);
    const named = this.purchases.filter(
      ({ id, item, reference }) =>
        id === names.purchaseId ||
        names.purchases.some((one) => one[0] === item && one[1] === reference),
    );
    const forest = new Forest(this.subjects.values());
    const orders = named.flatMap(({ orderId }) => orderId ?? []);
    const ids = new Set([...names.subjects, ...orders].flatMap((id) => [...forest.treeOf(id)]));
    const found = this.purchases.filter(
      (one) => named.includes(one) || (one.orderId !== null && ids.has(one.orderId)),
    );
    return {
      state: { subjects: [...this.subjects.values()].filter(({ id }) => ids.has(id)) },
      purchases: found.map((purchase) => ({
        purchase,
        license: this.licenses.find(({ id }) => id === purchase.licenseId) ?? null,
      })),
    };
  }

  #store(planned: Plan): void {
    for (const subject of planned.subjects) {
      const { revision = 0 } = this.subjects.get(subject.id) ?? {};
      this.subjects.set(subject.id, { ...subject, marketId: 1, revision: revision + 1 });
    }
    for (const { before, after } of planned.licenses) {
      this.licenses.splice(this.licenses.indexOf(before), 1, { ...before, ...after });
    }
    for (const { before, after } of planned.purchases) this.#replace(before, after);
    for (const values of planned.newPurchases) this.#insert(values, 0);
    this.completions.push(...planned.completions);
    const { make } = planned;
    if (make) this.buyers.push(make.buyer);
    for (let unit = 0; make && unit < make.count; unit++) {
      const id = this.licenses.length + 1;
      const values = { ...make.purchase, licenseId: id };
      const purchaseId =
        make.known && unit === 0
          ? this.#replace(make.known, values)
          : this.#insert(values, make.firstUnit + unit);
      const deactivatedBy = make.values.state === 'ACTIVE' ? null : purchaseId;
      this.licenses.push({
        ...make.values,
        id,
        licenseKey: `KEY-${id}`,
        licenseKeyNormalized: `KEY-${id}`,
        licensePlatform: null,
        licensePlatformOther: '',
        ownerPlatformId: make.buyer.id ?? '',
        ownerChatId: '',
        ownerChatUsername: '',
        pastRequests: 0,
        metadata: null,
        entitlementsExpire: null,
        customerId: null,
        createdAt: this.now,
        updatedAt: this.now,
        deactivatedBy,
        revision: 1,
        lacksName: make.buyer.name === null,
        lacksEmail: make.buyer.email === null,
      });
    }
    this.events.push(...planned.events.map(({ type }) => type));
  }

  #replace(before: PurchaseRow, after: PurchaseValues): number {
    const revision = before.revision + 1;
    this.purchases.splice(this.purchases.indexOf(before), 1, { ...before, ...after, revision });
    return before.id;
  }

  #insert(values: PurchaseValues, unit: number): number {
    const id = this.purchases.length + 1;
    this.purchases.push({
      ...values,
      id,
      marketId: 1,
      unit,
      deactivatedRevision: null,
      misses: 0,
      createdAt: this.now,
      updatedAt: this.now,
      revision: 1,
      revokedAt: null,
    });
    return id;
  }
}
