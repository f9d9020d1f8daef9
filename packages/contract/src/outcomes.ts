import { keysOf } from './objects.ts';

/** The group of an outcome in the console's chart. `full` depends on the slots of the license, which D1 alone knows. */
export type OutcomeGroup = 'valid' | 'ended' | 'full' | 'rejected';

/** A way to remove the cause of a refusal. */
export type Fix =
  | 'extend'
  | 'reactivate'
  | 'restore'
  | 'freeSlot'
  | 'raiseLimit'
  | 'moveProduct'
  | 'unblock'
  | 'block';

interface Outcome {
  /** The message for programs; null if it depends on the request. Programs in the field compare it. */
  message: string | null;
  /** The name for administrators. */
  name: string;
  /** The explanation for administrators. */
  explanation: string;
  group: OutcomeGroup;
  /** Whether a blacklist entry caused it, whose reason is then recorded. */
  isBlocked: boolean;
  /** The ways to remove its cause, the best first. */
  fixes: readonly Fix[];
}

/**
 * The outcomes of a validation, in the order of the decision (1.3): the `responseType` of its record.
 * ERROR is a failure of the service: nothing was decided.
 */
export const OUTCOMES = {
  INVALID_REQUEST: {
    message: null,
    name: 'Invalid request',
    explanation:
      'The program sent something that the service could not read. The remark says which field is wrong.',
    group: 'rejected',
    isBlocked: false,
    fixes: [],
  },
  RATE_LIMITED: {
    message: 'Too many requests',
    name: 'Too many requests',
    explanation: 'This address or key asked more often than the service allows.',
    group: 'rejected',
    isBlocked: false,
    fixes: [],
  },
  IP_BLACKLISTED: {
    message: 'IP address is blacklisted',
    name: 'Address blocked',
    explanation: 'The address is on the blacklist.',
    group: 'rejected',
    isBlocked: true,
    fixes: ['unblock'],
  },
  HWID_BLACKLISTED: {
    message: 'Hardware ID is blacklisted',
    name: 'Hardware ID blocked',
    explanation: 'The hardware ID is on the blacklist.',
    group: 'rejected',
    isBlocked: true,
    fixes: ['unblock'],
  },
  LICENSE_NOT_FOUND: {
    message: 'License not found or invalid',
    name: 'Unknown key',
    explanation: 'No license has this key. It may be mistyped, or invented.',
    group: 'rejected',
    isBlocked: false,
    fixes: ['block'],
  },
  PRODUCT_MISMATCH: {
    message: 'License not found or invalid',
    name: 'Wrong product',
    explanation: 'The license belongs to a different product than the one that the program sent.',
    group: 'rejected',
    isBlocked: false,
    fixes: ['moveProduct'],
  },
  LICENSE_DELETED: {
    message: 'License not found or invalid',
    name: 'License deleted',
    explanation: 'The license has been deleted.',
    group: 'ended',
    isBlocked: false,
    fixes: ['restore'],
  },
  LICENSE_DEACTIVATED: {
    message: 'License is deactivated',
    name: 'License deactivated',
    explanation: 'The license has been deactivated.',
    group: 'ended',
    isBlocked: false,
    fixes: ['reactivate'],
  },
  LICENSE_EXPIRED: {
    message: 'License has expired',
    name: 'License expired',
    explanation: 'The license has expired.',
    group: 'ended',
    isBlocked: false,
    fixes: ['extend'],
  },
  MAX_IPS_REACHED: {
    message: 'Max IPs reached',
    name: 'No free address slot',
    explanation: 'All address slots of the license are taken, and this address is new.',
    group: 'full',
    isBlocked: false,
    fixes: ['freeSlot', 'raiseLimit'],
  },
  MAX_HWIDS_REACHED: {
    message: 'Max HWIDs reached',
    name: 'No free hardware slot',
    explanation: 'All hardware ID slots of the license are taken, and this hardware ID is new.',
    group: 'full',
    isBlocked: false,
    fixes: ['freeSlot', 'raiseLimit'],
  },
  VALID: {
    message: 'License is valid',
    name: 'Valid',
    explanation: 'The program may run.',
    group: 'valid',
    isBlocked: false,
    fixes: [],
  },
  ERROR: {
    message: 'Service temporarily unavailable',
    name: 'Service failed',
    explanation: 'The service failed. Its log says why.',
    group: 'rejected',
    isBlocked: false,
    fixes: [],
  },
} as const satisfies Record<string, Outcome>;

export type ResponseType = keyof typeof OUTCOMES;

/** The outcomes that a blacklist entry causes. */
export type BlockedType = {
  [Type in ResponseType]: (typeof OUTCOMES)[Type]['isBlocked'] extends true ? Type : never;
}[ResponseType];

/** All outcomes, in the order of the decision. */
export const RESPONSE_TYPES: readonly ResponseType[] = keysOf(OUTCOMES);
