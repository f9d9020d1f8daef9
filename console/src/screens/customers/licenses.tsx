import type { Customer } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { StatusBadge } from '../../components/badge.tsx';
import { ButtonLink, TextLink } from '../../components/button.tsx';
import { LoadFailure, Section, Skeleton } from '../../components/page.tsx';
import { formatNumber, productName } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';

const words = screenTexts.customers;

const SHOWN = 5;

/** The first licenses of a customer, with a link to all of them. */
export function CustomerLicenses({ customer: { id, email } }: { customer: Customer }) {
  const mayRead = useMay('readLicenses');
  const mayWrite = useMay('writeLicenses');
  const names = useProductNames();
  const page = useQuery({
    queryKey: ['licenses', 'of-customer', id],
    queryFn: ({ signal }) => licet.licenses.byCustomerId(id).page({ limit: SHOWN }, { signal }),
    enabled: mayRead,
  });
  if (!mayRead) return null;
  const total = page.data?.total;
  return (
    <Section
      title={words.licenses}
      note={total !== undefined && total > 0 && formatNumber(total)}
      actions={
        <>
          {page.data?.after !== undefined && (
            <ButtonLink to="/licenses" search={{ customerId: id }} look="quiet">
              {words.allLicenses}
            </ButtonLink>
          )}
          {mayWrite && email !== null && (
            <ButtonLink to="/licenses/new" search={{ email }} look="quiet">
              {words.newLicense}
            </ButtonLink>
          )}
        </>
      }
    >
      {page.error ? (
        <LoadFailure error={page.error} onRetry={page.refetch} />
      ) : !page.data ? (
        <Skeleton lines={2} />
      ) : page.data.items.length === 0 ? (
        <p className="px-4 py-3 text-muted sm:px-5">{words.noLicenses}</p>
      ) : (
        <ul>
          {page.data.items.map(({ id: licenseId, licenseKey, licenseStatus, productId }) => (
            <li
              key={licenseId}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line px-4 py-2.5 not-last:border-b sm:px-5"
            >
              <TextLink
                to="/licenses/$licenseId"
                params={{ licenseId }}
                className="font-mono text-[0.8125rem] break-all max-sm:w-full"
              >
                {licenseKey}
              </TextLink>
              <span className="min-w-0 flex-1 truncate text-muted">
                {productName(names, productId)}
              </span>
              <StatusBadge status={licenseStatus} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
