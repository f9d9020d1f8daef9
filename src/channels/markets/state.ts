import type { EventType } from '@licet/contract/enums';
import type { EventChanges } from '../../db/events.ts';
import type { LicenseDefaults } from '../../resources/licenses/rules.ts';
import type { licenses } from '../../resources/licenses/schema.ts';
import type { ProductRow } from '../../resources/products/queries.ts';
import type { Forest } from './facts.ts';
import type { PurchaseRow } from './list.ts';
import type { Buyer, Result } from './notice.ts';
import type { Facts, subjects } from './schema.ts';
import type { MarketSource } from './source.ts';

/** The state for which a notice is planned, and the changes that it makes (9). */

/** A license, and whether a later notice can give its customer a name or an e-mail. */
export type LicenseRow = typeof licenses.$inferSelect & { lacksName: boolean; lacksEmail: boolean };
export type SubjectRow = typeof subjects.$inferSelect;

/** A purchase with its license; null before it has one. */
export interface KnownPurchase {
  purchase: PurchaseRow;
  license: LicenseRow | null;
}

export interface State {
  /** The subjects on the trees of all that the notice names. */
  subjects: readonly SubjectRow[];
  /** The purchases on these trees, and those that the notice identifies. */
  purchases: readonly KnownPurchase[];
  /** The license that a person has chosen; null for a notice of the market. */
  license: LicenseRow | null;
}

/** A product of ours, as far as a plan needs it. */
export type PlannedProduct = Pick<ProductRow, 'id'> & LicenseDefaults;

/** The products of a market, as the seller has chosen them. */
export interface Mapping {
  source: MarketSource;
  /** Our products that the notice may sell. */
  products: readonly PlannedProduct[];
}

/** All that a plan depends on beside its notice. */
export interface Context {
  state: State;
  mapping: Mapping;
  /** Milliseconds since 1970. */
  now: number;
  /** The subjects before the notice, and with its facts. */
  before: Forest;
  after: Forest;
}

export type SubjectAfter = Pick<SubjectRow, 'id' | 'parent' | 'facts' | 'expiresAt'>;

/** The columns of a purchase that a plan sets. */
export type PurchaseValues = Pick<
  PurchaseRow,
  | 'item'
  | 'reference'
  | 'orderId'
  | 'buyerId'
  | 'buyerName'
  | 'email'
  | 'quantity'
  | 'isTest'
  | 'state'
  | 'reason'
  | 'licenseId'
  | 'amount'
  | 'currency'
  | 'ignoredAt'
> & { facts: Facts };

export interface PurchaseChange {
  before: PurchaseRow;
  after: PurchaseValues;
}

export interface LicenseChange {
  before: LicenseRow;
  after: Pick<
    LicenseRow,
    'state' | 'expiresAt' | 'expiresAfterDays' | 'notes' | 'deactivatedBy' | 'revision'
  >;
}

/** The licenses that a purchase gets, with its values. */
export interface NewLicenses {
  purchase: PurchaseValues;
  /** Its row, if it waits. */
  known: PurchaseRow | null;
  count: number;
  /** The unit of the first license. */
  firstUnit: number;
  values: Pick<
    LicenseRow,
    | 'productId'
    | 'licenseType'
    | 'expiresAt'
    | 'expiresAfterDays'
    | 'maxIPs'
    | 'maxHWIDs'
    | 'entitlements'
    | 'notes'
    | 'state'
  >;
  buyer: Buyer;
}

/** The name and e-mail that a later notice gives the buyer of a license. */
export interface Completion {
  licenseId: number;
  name: string | null;
  email: string | null;
}

/** An event of a purchase: by its id, or by the identity of a new one, which has none yet. */
export interface PlannedEvent {
  type: EventType;
  purchase: number | Pick<PurchaseValues, 'item' | 'reference'>;
  changes: EventChanges;
}

/** All that a notice changes, in one transaction. */
export interface Plan {
  subjects: readonly SubjectAfter[];
  /** New purchases, which have no new license. */
  newPurchases: readonly PurchaseValues[];
  purchases: readonly PurchaseChange[];
  licenses: readonly LicenseChange[];
  make: NewLicenses | null;
  completions: readonly Completion[];
  events: readonly PlannedEvent[];
  /** Without the keys of new licenses. */
  result: Result;
  /** Whether the same notice grants another purchase that waits. */
  isPartial: boolean;
}
