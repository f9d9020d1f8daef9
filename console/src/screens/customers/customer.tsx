import type { Customer, License, LicenseRequest } from '@licet/client';
import { countTaken } from '@licet/contract/addresses';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { hasStatus, licet, queries } from '../../api.ts';
import { StatusBadge } from '../../components/badge.tsx';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Cancel, EditPage } from '../../components/edit-page.tsx';
import { Download, Pencil } from '../../components/icons.tsx';
import { MetadataTexts } from '../../components/metadata-texts.tsx';
import { Facts, Notice, Page, Section } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { EndTime, Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { datedName, saveFile } from '../../csv.ts';
import { formatNumber, formatSlots, productName } from '../../format.ts';
import { editedQuery, OneItem } from '../../layout/one-item.tsx';
import { usePlatformLabel } from '../../platforms.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { EventSection } from '../events/section.tsx';
import { HistorySection } from '../history/section.tsx';
import { accountsOf, isForgotten, nameOf } from './accounts.ts';
import { CustomerForm, refreshCustomers } from './form.tsx';
import { LinkButton } from './link-button.tsx';
import { customerEditRoute, customerRoute } from './route.ts';

const words = screenTexts.customers;
const LICENSE_ROWS = 10;
const HISTORY_ROWS = 10;

const customerQuery = (id: number) =>
  queryOptions({
    queryKey: ['customers', 'one', id],
    queryFn: ({ signal }) => licet.customers.get(id, { signal }),
  });

/** A customer: the person, the licenses, and what happened to them. */
export function Screen() {
  const { id } = customerRoute.useParams();
  return (
    <OneItem query={useQuery(customerQuery(id))}>
      {(customer) => <CustomerScreen customer={customer} />}
    </OneItem>
  );
}

function CustomerScreen({ customer }: { customer: Customer }) {
  const { id } = customer;
  const { open } = customerRoute.useSearch();
  const navigate = customerRoute.useNavigate();
  const refusal = useRefusal('everything');
  const mayReadLicenses = useMay('readLicenses');
  const mayReadRequests = useMay('readRequests');
  const licenses = useQuery({
    queryKey: ['licenses', 'of-customer', id],
    queryFn: ({ signal }) =>
      licet.licenses.byCustomerId(id).page({ limit: LICENSE_ROWS, sort: '-id' }, { signal }),
    enabled: mayReadLicenses,
  });
  const requests = useQuery({
    ...requestsQuery(licenses.data?.items ?? []),
    enabled: mayReadRequests && licenses.data !== undefined,
  });
  useShortcuts({
    e: () => {
      if (refusal === undefined && !isForgotten(customer))
        void navigate({ to: '/customers/$id/edit', params: { id } });
    },
  });
  return (
    <Page title={nameOf(customer)} actions={<Actions customer={customer} refusal={refusal} />}>
      {isForgotten(customer) && <Notice>{words.noDataLead}</Notice>}
      <Details customer={customer} />
      {mayReadLicenses && (
        <LicenseSection
          query={{ ...licenses, data: licenses.data?.items }}
          total={licenses.data?.total}
          customer={customer}
        />
      )}
      {mayReadRequests && mayReadLicenses && (
        <HistorySection
          query={requests}
          hasKeys
          open={open}
          linkOf={(request) => ({
            to: '/customers/$id',
            params: { id },
            search: { open: request },
            resetScroll: false,
          })}
          onClose={() => void navigate({ search: {}, replace: true, resetScroll: false })}
        />
      )}
      <EventSection filter={{ resourceType: 'customer', resourceId: id }} />
    </Page>
  );
}

/** The latest requests with the keys of some licenses. The history has no filter for a customer. */
const requestsQuery = (licenses: readonly License[]) => {
  const keys = licenses.map(({ licenseKey }) => licenseKey);
  return queryOptions({
    queryKey: ['history', 'of', ...keys],
    queryFn: async ({ signal }): Promise<LicenseRequest[]> => {
      const lists = keys.map((licenseKey) =>
        licet.requests.list({ licenseKey, limit: HISTORY_ROWS }, { signal }),
      );
      const all = (await Promise.all(lists)).flat();
      return all.sort((a, b) => b.id - a.id).slice(0, HISTORY_ROWS);
    },
  });
};

/** Erases a person. The service erases a long history in parts, and returns 409 until all parts are erased. */
async function forget(id: number): Promise<void> {
  for (;;) {
    try {
      return await licet.customers.delete(id);
    } catch (error) {
      if (!hasStatus(error, 409)) throw error;
    }
  }
}

function Actions({ customer, refusal }: { customer: Customer; refusal: string | undefined }) {
  const { id } = customer;
  const [isForgetting, setForgetting] = useState(false);
  // Programs of a forgotten person may still ask, and their history can be erased again.
  const isEmpty = isForgotten(customer);
  const forgetPerson = async (): Promise<void> => {
    const name = nameOf(customer);
    const isSure = await confirm({
      title: words.forgetTitle(name),
      lead: words.forgetLead,
      action: words.forgetAction,
    });
    if (!isSure) return;
    setForgetting(true);
    try {
      await forget(id);
      toasts.done(words.forgotten(name));
      // Lists of the history keep what they have read, and so do the screens that are not shown.
      queries.removeQueries({ type: 'inactive' });
      await Promise.all([queries.resetQueries({ queryKey: ['history'] }), refreshCustomers()]);
    } catch (error) {
      toasts.fail(error);
    } finally {
      setForgetting(false);
    }
  };
  const mayExport = useMay('readEvents');
  const [isExporting, setExporting] = useState(false);
  const exportPerson = async (): Promise<void> => {
    setExporting(true);
    try {
      const exported = await licet.customers.export(id);
      const json = JSON.stringify(exported, null, 2);
      saveFile(datedName(`customer-${id}`, 'json'), 'application/json', [json, '\n']);
      const name = nameOf(customer);
      const { cut } = exported;
      toasts.done(cut.length === 0 ? words.exported(name) : words.exportedPart(name, cut));
    } catch (error) {
      toasts.fail(error);
    } finally {
      setExporting(false);
    }
  };
  const mayLink = useRefusal('writeLicenses') === undefined && !isEmpty;
  return (
    <>
      {mayLink && <LinkButton of={{ customerId: id }} />}
      {refusal === undefined && !isEmpty && (
        <ButtonLink to="/customers/$id/edit" params={{ id }}>
          <Pencil size={16} aria-hidden />
          {texts.actions.edit}
        </ButtonLink>
      )}
      {mayExport && (
        <Button disabled={isExporting} onClick={exportPerson}>
          <Download size={16} aria-hidden />
          {isExporting ? words.exporting : words.export}
        </Button>
      )}
      <Button refusal={refusal} disabled={isForgetting} onClick={forgetPerson}>
        {isForgetting ? words.forgetting : isEmpty ? words.forgetAgain : words.forget}
      </Button>
    </>
  );
}

function Details({ customer }: { customer: Customer }) {
  const labelOf = usePlatformLabel();
  const { firstName, lastName, createdAt, id } = customer;
  const rows: readonly (readonly [string, ReactNode])[] = [
    [words.columns.name, [firstName, lastName].filter(Boolean).join(' ')],
    [words.email, customer.email],
    [words.phoneNumber, customer.phoneNumber],
    [words.username, customer.username],
    [words.columns.chat, [customer.chatUsername, customer.chatId].filter(Boolean).join(' · ')],
    [
      words.accounts,
      accountsOf(customer, labelOf).map((account) => <p key={account}>{account}</p>),
    ],
    [
      screenTexts.metadata.title,
      Object.keys(customer.metadata).length > 0 && (
        <MetadataTexts metadata={customer.metadata} list="/customers" />
      ),
    ],
    [words.columns.created, createdAt && <Time value={createdAt} />],
    [words.columns.id, id],
  ];
  const isGiven = (value: ReactNode): boolean =>
    Array.isArray(value) ? value.length > 0 : Boolean(value);
  return (
    <Section title={words.person}>
      <Facts rows={rows.filter(([, value]) => isGiven(value))} />
    </Section>
  );
}

function LicenseSection({
  query,
  total,
  customer: { id, email },
}: {
  query: { data: readonly License[] | undefined; error: unknown; refetch: () => void };
  total: number | undefined;
  customer: Customer;
}) {
  const mayWrite = useMay('writeLicenses');
  const names = useProductNames();
  const { columns: headers, noDate } = screenTexts.licenses;
  const columns: readonly SimpleColumn<License>[] = [
    [
      headers.licenseKey,
      ({ id: licenseId, licenseKey }) => (
        <TextLink
          to="/licenses/$licenseId"
          params={{ licenseId }}
          title={licenseKey}
          className="inline-block max-w-64 truncate align-bottom font-mono text-[0.8125rem] max-sm:max-w-full"
        >
          {licenseKey}
        </TextLink>
      ),
    ],
    [headers.status, ({ licenseStatus }) => <StatusBadge status={licenseStatus} />],
    [
      headers.product,
      ({ productId }) => <span className="wrap-anywhere">{productName(names, productId)}</span>,
    ],
    [
      headers.expires,
      ({ expiryDate, expiresAfterDays }) =>
        expiryDate === null ? (
          <span className="text-muted">{noDate(expiresAfterDays)}</span>
        ) : (
          <EndTime value={expiryDate} />
        ),
    ],
    [headers.ips, ({ ips, maxIPs }) => formatSlots(countTaken(ips), maxIPs), 'number'],
    [headers.hwids, ({ hwids, maxHWIDs }) => formatSlots(hwids.length, maxHWIDs), 'number'],
    [
      headers.notes,
      ({ notes }) =>
        notes && (
          <span className="line-clamp-2 wrap-anywhere sm:max-w-60 sm:min-w-24">{notes}</span>
        ),
      'wide',
    ],
  ];
  return (
    <Section
      title={words.licenses}
      note={total !== undefined && total > 0 && formatNumber(total)}
      actions={
        <>
          {total !== undefined && total > LICENSE_ROWS && (
            <TextLink to="/licenses" search={{ customerId: id }} className="mr-2">
              {words.allLicenses}
            </TextLink>
          )}
          {mayWrite && email !== null && (
            <ButtonLink to="/licenses/new" search={{ email }}>
              {words.newLicense}
            </ButtonLink>
          )}
        </>
      }
    >
      <SectionRows query={query} empty={words.noLicenses}>
        {(rows) => <SimpleTable rows={rows} label={words.licenses} columns={columns} />}
      </SectionRows>
    </Section>
  );
}

/** Edits a customer. */
export function EditScreen() {
  const { id } = customerEditRoute.useParams();
  const navigate = customerEditRoute.useNavigate();
  const link = { to: '/customers/$id', params: { id } } as const;
  return (
    <OneItem query={useQuery(editedQuery('customer', id, licet.customers))}>
      {(stored) => (
        <EditPage name={nameOf(stored.item)}>
          <CustomerForm
            stored={stored}
            onDone={() => void navigate(link)}
            cancel={<Cancel {...link} />}
          />
        </EditPage>
      )}
    </OneItem>
  );
}
