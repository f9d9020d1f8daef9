import { useQuery } from '@tanstack/react-query';
import { TextLink } from '../../components/button';
import { LoadFailure, Section, Skeleton } from '../../components/page';
import { formatNumber, productName } from '../../format';
import { useMay } from '../../session';
import { texts } from '../../texts';
import { ExpirySection } from './expiries';
import { Nothing } from './nothing';
import { OutcomeSection } from './outcome-section';
import { type Statistics, statisticsQuery } from './queries';
import type { Range } from './route';

const words = texts.overview;

/** The parts that belong to a range. */
export default function Ranged({ range }: { range: Range }) {
  const { data, error, refetch } = useQuery(statisticsQuery(range));
  if (error && !data) {
    return (
      <Section title={words.outcomes}>
        <LoadFailure error={error} onRetry={refetch} />
      </Section>
    );
  }
  if (!data) {
    return (
      <Section title={words.outcomes}>
        <div className="min-h-80">
          <Skeleton lines={6} />
        </div>
      </Section>
    );
  }
  return (
    <>
      <OutcomeSection data={data} range={range} />
      <div className="grid gap-5 xl:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-5">
          <Products data={data} range={range} />
          <ExpirySection expiries={data.expiries} />
        </div>
        <Versions data={data} />
      </div>
    </>
  );
}

/** A bar whose length is a fraction of the longest one. */
const Bar = ({ part }: { part: number }) => (
  <svg
    viewBox="0 0 100 6"
    preserveAspectRatio="none"
    aria-hidden
    className="h-1.5 w-full rounded-full bg-hover"
  >
    <rect width={Math.max(1, 100 * part)} height="6" className="fill-accent" />
  </svg>
);

function Products({ data: { products }, range }: { data: Statistics; range: Range }) {
  const mayReadLicenses = useMay('readLicenses');
  const highest = Math.max(1, ...products.map(({ active }) => active));
  return (
    <Section title={words.products} note={words.inRange[range]}>
      {products.length === 0 ? (
        <Nothing>{words.noProducts}</Nothing>
      ) : (
        <table className="w-full text-left">
          <thead>
            <tr className="border-b border-line text-xs text-muted">
              <th scope="col" className="py-2 pl-4 font-medium sm:pl-5">
                {words.product}
              </th>
              <th scope="col" className="py-2 pl-3 text-right font-medium">
                {words.activeShort}
              </th>
              <th scope="col" className="py-2 pr-4 pl-3 text-right font-medium sm:pr-5">
                {words.validationsShort}
              </th>
            </tr>
          </thead>
          <tbody>
            {products.map(({ productId, productName: name, active, validations }) => (
              <tr key={productId} className="border-line not-last:border-b">
                <td className="max-w-0 py-2 pl-4 sm:pl-5">
                  <span className="block truncate" title={name}>
                    {mayReadLicenses ? (
                      <TextLink to="/licenses" search={{ productId }}>
                        {name}
                      </TextLink>
                    ) : (
                      name
                    )}
                  </span>
                  <Bar part={active / highest} />
                </td>
                <td className="w-20 py-2 pl-3 text-right">{formatNumber(active)}</td>
                <td className="w-24 py-2 pr-4 pl-3 text-right sm:pr-5">
                  {formatNumber(validations)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

const MAX_VERSIONS = 10;

function Versions({ data: { versions, products } }: { data: Statistics }) {
  const names = new Map(products.map(({ productId, productName: name }) => [productId, name]));
  const shown = versions
    .toSorted((a, b) => b.installations - a.installations)
    .slice(0, MAX_VERSIONS);
  const highest = shown[0]?.installations ?? 1;
  return (
    <Section title={words.versions} note={words.mostUsed}>
      {shown.length === 0 ? (
        <Nothing>{words.noVersions}</Nothing>
      ) : (
        <table className="w-full text-left">
          <thead>
            <tr className="border-b border-line text-xs text-muted">
              <th scope="col" className="py-2 pl-4 font-medium sm:pl-5">
                {words.version}
              </th>
              <th scope="col" className="py-2 pr-4 pl-3 text-right font-medium sm:pr-5">
                {words.installations}
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ productId, productVersion, installations }) => {
              const name = productName(names, productId);
              return (
                <tr
                  key={`${productId} ${productVersion}`}
                  className="border-line not-last:border-b"
                >
                  <td className="max-w-0 py-2 pl-4 sm:pl-5">
                    <span className="flex gap-2">
                      <span className="min-w-0 truncate" title={name}>
                        {name}
                      </span>
                      <span className="max-w-40 shrink-0 truncate font-medium">
                        {productVersion ?? words.noVersion}
                      </span>
                    </span>
                    <Bar part={installations / highest} />
                  </td>
                  <td className="w-28 py-2 pr-4 pl-3 text-right sm:pr-5">
                    {formatNumber(installations)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Section>
  );
}
