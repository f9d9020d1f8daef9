/** How much is measured. */
export interface Settings {
  /** The levels of the scenarios cold and binding, of hot, and of load. */
  connections: readonly number[];
  hotConnections: readonly number[];
  loadConnections: readonly number[];
  /** The time of the load in a round of the scenario load, and in all of the scenario fairness. */
  loadSeconds: number;
  rounds: number;
  /** How long a target takes its load in a round. */
  roundSeconds: number;
  warmUpRequests: number;
  /** Licenses that are asked for one after the other. */
  licenses: number;
  /** Requests in a round of a load that cannot go on for long: licenses are cold only once. */
  countedRequests: number;
  /** Licenses of the large shop in the scenarios growth and history. */
  manyLicenses: number;
  /** Entries of the large shop in the scenario growth. */
  blacklistEntries: number;
  /** Entries that a cold isolate decodes. */
  decodedEntries: number;
  /** Records of the scenario history. */
  records: number;
  /** Requests over which memory is watched. */
  memoryRequests: number;
  /** Requests of the scenario start: before the look at the memory, and aborted ones. */
  startRequests: number;
  abortedRequests: number;
  /** Requests that each shop of the scenario world sends. */
  worldRequests: number;
}

export const FULL: Settings = {
  connections: [1, 16, 64],
  hotConnections: [1, 16, 64, 256, 1_024],
  loadConnections: [16, 64, 256, 1_024],
  loadSeconds: 10,
  rounds: 5,
  roundSeconds: 2,
  warmUpRequests: 3_000,
  licenses: 1_000,
  countedRequests: 500,
  manyLicenses: 100_000,
  blacklistEntries: 10_000,
  decodedEntries: 5_000,
  records: 1_000_000,
  memoryRequests: 1_000_000,
  startRequests: 500_000,
  abortedRequests: 20_000,
  worldRequests: 2_000,
};

/** A smoke run: all scenarios run, and their speed means little. */
export const QUICK: Settings = {
  connections: [16],
  hotConnections: [16, 1_024],
  loadConnections: [16, 1_024],
  loadSeconds: 0.5,
  rounds: 1,
  roundSeconds: 0.2,
  warmUpRequests: 100,
  licenses: 40,
  countedRequests: 40,
  manyLicenses: 2_000,
  blacklistEntries: 1_000,
  decodedEntries: 500,
  records: 20_000,
  memoryRequests: 10_000,
  startRequests: 5_000,
  abortedRequests: 500,
  worldRequests: 500,
};

/** The level at which the thresholds are set. */
export const THRESHOLD_CONNECTIONS = 16;
