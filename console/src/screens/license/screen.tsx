import type { License, LicenseStatus, Purchase } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { StatusBadge } from '../../components/badge.tsx';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Pencil } from '../../components/icons.tsx';
import { EntitlementTexts, MetadataTexts } from '../../components/metadata-texts.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { formatNumber, productName } from '../../format.ts';
import { OneItem } from '../../layout/one-item.tsx';
import { usePlatformLabel } from '../../platforms.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { EventSection } from '../events/section.tsx';
import { HistorySection } from '../history/section.tsx';
import { ownerName } from '../licenses/columns.tsx';
import { ExtendButton } from '../licenses/extend-button.tsx';
import { MailsOf, SendKey } from '../mail/send-key.tsx';
import { orderOf } from '../markets/names.ts';
import { purchasesOfQuery } from '../markets/queries.ts';
import { InstallationSection } from './activity.tsx';
import { Handover } from './handover.tsx';
import { change, licenseQuery, requestsQuery } from './queries.ts';
import { licenseRoute } from './route.ts';
import { Slots } from './slots.tsx';
import { Verdict } from './verdict.tsx';

const words = screenTexts.license;

export function Screen() {
  const { licenseId } = licenseRoute.useParams();
  return (
    <OneItem query={useQuery(licenseQuery(licenseId))}>
      {({ item }) => <LicenseScreen license={item} />}
    </OneItem>
  );
}

function LicenseScreen({ license }: { license: License }) {
  const { id, licenseKey, licenseStatus } = license;
  const navigate = licenseRoute.useNavigate();
  const refusal = useRefusal('writeLicenses');
  const mayReadRequests = useMay('readRequests');
  const { data: purchases = [] } = useQuery({
    ...purchasesOfQuery(id),
    enabled: useMay('readPurchases'),
  });
  useShortcuts({
    e: () => {
      if (refusal === undefined)
        void navigate({ to: '/licenses/$licenseId/edit', params: { licenseId: id } });
    },
  });
  return (
    <Page
      title={words.title(licenseKey)}
      heading={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1 sm:-my-1">
          <span className="font-mono text-base break-all sm:text-lg">{licenseKey}</span>
          <CopyButton value={licenseKey} label={words.copyKey} isIcon />
          <StatusBadge status={licenseStatus} />
        </span>
      }
      actions={<Actions license={license} refusal={refusal} />}
    >
      {mayReadRequests && <Verdict license={license} />}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Details license={license} purchases={purchases} refusal={refusal} />
        <div id="slots" className="flex min-w-0 scroll-mt-20 flex-col gap-5 max-lg:-order-1">
          <Slots license={license} kind="ips" refusal={refusal} />
          <Slots license={license} kind="hwids" refusal={refusal} />
        </div>
      </div>
      <div id="installations" className="scroll-mt-20 empty:hidden">
        <InstallationSection license={license} />
      </div>
      {mayReadRequests && <History license={license} />}
      <MailsOf licenseId={id} />
      <EventSection
        filter={{ resourceType: 'license', resourceId: id }}
        also={purchases.map((one) => ({ resourceType: 'purchase', resourceId: one.id }))}
      />
    </Page>
  );
}

const HISTORY_ROWS = 10;

function History({ license: { id: licenseId, licenseKey } }: { license: License }) {
  const { open } = licenseRoute.useSearch();
  const navigate = licenseRoute.useNavigate();
  const query = useQuery(requestsQuery(licenseKey));
  return (
    <HistorySection
      query={{ ...query, data: query.data?.slice(0, HISTORY_ROWS) }}
      open={open}
      linkOf={(request) => ({
        to: '/licenses/$licenseId',
        params: { licenseId },
        search: { open: request },
        resetScroll: false,
      })}
      onClose={() => void navigate({ search: {}, replace: true, resetScroll: false })}
      actions={
        <TextLink to="/history" search={{ licenseKey }} className="mr-2">
          {words.historyAll}
        </TextLink>
      }
    />
  );
}

function Actions({ license, refusal }: { license: License; refusal: string | undefined }) {
  const { id, licenseStatus, licenseType } = license;
  const setStatus = async (status: keyof typeof words.statusDone): Promise<void> => {
    try {
      const before: LicenseStatus =
        (await change(id, () => ({ licenseStatus: status })))?.licenseStatus ?? status;
      toasts.done(words.statusDone[status], () => change(id, () => ({ licenseStatus: before })));
    } catch (error) {
      toasts.fail(error);
    }
  };
  const remove = async (): Promise<void> => {
    const { ask, willBeRefused } = screenTexts.licenses.bulk;
    const isActive = licenseStatus === 'ACTIVE';
    const question = {
      title: ask.delete(1),
      lead: willBeRefused(isActive ? 1 : 0),
      action: words.delete,
    };
    if (await confirm(question)) await setStatus('DELETED');
  };
  const isDeleted = licenseStatus === 'DELETED';
  return (
    <>
      {refusal === undefined && (
        <ButtonLink to="/licenses/$licenseId/edit" params={{ licenseId: id }}>
          <Pencil size={16} aria-hidden />
          {texts.actions.edit}
        </ButtonLink>
      )}
      {licenseType === 'TEMPORARY' && <ExtendButton license={license} refusal={refusal} />}
      {licenseStatus === 'ACTIVE' && (
        <SendKey licenseId={id} email={license.customer?.email ?? null} />
      )}
      {isDeleted || licenseStatus === 'DEACTIVATED' ? (
        <Button refusal={refusal} onClick={() => setStatus('ACTIVE')}>
          {isDeleted ? words.restore : words.reactivate}
        </Button>
      ) : (
        <Button refusal={refusal} onClick={() => setStatus('DEACTIVATED')}>
          {words.deactivate}
        </Button>
      )}
      {!isDeleted && (
        <Button refusal={refusal} onClick={remove}>
          {words.delete}
        </Button>
      )}
    </>
  );
}

function Details({
  license,
  purchases,
  refusal,
}: {
  license: License;
  purchases: readonly Purchase[];
  refusal: string | undefined;
}) {
  const names = useProductNames();
  const labelOf = usePlatformLabel();
  const mayReadCustomers = useMay('readCustomers');
  const mayReadProducts = useMay('readProducts');
  const none = <span className="text-muted">{words.none}</span>;
  const { customer, licensePlatform, licensePlatformOther, ownerPlatformId } = license;
  const owner = ownerName(license);
  const platform = licensePlatform && (licensePlatformOther || labelOf(licensePlatform));
  return (
    <Section title={words.facts} actions={<Handover license={license} refusal={refusal} />}>
      <Facts
        rows={[
          [
            words.product,
            mayReadProducts ? (
              <TextLink key="product" to="/products/$id" params={{ id: license.productId }}>
                {productName(names, license.productId)}
              </TextLink>
            ) : (
              productName(names, license.productId)
            ),
          ],
          [
            words.owner,
            owner && customer && mayReadCustomers ? (
              <TextLink key="owner" to="/customers/$id" params={{ id: customer.id }}>
                {owner}
              </TextLink>
            ) : (
              owner || none
            ),
          ],
          ...(customer?.email && customer.email !== owner
            ? [[words.email, customer.email] as const]
            : []),
          ...(license.ownerChatId
            ? [
                [
                  words.chat,
                  [license.ownerChatUsername, license.ownerChatId].filter(Boolean).join(' · '),
                ] as const,
              ]
            : []),
          ...purchases.map(
            (purchase) =>
              [
                words.platform,
                <TextLink key={purchase.id} to="/purchases" search={{ open: purchase.id }}>
                  {screenTexts.purchases.boughtAt(
                    purchase.marketName ?? screenTexts.purchases.goneMarket,
                    orderOf(purchase),
                  )}
                  <Time value={purchase.createdAt} show="date" />
                </TextLink>,
              ] as const,
          ),
          ...(platform
            ? [
                [
                  purchases.length > 0 ? words.account : words.platform,
                  [platform, ownerPlatformId].filter(Boolean).join(' · '),
                ] as const,
              ]
            : []),
          [
            words.expires,
            license.expiryDate === null ? (
              screenTexts.licenses.noDate(license.expiresAfterDays)
            ) : (
              <>
                <Time value={license.expiryDate} />{' '}
                <span className="text-muted">
                  (<Time value={license.expiryDate} show="ago" />)
                </span>
              </>
            ),
          ],
          [words.id, String(license.id)],
          [words.requests, formatNumber(license.totalRequests)],
          [words.created, <Time key="created" value={license.createdDate} />],
          [words.updated, <Time key="updated" value={license.updatedDate} />],
          [
            words.notes,
            license.notes ? (
              <span key="notes" className="whitespace-pre-wrap">
                {license.notes}
              </span>
            ) : (
              none
            ),
          ],
          ...(Object.keys(license.effectiveEntitlements).length === 0
            ? []
            : [
                [
                  screenTexts.entitlements.title,
                  <EntitlementTexts
                    key="entitlements"
                    effectiveEntitlements={license.effectiveEntitlements}
                    entitlementsExpire={license.entitlementsExpire}
                  />,
                ] as const,
              ]),
          ...(Object.keys(license.metadata).length === 0
            ? []
            : [
                [
                  screenTexts.metadata.title,
                  <MetadataTexts key="metadata" metadata={license.metadata} list="/licenses" />,
                ] as const,
              ]),
        ]}
      />
    </Section>
  );
}
