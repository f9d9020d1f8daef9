import { useQuery } from '@tanstack/react-query';
import { TextLink } from '../../components/button.tsx';
import { formatNumber } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { totalQuery } from './queries.ts';

const words = screenTexts.licenses;

/** A link to the licenses of a row, with their number if it is known. */
export function LicenseLink({
  of,
  name,
  total,
  isNumber = false,
}: {
  of: { productId: number } | { customerId: number };
  /** The name of the row, for screen readers. */
  name: string;
  total?: number | undefined;
  /** Stands beside a heading: without the word on a phone, too. */
  isNumber?: boolean;
}) {
  return (
    <TextLink
      to="/licenses"
      search={of}
      aria-label={words.ofRow(total, name)}
      className="inline-block min-w-6"
    >
      {total === undefined ? (
        words.title
      ) : isNumber ? (
        formatNumber(total)
      ) : (
        <>
          <span className="md:hidden">{words.count(total)}</span>
          <span className="max-md:hidden">{formatNumber(total)}</span>
        </>
      )}
    </TextLink>
  );
}

/** The number of licenses of a product, with a link to them; nothing if the token may not read licenses. */
export function LicenseCount({
  of,
  name,
  isCounted = true,
  isNumber = false,
}: {
  of: { productId: number };
  name: string;
  /** Each number takes a request: without it the link has a word. */
  isCounted?: boolean;
  isNumber?: boolean;
}) {
  const mayRead = useMay('readLicenses');
  const { data } = useQuery({ ...totalQuery(of), enabled: mayRead && isCounted });
  const total = data ?? undefined;
  return mayRead && (!isCounted || total !== undefined) ? (
    <LicenseLink of={of} name={name} total={total} isNumber={isNumber} />
  ) : null;
}
