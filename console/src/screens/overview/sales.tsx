import { useQuery } from '@tanstack/react-query';
import { TextLink } from '../../components/button.tsx';
import { LoadFailure, Section } from '../../components/page.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { amountText } from '../markets/names.ts';
import { marketsQuery } from '../markets/queries.ts';
import { Figure } from './figure.tsx';
import { salesQuery } from './queries.ts';

const words = screenTexts.purchases;

const sumText = (sum: { amount: string; currency: string | null }): string =>
  sum.currency === null ? words.noCurrency(amountText(sum)) : amountText(sum);

/** The sales and refunds of today; nothing for a shop without a market. */
export default function Sales() {
  const sales = useQuery(salesQuery);
  const markets = useQuery({ ...marketsQuery, enabled: useMay('readMarkets') });
  const failed = [sales, markets].find(({ error, data }) => error && !data);
  if (failed) {
    return (
      <Section title={words.today}>
        <LoadFailure error={failed.error} onRetry={failed.refetch} />
      </Section>
    );
  }
  const { data } = sales;
  if (!data) return null;
  const lost = data.refunded + data.disputed;
  if (!markets.data?.length && data.sold + lost === 0) return null;
  return (
    <dl aria-label={words.today} className="grid grid-cols-2 gap-3 sm:gap-5">
      <Figure label={<TextLink to="/purchases">{words.sold}</TextLink>} value={data.sold}>
        {data.sold > 0 && (
          <p className="text-muted">
            {data.amounts.length === 0
              ? words.unknownAmount
              : data.amounts
                  // Those of a known currency come first.
                  .toSorted((a, b) => Number(a.currency === null) - Number(b.currency === null))
                  .map(sumText)
                  .join(' · ')}
          </p>
        )}
      </Figure>
      <Figure
        label={
          <TextLink to="/purchases" search={{ state: 'REVOKED' }}>
            {words.refunded}
          </TextLink>
        }
        value={lost}
      >
        {lost > 0 && <p className="text-muted">{words.lost(data.refunded, data.disputed)}</p>}
      </Figure>
    </dl>
  );
}
