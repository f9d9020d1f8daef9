/** The text is valid, but incomplete. */
export class CutOffError extends Error {}
