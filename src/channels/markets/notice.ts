import type { DynamicSettings } from '@licet/contract/dynamic-market';
import type { MarketKind } from '@licet/contract/enums';
import type { Incoming } from './incoming.ts';

/** The language between the adapters of the markets and the purchases (9). */

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

/** A purchase: by the product and the buyer or order line, or all lines of an order. */
export type Target = { item: string; reference: string } | { order: string };

/** The reasons for which a purchase loses its license. `missing`: the market lists it no more. */
export type RevokeReason =
  | 'refunded'
  | 'removed'
  | 'missing'
  | 'disputed'
  | 'dispute lost'
  | 'ended';

/** A purchase that gets its license, unless it has it. */
export interface Grant {
  do: 'grant';
  item: string;
  /** The buyer, where one buys once, else the order line. */
  reference: string;
  /** The reference under which former versions stored the same purchase, if it was another one. */
  formerReference?: string;
  order: string | null;
  buyer: Buyer;
  quantity: number;
  isTest: boolean;
  /** When it was bought, in milliseconds since 1970; null for a download, which tells of no new purchase. */
  boughtAt: number | null;
  /** Until when a subscription is paid; null without one. */
  paidUntil: number | null;
  /** Whether the buyer, who has a license, pays again for another period of it. */
  renews?: boolean;
}

/** A fact about purchases that were, or will be, granted: notices arrive in any order, and more than once. */
export type Fact = { target: Target; at: number } & (
  | { do: 'revoke'; reason: Exclude<RevokeReason, 'disputed' | 'dispute lost'> }
  /** `id` tells the disputes of one order apart; empty where the market has no id. */
  | { do: 'revoke'; reason: 'disputed' | 'dispute lost'; id: string }
  /** A dispute was won. */
  | { do: 'restore'; id: string }
  /** A subscription was paid until a time, and goes on. */
  | { do: 'extend'; until: number | null }
);

export type Notice = Grant | Fact;

/** A request that is rejected, with the reason for the seller. It tells nothing of the secrets. */
export interface Rejection {
  status: number;
  why: string;
  /** Whether it shows that it comes from the market: then it counts for no limit (9.2). */
  isFromMarket?: true;
}

/** A request that shows that it comes from the market. */
export interface Accepted {
  /** The id that the market gave it. */
  eventId: string | null;
  /** The type of event at the market. */
  type: string | null;
  notices: readonly Notice[];
  /** Why there are no notices, for people. */
  ignored?: string;
  /** Whether the response must hold a key: without one it is an error. */
  needsKey?: boolean;
  /** The response to a request that succeeded; `OK` as text without it. */
  respond?: (keys: readonly string[]) => { body: string; contentType: string };
}

/** Reads the requests of a kind of market. Its functions depend on the request, the settings and the time alone. */
export interface Adapter {
  /** The largest request; that of any market unless set. */
  maxBytes?: number;
  /**
   * Checks the signature or the secret, before anything else of the request is read.
   *
   * @returns undefined for a request that comes from the market
   */
  authenticate: (incoming: Incoming, settings: MarketSettings) => Promise<Rejection | undefined>;
  /** Reads a request that comes from the market. */
  read: (incoming: Incoming, settings: MarketSettings) => Promise<Accepted | Rejection>;
}

export const isRejection = (read: Accepted | Rejection): read is Rejection => 'why' in read;
