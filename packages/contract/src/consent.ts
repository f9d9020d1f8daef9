import { API_INTENTS, type ApiIntent } from './enums.ts';
import { INTENTS } from './intents.ts';

/** The consent of a person to an assistant (12.7): shared by the service and the console's page. */

/** The authorization endpoint: a page of the console. */
export const CONSENT_PATH = '/console/consent';
/** Describes the assistant of a request, and grants it access. */
export const CONSENT_REQUEST_PATH = '/oauth/consent';

export const DEFAULT_GRANT_DAYS = 30;
export const MAX_GRANT_DAYS = 90;
/** The living grants to which a token consents. */
export const MAX_GRANTS = 50;

/** The permissions that an assistant can get, as its tools need them: none opens tokens, settings or secrets. */
export const ASSISTANT_INTENTS = {
  read: ['LICENSES_READ', 'REQUESTS_READ', 'CUSTOMERS_READ', 'PRODUCTS_READ', 'BLACKLISTS_READ'],
  write: ['LICENSES_READ_WRITE', 'BLACKLISTS_READ_WRITE'],
} as const satisfies Record<string, readonly ApiIntent[]>;

/** An assistant that asks for access, as the person sees it. */
export interface ConsentRequest {
  /** Chosen by the assistant. */
  name: string;
  /** The host that published its document; null for one that has only registered. */
  host: string | null;
  /** The host that gets the response. */
  returnsTo: string;
  /** Whether the response stays on the person's computer, where any program can take the name. */
  isLocal: boolean;
  /** The address of the assistant for a person who declines. */
  declineUrl: string;
}

export interface ConsentGiven {
  /** The address of the assistant, with its code. */
  url: string;
}

/** Whether a holder of some intents may do all that an intent allows. */
const isCovered = (intent: ApiIntent, held: readonly ApiIntent[]): boolean =>
  Object.values<readonly ApiIntent[]>(INTENTS)
    .filter((accepted) => accepted.includes(intent))
    .every((accepted) => accepted.some((other) => held.includes(other)));

/** Those of some intents that a holder of others has, by name or by a wider one. */
export const coveredIntents = (
  intents: readonly ApiIntent[],
  held: readonly ApiIntent[],
): ApiIntent[] =>
  API_INTENTS.filter((intent) => intents.includes(intent) && isCovered(intent, held));
