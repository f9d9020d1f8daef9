import { useQuery } from '@tanstack/react-query';
import { TextLink } from '../../components/button.tsx';
import { formatNumber } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { totalQuery } from './queries.ts';

const words = screenTexts.licenses;

/** The number of licenses of a row, with a link to them; nothing if the token may not read licenses. */
export function LicenseCount({
  of,
  name,
  isCounted = true,
  isNumber = false,
}: {
  of: { productId: number } | { customerId: number };
  /** The name of the row, for screen readers. */
  name: string;
  /** Each number takes a request: without it the link has a word. */
  isCounted?: boolean;
  /** Stands beside a heading: without the word on a phone, too. */
  isNumber?: boolean;
}) {
  const mayRead = useMay('readLicenses');
  const { data: total } = useQuery({ ...totalQuery(of), enabled: mayRead && isCounted });
  const isKnown = typeof total === 'number';
  if (!mayRead || (isCounted && !isKnown)) return null;
  return (
    <TextLink
      to="/licenses"
      search={of}
      aria-label={words.ofRow(isKnown ? total : undefined, name)}
    >
      {isKnown && isNumber ? (
        formatNumber(total)
      ) : isKnown ? (
        <>
          <span className="md:hidden">{words.count(total)}</span>
          <span className="max-md:hidden">{formatNumber(total)}</span>
        </>
      ) : (
        words.title
      )}
    </TextLink>
  );
}
