import type { DynamicSettings } from '@licet/contract/dynamic-market';
import type { MarketKind, NoticeEffect, PurchaseState } from '@licet/contract/enums';
import type { MarketProduct } from '@licet/contract/markets';
import type { Outbound } from '../../lib/outbound.ts';
import type { Incoming } from './incoming.ts';
import type { Facts } from './schema.ts';

/** The notices: adapters of the markets make them, and the plan of the purchases reads them (9). */

/** The settings of a market that an adapter needs. */
export interface MarketSettings {
  kind: MarketKind;
  /** One of them is enough for a request. */
  secrets: readonly string[];
  /** For `dynamic`. */
  settings: DynamicSettings | null;
}

export interface Buyer {
  id: string | null;
  name: string | null;
  email: string | null;
}

/** The reasons for which a purchase loses its license. `missing`: the market lists it no more. */
export type RevokeReason =
  | 'refunded'
  | 'removed'
  | 'missing'
  | 'disputed'
  | 'dispute lost'
  | 'ended'
  | 'paused'
  | 'unpaid';

/** Facts about a subject: an order, a payment, an invoice or a subscription of the market. */
export interface Statement {
  id: string;
  /** The subject to which it belongs; undefined if the notice does not say it. */
  parent?: string | undefined;
  facts?: Facts;
}

/** The identity of a purchase. */
export interface Identity {
  item: string;
  /** The buyer, at markets where each buys once, else the order line. */
  reference: string;
  /** Other references under which the same purchase may be stored. */
  otherReferences?: readonly string[];
  /** Whether the reference alone identifies it: its `item` is a name that the seller can edit. */
  isLine?: boolean;
  order: string | null;
  /** Whether every purchase of the order, or every one of this item, counts as this one, under any reference. */
  onlyOf?: 'order' | 'item';
}

/** A purchase that gets its license, unless it has it. */
export interface Grant extends Identity {
  do: 'grant';
  /** Other ids by which the seller may have chosen its product. */
  otherItems?: readonly string[];
  buyer: Buyer;
  quantity: number;
  isTest: boolean;
  facts: Facts;
  /** The part of the purchase that the market does not report, in words for people. */
  caveat?: string;
  /** Whether the buyer, who has a license, pays again for another period of it. */
  renews?: boolean;
  about: readonly Statement[];
}

/** Facts about subjects and purchases: notices arrive in any order, and more than once. */
export interface Report {
  do: 'report';
  about: readonly Statement[];
  /** A purchase that was, or will be, granted. */
  purchase?: Identity & { facts: Facts };
}

/** A report of a market. */
export type Notice = Grant | Report;

/** A person chooses the product of a purchase that waits. */
export interface Choice {
  do: 'choose';
  purchaseId: number;
  mapped: MarketProduct;
}

/** A person gives a purchase an existing license. */
export interface Binding {
  do: 'bind';
  purchaseId: number;
  licenseId: number;
}

/** A person enters a purchase of before, with its license. */
export interface Entry {
  do: 'enter';
  item: string;
  reference: string;
  order: string | null;
  buyerId: string | null;
  buyerName: string | null;
  licenseId: number;
}

export type AnyNotice = Notice | Choice | Binding | Entry;

/** The outcome of a notice. */
export interface Result {
  /** The state of the purchase; null for a notice about purchases that are not known yet. */
  state: PurchaseState | null;
  /** The keys of the licenses of a granted purchase. */
  keys: readonly string[];
  effect: NoticeEffect;
  /** For people. */
  text: string;
}

/** A request that is rejected, with the reason for the seller, which repeats no secret. */
export interface Rejection {
  status: number;
  why: string;
  /** Whether its signature or secret is right: then it counts for no limit (9.2). */
  isFromMarket?: true;
}

/** A request whose signature or secret is right. */
export interface Accepted {
  /** The id that the market gave it. */
  eventId: string | null;
  /** The type of event at the market. */
  type: string | null;
  notices: readonly Notice[];
  /** Why there are no notices, for people. */
  ignored?: string;
  /** Whether a person has to look at a request that was ignored. */
  needsPerson?: boolean;
  /** Whether the response must hold a key: without one it is an error. */
  needsKey?: boolean;
  /** The response to a request that succeeded; `OK` as text without it. */
  respond?: (keys: readonly string[]) => { body: string; contentType: string };
}

/** The API of a market, for values that its requests do not have. */
export interface MarketInterface {
  outbound: Pick<Outbound, 'send'>;
  token: string;
}

/** The purchases that a market lists, by {@link listedKey}: whether each is active. */
export type ListedPurchases = Map<string, boolean>;

export interface Listing extends MarketInterface {
  /** The mapped products of the market. */
  items: readonly string[];
  now: number;
  maxPages: number;
}

export const LISTS_TOO_MANY =
  'The market lists too many purchases: deactivate the licenses of refunds by hand';

export const listedKey = (item: string, buyer: string): string => `${item} ${buyer}`;

/** All that a kind of market is. Its functions depend on their arguments alone. */
export interface Adapter {
  /** The names under which it can stand in PLATFORM_LABELS, in lower case. */
  names: readonly string[];
  /** Whether buyers get the key by mail unless the seller decides (13): where they see nothing of the response. */
  mailsKey: boolean;
  /** Another path for the requests about a product, which programs and guides know. */
  oldPath?: (productId: number) => string;
  /** The largest request; that of any market unless set. */
  maxBytes?: number;
  /**
   * Checks the signature or the secret, before anything else of the request is read.
   *
   * @returns undefined for a request that comes from the market
   */
  authenticate: (incoming: Incoming, settings: MarketSettings) => Promise<Rejection | undefined>;
  /** The facts of a subject as they would be stored today. Earlier versions understood some requests otherwise. */
  currentFacts?: (stored: Facts) => Facts;
  /** Reads a request that comes from the market. */
  read: (incoming: Incoming, settings: MarketSettings) => Promise<Accepted | Rejection>;
  /**
   * Reads all that was bought from the API of the market, if its request does not have it.
   *
   * @throws Error if the market does not respond: it repeats its request
   */
  lines?: (grant: Grant, by: MarketInterface) => Promise<readonly Grant[]>;
  /** Lists the purchases, for the comparison. @throws Error that says why it cannot be read */
  list?: (listing: Listing) => Promise<ListedPurchases>;
}

export const isRejection = (read: Accepted | Rejection): read is Rejection => 'why' in read;
