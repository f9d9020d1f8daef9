import type { Invocation } from './invocation.ts';
import type { Isolate, JsonResponse } from './isolate.ts';
import type { BlacklistEntry, LicenseState, TokenState, ValidationRequest } from './truth.ts';

/** The tasks of isolates, by which the invariants judge their effects. */

/** The oldest states on which a response may be based. */
export interface OldestStates {
  license: number;
  token: number;
  blacklist: number;
}

export interface ValidationTask {
  kind: 'validation';
  /** The `productVersion` of the request, and so of its record: identifies both. */
  marker: string;
  request: ValidationRequest;
  /** Null for a key that no license has. */
  licenseId: number | null;
  /** Null for a request without a token. */
  tokenId: number | null;
  oldest: OldestStates;
  /** Only the current state is right, because everything has been quiet for long. */
  isAfterQuiet: boolean;
}

export interface AdminTask {
  kind: 'admin';
  /** Null for a creation. */
  id: number | null;
  /** The fields that may change, and a condition that was true if the response is a success. */
  change:
    | {
        of: 'license';
        fields: readonly (keyof LicenseState)[];
        isDone: (license: LicenseState | null) => boolean;
      }
    | { of: 'blacklist'; isDone: (entries: readonly BlacklistEntry[]) => boolean }
    | { of: 'token'; isDone: (token: TokenState | null) => boolean }
    | { of: 'product' };
  /** The number of the state after its last write. */
  writtenIndex: number | null;
}

/** The scheduled handler, or a batch of the queue. */
export interface PlatformTask {
  kind: 'platform';
}

export type Task = ValidationTask | AdminTask | PlatformTask;

/** A validation and its response. */
export interface Validation {
  task: ValidationTask;
  isolate: Isolate;
  invocation: Invocation;
  /** Null until it comes. */
  response: JsonResponse | null;
}
