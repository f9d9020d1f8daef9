import type { LicensePlatform } from '@licet/client';
import { LABELLED_PLATFORMS } from '@licet/contract/enums';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { licet, queries } from './api.ts';
import { screenTexts } from './screen-texts.ts';

const platformsQuery = queryOptions({
  queryKey: ['platforms'],
  queryFn: ({ signal }) => licet.platforms({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The label of a platform: that of the service if it was read, else the console's own. */
export function platformLabel(platform: LicensePlatform): string {
  const labels = queries.getQueryData(platformsQuery.queryKey);
  const label = labels?.find((known) => known.platform === platform)?.label;
  // For a platform without a label the service returns the name.
  return label === undefined || label === platform ? screenTexts.platforms[platform] : label;
}

/**
 * Whether a form offers a platform: one of those without a telling name only with a label, or if the object has it
 * (3).
 */
export function isOffered(platform: LicensePlatform, isUsed: boolean): boolean {
  if (isUsed || !LABELLED_PLATFORMS.some((one) => one === platform)) return true;
  const labels = queries.getQueryData(platformsQuery.queryKey) ?? [];
  return labels.some((known) => known.platform === platform && known.label !== platform);
}

/** Reads the labels of the platforms, and renders again with them. */
export function usePlatformLabel(): typeof platformLabel {
  useQuery(platformsQuery);
  return platformLabel;
}
