import type { Invocation } from './invocation.ts';
import type { Answer, Isolate } from './isolate.ts';
import type { Asked, BlacklistEntry, LicenseState, TokenState } from './truth.ts';

/** What an isolate was asked to do, for the invariants to judge what it did. */

/** The states that an answer must not be older than: what this process has changed itself. */
export interface Floors {
  license: number;
  token: number;
  blacklist: number;
}

export interface ValidationTask {
  kind: 'validation';
  /** In the request's `productVersion` and so in its record: tells it from all others. */
  marker: string;
  asked: Asked;
  /** Null for a key that no license has. */
  licenseId: number | null;
  /** Null where no token is asked for. */
  tokenId: number | null;
  floors: Floors;
  /** Only the present state is right: everything has been quiet for long. */
  isAfterQuiet: boolean;
}

export interface AdminTask {
  kind: 'admin';
  /** Null to create one. */
  id: number | null;
  /** What may be changed, and what must have been true of it once a success is answered. */
  change:
    | {
        of: 'license';
        fields: readonly (keyof LicenseState)[];
        isDone: (license: LicenseState | null) => boolean;
      }
    | { of: 'blacklist'; isDone: (entries: readonly BlacklistEntry[]) => boolean }
    | { of: 'token'; isDone: (token: TokenState | null) => boolean }
    | { of: 'product' };
  /** The state of what it writes as its last write has left it. */
  writtenIndex: number | null;
}

/** The scheduled handler, or a batch of the queue. */
export interface PlatformTask {
  kind: 'platform';
}

export type Task = ValidationTask | AdminTask | PlatformTask;

/** A validation on its way, and what became of it. */
export interface Validation {
  task: ValidationTask;
  isolate: Isolate;
  invocation: Invocation;
  /** Null while none has come. */
  answer: Answer | null;
}
