import { LicetError } from '@licet/client';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { queryOptions } from '@tanstack/react-query';
import { hasStatus, licet, queries } from '../../api.ts';
import { confirm } from '../../components/confirm.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { networkIn, rangeIn } from './range.ts';

/** The effect of an entry for an address or a range, and the question before a large one. */

const words = screenTexts.blacklist.range;

/** An entry that refuses more licenses is asked about first. */
const MAX_UNASKED_HITS = 10;

/** The licenses whose programs asked from an address or a range, to which an entry would apply. */
export const hitsQuery = (ip: string | undefined, productId: number | null) =>
  queryOptions({
    queryKey: ['licenses', 'hits', ip, productId],
    queryFn: async ({ signal }): Promise<number> => {
      const product = productId === null ? {} : { productId };
      try {
        const page = await licet.licenses.page({ ip, limit: 1, ...product }, { signal });
        return page.total ?? 0;
      } catch (error) {
        // Too many installations for a count.
        if (hasStatus(error, 400)) return Number.POSITIVE_INFINITY;
        throw error;
      }
    },
  });

/** The effect of an entry in words. */
export const describeHits = (hits: number): string =>
  Number.isFinite(hits) ? words.hits(hits) : words.manyHits;

/**
 * Asks before an address or a range is blocked that is wide, or from which programs with many licenses asked.
 *
 * @throws LicetError for a range that the service would reject
 */
export async function confirmBlock(
  text: string,
  productId: number | null,
  mayCount: boolean,
): Promise<boolean> {
  const range = rangeIn(text);
  if (range?.tooWide !== undefined) throw new LicetError(400, `data ${range.tooWide}`);
  const network = networkIn(text);
  if (network === undefined) return true;
  // An unknown effect keeps nobody from blocking.
  const counted = mayCount ? queries.fetchQuery(hitsQuery(network, productId)) : undefined;
  const hits = await counted?.catch(() => undefined);
  if (!range?.isWide && (hits ?? 0) <= MAX_UNASKED_HITS) return true;
  return confirm({
    title: words.title(network),
    lead: [range?.bounds, hits !== undefined && describeHits(hits)].filter(Boolean).join(' '),
    action: screenTexts.blacklist.new,
  });
}

/** Asks before a hardware ID is blocked that many machines share. */
export async function confirmHwid(hwid: string): Promise<boolean> {
  const why = sharedHwid(hwid);
  if (why === undefined) return true;
  const { blockTitle, block } = screenTexts.sharedHwid;
  return confirm({ title: blockTitle, lead: block(why), action: screenTexts.blacklist.new });
}
