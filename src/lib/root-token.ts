const MIN_LENGTH = 32;

/** ROOT_TOKEN; undefined if it is too short to be accepted (3.2). */
export const activeRootToken = (rootToken: string | undefined): string | undefined =>
  rootToken !== undefined && rootToken.length >= MIN_LENGTH ? rootToken : undefined;
