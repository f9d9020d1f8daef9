import type { LicenseDataType, LicenseStatus } from './enums.ts';

/** The JSON between the customer's page and the service (10). The page needs it without zod. */

export const PORTAL_PATH = '/my';

/** The seller, as the page shows them. */
export interface Seller {
  /** Empty for none. */
  name: string;
  /** `#rrggbb`; null for the colour of the page. */
  colour: string | null;
  /** An address to which a customer writes: `https:` or `mailto:`. */
  contact: string | null;
  /** A picture as a `data:` URL. */
  logo: string | null;
}

export interface Resets {
  /** How many the seller allows in 30 days; 0 for none. */
  allowed: number;
  left: number;
  /** When the oldest one of them returns; null for none that is used. */
  returnsAt: string | null;
}

export interface PortalLicense {
  id: number;
  product: string;
  status: LicenseStatus;
  expiryDate: string | null;
  /** The days that begin with the first use. */
  expiresAfterDays: number | null;
  /** The last characters of the key. */
  keyEnd: string;
  /** The taken slots, and their limit: -1 for none. */
  slots: Record<LicenseDataType, { taken: number; limit: number }>;
  resets: Resets;
}

export interface PortalSlot {
  /** Names the slot without its value. */
  id: string;
  type: LicenseDataType;
  /** The beginning and the end of the value. No two of a type are the same. */
  shown: string;
  /** Whether it is the slot of the address from which the page was asked for. */
  isThisBrowser: boolean;
  /** Whether it is an address in a private network, which counts beside others like it alone (1.2). */
  isPrivate: boolean;
  lastUsed: string;
  /** From when on a new value may take it; null for never. */
  idleDate: string | null;
}

export interface PortalData {
  licenses: PortalLicense[];
  /** Whether there are more licenses than the page shows. */
  isCut: boolean;
  /** Whether the customer has no account at Discord yet, and can link one. */
  canLinkDiscord: boolean;
}

/** A code of one use, by which the command `/link` links an account at Discord to the customer. */
export interface DiscordCode {
  code: string;
  expiresAt: string;
}

/** The outcome of a request for free slots. */
export type ResetOutcome =
  /** `kept`: the number of values that are on the blacklist, and stay. */
  | { outcome: 'freed'; freed: number; kept: number; resets: Resets }
  /** There was nothing to free, which counts as no reset. */
  | { outcome: 'empty'; resets: Resets }
  /** All values are on the blacklist. */
  | { outcome: 'blocked'; resets: Resets }
  /** The budget is used up until `returnsAt`. */
  | { outcome: 'used up'; resets: Resets }
  /** The product allows no resets. */
  | { outcome: 'not allowed'; resets: Resets }
  /** The seller has deactivated the license. */
  | { outcome: 'deactivated'; resets: Resets };

/** Why a link opens nothing. */
export type LinkFault = 'used' | 'expired' | 'unknown';
