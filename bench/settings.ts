/** How much is measured. */
export interface Settings {
  /** The levels of the scenarios that are measured at several ones. */
  connections: readonly number[];
  rounds: number;
  /** How long one load is sent in one round. */
  turnSeconds: number;
  warmUpRequests: number;
  /** How many licenses are asked for in turn. */
  licenses: number;
  /** How many requests a turn has of what cannot go on for long: licenses are cold only once. */
  countedRequests: number;
  /** The large shop of the growth. */
  manyLicenses: number;
  blacklistEntries: number;
  /** How many requests memory is watched over. */
  memoryRequests: number;
  /** How many requests each shop of the scenario world sends. */
  worldRequests: number;
}

export const FULL: Settings = {
  connections: [1, 16, 64],
  rounds: 5,
  turnSeconds: 2,
  warmUpRequests: 3_000,
  licenses: 1_000,
  countedRequests: 500,
  manyLicenses: 100_000,
  blacklistEntries: 10_000,
  memoryRequests: 1_000_000,
  worldRequests: 2_000,
};

/** A smoke run: everything is tried, and little is told of speed. */
export const QUICK: Settings = {
  connections: [16],
  rounds: 1,
  turnSeconds: 0.2,
  warmUpRequests: 100,
  licenses: 40,
  countedRequests: 40,
  manyLicenses: 2_000,
  blacklistEntries: 1_000,
  memoryRequests: 10_000,
  worldRequests: 100,
};

/** The level at which the targets are set. */
export const TARGET_CONNECTIONS = 16;
