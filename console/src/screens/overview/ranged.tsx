import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import { TextLink } from '../../components/button.tsx';
import { LoadFailure, Notice, Section, Skeleton } from '../../components/page.tsx';
import { Nothing } from '../../components/section-rows.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber, productName } from '../../format.ts';
import { useMay } from '../../session.ts';
import { texts } from '../../texts.ts';
import { ExpirySection } from './expiries.tsx';
import { OutcomeSection } from './outcome-section.tsx';
import { type Statistics, statisticsQuery } from './queries.ts';
import type { Range } from './route.ts';

const words = texts.overview;

/** The outcomes of a range, which also say that its statistics load, or why they cannot. */
export function Outcomes({ range }: { range: Range }) {
  const { data, error, refetch } = useQuery(statisticsQuery(range));
  if (data) {
    return (
      <>
        <Gaps gaps={data.gaps} />
        <OutcomeSection data={data} range={range} />
      </>
    );
  }
  return (
    <Section title={words.outcomes}>
      {error ? (
        <LoadFailure error={error} onRetry={refetch} />
      ) : (
        <div className="min-h-80">
          <Skeleton lines={6} />
        </div>
      )}
    </Section>
  );
}

/** The licenses of a range by product, and those that expire. */
export function Licenses({ range }: { range: Range }) {
  const { data } = useQuery(statisticsQuery(range));
  return (
    data && (
      <>
        <Products data={data} range={range} />
        <ExpirySection expiries={data.expiries} />
      </>
    )
  );
}

/** The versions that programs of a range have sent. */
export function Versions({ range }: { range: Range }) {
  const { data } = useQuery(statisticsQuery(range));
  return data && <VersionSection data={data} />;
}

/** Says how many requests are missing in the history. */
function Gaps({ gaps }: Pick<Statistics, 'gaps'>) {
  const last = gaps.at(-1);
  if (last === undefined) return null;
  const missing = gaps.reduce((sum, { requests }) => sum + requests, 0);
  return (
    <Notice tone="warn">
      {words.gap(missing)} <Time value={last.time} />. {words.gapReason}
    </Notice>
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

interface BarRow {
  key: string | number;
  /** In a row of its own above. */
  head?: ReactNode;
  name: ReactNode;
  /** The length of the bar, from 0 to 1: 1 is the longest one. */
  part: number;
  numbers: readonly number[];
}

/** A table of names with a bar each, and of their numbers. */
function BarTable({
  title,
  note,
  empty,
  headers,
  rows,
}: {
  title: string;
  note: string;
  empty: string;
  headers: readonly string[];
  rows: readonly BarRow[];
}) {
  const cell = 'py-2 pl-4 sm:pl-5';
  const numberCell =
    'w-14 py-2 pl-3 text-right last:w-25 last:pr-4 sm:w-24 sm:last:w-28 sm:last:pr-5';
  return (
    <Section title={title} note={note}>
      {rows.length === 0 ? (
        <Nothing>{empty}</Nothing>
      ) : (
        <table className="w-full text-left">
          <thead>
            <tr className="border-b border-line text-xs text-muted">
              {headers.map((header, index) => (
                <th
                  key={header}
                  scope="col"
                  className={`font-medium ${index === 0 ? cell : numberCell}`}
                >
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, head, name, part, numbers }) => (
              <Fragment key={key}>
                {head && (
                  <tr className="border-b border-line bg-page">
                    <th
                      scope="rowgroup"
                      colSpan={headers.length}
                      className={`max-w-0 pr-4 font-medium sm:pr-5 ${cell}`}
                    >
                      {head}
                    </th>
                  </tr>
                )}
                <tr className="border-line not-last:border-b">
                  <td className={`max-w-0 ${cell}`}>
                    {name}
                    <Bar part={part} />
                  </td>
                  {numbers.map((number, index) => (
                    <td key={headers[index + 1]} className={numberCell}>
                      {formatNumber(number)}
                    </td>
                  ))}
                </tr>
              </Fragment>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function Products({ data: { products }, range }: { data: Statistics; range: Range }) {
  const mayReadLicenses = useMay('readLicenses');
  const highest = Math.max(1, ...products.map(({ active }) => active));
  return (
    <BarTable
      title={words.products}
      note={words.validationsIn[range]}
      empty={words.noProducts}
      headers={[words.product, words.activeShort, words.validationsShort]}
      rows={products.map(({ productId, productName: name, active, validations }) => ({
        key: productId,
        name: (
          <span className="block truncate" title={name}>
            {mayReadLicenses ? (
              <TextLink to="/licenses" search={{ productId }}>
                {name}
              </TextLink>
            ) : (
              name
            )}
          </span>
        ),
        part: active / highest,
        numbers: [active, validations],
      }))}
    />
  );
}

const MAX_VERSIONS = 10;
/** Where there are several products: the products that show their versions, and the versions of each. */
const MAX_GROUPS = 5;
const MAX_GROUP_VERSIONS = 3;

/** The versions of each product, those with the most installations first. */
function VersionSection({ data: { versions, products } }: { data: Statistics }) {
  const mayReadProducts = useMay('readProducts');
  const groups = [...Map.groupBy(versions, ({ productId }) => productId)]
    .map(([productId, ofProduct]) => ({
      productId,
      versions: ofProduct,
      total: ofProduct.reduce((sum, { installations }) => sum + installations, 0),
    }))
    .toSorted((a, b) => b.total - a.total)
    .slice(0, MAX_GROUPS);
  const limit = groups.length > 1 ? MAX_GROUP_VERSIONS : MAX_VERSIONS;
  const names = new Map(products.map(({ productId, productName: name }) => [productId, name]));
  const headOf = (productId: number, left: number) => {
    const name = productName(names, productId);
    return (
      <span className="flex gap-3">
        <span className="min-w-0 flex-1 truncate" title={name}>
          {mayReadProducts ? (
            <TextLink to="/products/$id" params={{ id: productId }}>
              {name}
            </TextLink>
          ) : (
            name
          )}
        </span>
        {left > 0 && <span className="text-muted">{words.moreVersions(left)}</span>}
      </span>
    );
  };
  return (
    <BarTable
      title={words.versions}
      note={words.mostUsed}
      empty={words.noVersions}
      headers={[words.version, words.installations]}
      rows={groups.flatMap(({ productId, versions: all }) =>
        all.slice(0, limit).map(({ productVersion, installations }, index) => ({
          key: `${productId} ${productVersion}`,
          ...(index === 0 && { head: headOf(productId, all.length - limit) }),
          name: (
            <span className={`block truncate ${productVersion === null ? 'text-muted' : ''}`}>
              {productVersion ?? words.noVersion}
            </span>
          ),
          part: installations / (all[0]?.installations ?? 1),
          numbers: [installations],
        })),
      )}
    />
  );
}
