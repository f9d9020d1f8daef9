import type { License } from '@licet/client';
import { MAX_BATCH_LICENSES } from '@licet/contract/limits';
import { useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Download } from '../../components/icons.tsx';
import { Page, Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { cellOf, downloadCsv } from '../../csv.ts';
import { productName } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { licensesCreatedRoute } from './route.ts';

const words = screenTexts.licenseForm;

/** The headings of the file with the new keys: those that a buyer's mail needs, as the import names them. */
const SHORT = ['licenseKey', 'productId', 'expiryDate', 'maxIPs', 'maxHWIDs', 'notes'] as const;

const shortRow = (license: License) => SHORT.map((heading) => cellOf(license, heading));

/** The keys of licenses that were created at once: their ids follow each other. */
export function Screen() {
  const { first = 1, last = first } = licensesCreatedRoute.useSearch();
  const query = useQuery({
    queryKey: ['licenses', 'created', first, last],
    queryFn: async ({ signal }) => {
      const limit = Math.min(Math.max(1, last - first + 1), MAX_BATCH_LICENSES);
      const page = { sort: 'id' as const, limit, total: false };
      const licenses = await licet.licenses.list(first > 1 ? { ...page, after: first - 1 } : page, {
        signal,
      });
      return licenses.filter(({ id }) => id <= last);
    },
  });
  const licenses = query.data ?? [];
  const names = useProductNames();
  const product = productName(names, licenses[0]?.productId ?? 0);
  const fileName = words.csvName(product.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-'));
  return (
    <Page
      title={words.created(query.data?.length ?? last - first + 1)}
      lead={words.createdLead}
      actions={
        <>
          <Button
            look="primary"
            disabled={!query.data}
            onClick={() => downloadCsv(fileName, [SHORT, ...licenses.map(shortRow)])}
          >
            <Download size={16} aria-hidden />
            {words.csv}
          </Button>
          <CopyButton
            value={licenses.map(({ licenseKey }) => licenseKey).join('\n')}
            label={words.copyAll}
          />
          <ButtonLink to="/licenses/new" search={{ productId: licenses[0]?.productId }}>
            {words.more}
          </ButtonLink>
        </>
      }
    >
      <Section title={screenTexts.licenses.title}>
        <SectionRows query={query} empty={texts.errors.notFound}>
          {(rows) => (
            <ul className="grid gap-x-6 gap-y-2 p-4 font-mono text-[0.8125rem] sm:grid-cols-2 sm:p-5 lg:grid-cols-3">
              {rows.map(({ id, licenseKey }) => (
                <li key={id}>
                  <TextLink to="/licenses/$licenseId" params={{ licenseId: id }}>
                    {licenseKey}
                  </TextLink>
                </li>
              ))}
            </ul>
          )}
        </SectionRows>
      </Section>
    </Page>
  );
}
