import type { License } from '@licet/client';

/** The texts that a seller keeps with a license or a customer, by their names. */
export type Metadata = License['metadata'];

/** Metadata as text, a line for each name. */
export const metadataText = (metadata: object): string =>
  Object.entries(metadata)
    .map(([name, text]) => `${name}: ${text}`)
    .join('\n');
