import type { Operations } from '@licet/client/types';

/** The results of the items of an import. */

export type Result = Operations['POST /api/v2/import']['response']['results'][number];

/** The fields by which the user finds an item in its source. */
export interface Named {
  where: string;
  id: unknown;
  licenseKey: unknown;
  productId: unknown;
  /** The earlier item in the source with the same identity. */
  duplicateOf: string | undefined;
}

export const rejection = (reason: string): Result => ({
  outcome: 'refused',
  id: null,
  differences: [],
  reason,
});

/** The reason for a result; null if the item is stored as it was sent, or differs from a stored one. */
export const reasonOf = ({ duplicateOf }: Named, { outcome, reason }: Result): string | null => {
  if (outcome === 'created' || outcome === 'unchanged' || duplicateOf === undefined) return reason;
  return reason === null ? duplicateOf : `${reason} (${duplicateOf})`;
};
