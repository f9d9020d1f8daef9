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
  /** Whether Discord is set up, where `/portal` gives a link. */
  hasDiscord: boolean;
  /** Whether the page can send a link by e-mail (13). */
  hasMail: boolean;
}

export interface Resets {
  /** How many the seller allows in 30 days; 0 for none. */
  allowed: number;
  left: number;
  /** When the oldest one of them returns; null for none that is used. */
  returnsAt: string | null;
}

/** Whether the customer may replace the key of a license. */
export interface Rotation {
  isAllowed: boolean;
  /** Until when it stays, because it was replaced within a day; null for a key that can be replaced now. */
  returnsAt: string | null;
}

export interface PortalLicense {
  id: number;
  product: string;
  status: LicenseStatus;
  expiryDate: string | null;
  /** The days that begin with the first use. */
  expiresAfterDays: number | null;
  /** Whether a program has used it. */
  isUsed: boolean;
  /** The page of the product, where the customer renews; null for none. */
  url: string | null;
  /** The last characters of the key. */
  keyEnd: string;
  /** The taken slots, and their limit: -1 for none. */
  slots: Record<LicenseDataType, { taken: number; limit: number }>;
  resets: Resets;
  rotation: Rotation;
}

/** An address and a hardware ID that came together, or one that came alone. */
export interface PortalMachine {
  /** Names the machine without its values. */
  id: string;
  /** The beginning and the end of each value. No two of a type are the same. */
  ip: string | null;
  hwid: string | null;
  /** The types of its values that another machine has, too: they stay while that one does. */
  shared: LicenseDataType[];
  /** Whether it has the address from which the page was asked for. */
  isThisBrowser: boolean;
  /** Whether it is an address in a private network, which counts beside others like it alone (1.2). */
  isPrivate: boolean;
  lastUsed: string;
  /** From when on another machine may take its slots; null for never. */
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
  /** The numbers of values that stay: `kept` because they are on the blacklist, `shared` because another machine has them. */
  | { outcome: 'freed'; freed: number; kept: number; shared: number; resets: Resets }
  /** The license has no such machine any more. */
  | { outcome: 'gone'; resets: Resets }
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

/** The outcome of a request for a new key. */
export type RotationOutcome =
  | { outcome: 'replaced'; licenseKey: string }
  /** The key was replaced within a day, and stays until `returnsAt`. */
  | { outcome: 'too soon'; returnsAt: string }
  /** The product allows it to nobody but the seller, or this person has proved no more than a key. */
  | { outcome: 'not allowed' }
  /** The seller has deactivated the license. */
  | { outcome: 'deactivated' };

/** Why a link opens nothing. */
export type LinkFault = 'used' | 'expired' | 'unknown';
