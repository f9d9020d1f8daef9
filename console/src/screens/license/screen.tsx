import type { License, LicenseStatus } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import { useState } from 'react';
import { hasStatus } from '../../api.ts';
import { StatusBadge } from '../../components/badge.tsx';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Facts, LoadFailure, Page, Section, Skeleton } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { formatNumber, productName } from '../../format.ts';
import { NotFound } from '../../layout/layout.tsx';
import { usePlatformLabel } from '../../platforms.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { extend } from '../licenses/bulk.ts';
import { ownerOf } from '../licenses/columns.tsx';
import { ExtendDialog } from '../licenses/selection-bar.tsx';
import { EventSection, HistorySection, InstallationSection } from './activity.tsx';
import { change, licenseQuery, refresh } from './queries.ts';
import { licenseRoute } from './route.ts';
import { Slots } from './slots.tsx';

const words = screenTexts.license;

export function Screen() {
  const { licenseId } = licenseRoute.useParams();
  const { data, error, refetch } = useQuery(licenseQuery(licenseId));
  if (hasStatus(error, 404) || hasStatus(error, 400)) return <NotFound />;
  if (error && !data) return <LoadFailure error={error} onRetry={refetch} />;
  if (!data) return <Skeleton lines={8} />;
  return <LicenseScreen license={data.item} />;
}

function LicenseScreen({ license }: { license: License }) {
  const { id, licenseKey, licenseStatus } = license;
  const navigate = licenseRoute.useNavigate();
  const refusal = useRefusal('writeLicenses');
  const mayReadRequests = useMay('readRequests');
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
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-mono text-lg break-all">{licenseKey}</span>
          <CopyButton value={licenseKey} label={words.copyKey} isIcon />
          <StatusBadge status={licenseStatus} />
        </span>
      }
      actions={<Actions license={license} refusal={refusal} />}
    >
      <div className="grid gap-5 lg:grid-cols-2">
        <Details license={license} />
        <div className="flex min-w-0 flex-col gap-5">
          <Slots license={license} kind="ips" refusal={refusal} />
          <Slots license={license} kind="hwids" refusal={refusal} />
        </div>
      </div>
      <InstallationSection license={license} />
      {mayReadRequests && <HistorySection license={license} />}
      <EventSection license={license} />
    </Page>
  );
}

function Actions({ license, refusal }: { license: License; refusal: string | undefined }) {
  const { id, licenseStatus, licenseType } = license;
  const [isExtending, setExtending] = useState(false);
  const setStatus = async (status: keyof typeof words.statusDone): Promise<void> => {
    try {
      const before: LicenseStatus =
        (await change(id, () => ({ licenseStatus: status })))?.licenseStatus ?? status;
      toasts.done(words.statusDone[status], () => change(id, () => ({ licenseStatus: before })));
    } catch (error) {
      toasts.fail(error);
    }
  };
  const extendBy = async (days: number): Promise<void> => {
    try {
      const undo = await extend(days)(id);
      await refresh();
      toasts.done(screenTexts.licenses.bulk.done.extend(1), undo && (() => undo().then(refresh)));
    } catch (error) {
      toasts.fail(error);
    }
  };
  const remove = async (): Promise<void> => {
    const { deleteTitle, deleteLead } = screenTexts.licenses.bulk;
    const question = { title: deleteTitle(1), lead: deleteLead, action: words.delete };
    if (await confirm(question)) await setStatus('DELETED');
  };
  const isDeleted = licenseStatus === 'DELETED';
  return (
    <>
      {refusal === undefined && (
        <ButtonLink to="/licenses/$licenseId/edit" params={{ licenseId: id }} look="primary">
          <Pencil size={16} aria-hidden />
          {texts.actions.edit}
        </ButtonLink>
      )}
      {licenseType === 'TEMPORARY' && (
        <Button refusal={refusal} onClick={() => setExtending(true)}>
          {words.extend}
        </Button>
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
      <ExtendDialog
        count={1}
        isOpen={isExtending}
        onClose={() => setExtending(false)}
        onExtend={extendBy}
      />
    </>
  );
}

function Details({ license }: { license: License }) {
  const names = useProductNames();
  const labelOf = usePlatformLabel();
  const mayReadCustomers = useMay('readCustomers');
  const none = <span className="text-muted">{words.none}</span>;
  const { customer, licensePlatform, licensePlatformOther, ownerPlatformId } = license;
  const owner = ownerOf(license);
  const platform = licensePlatform && (licensePlatformOther || labelOf(licensePlatform));
  return (
    <Section title={words.facts}>
      <Facts
        rows={[
          [words.product, productName(names, license.productId)],
          [
            words.owner,
            owner && customer && mayReadCustomers ? (
              <TextLink key="owner" to="/licenses" search={{ customerId: customer.id }}>
                {owner}
              </TextLink>
            ) : (
              owner || none
            ),
          ],
          ...(customer?.email ? [[words.email, customer.email] as const] : []),
          ...(license.ownerChatId
            ? [
                [
                  words.chat,
                  [license.ownerChatUsername, license.ownerChatId].filter(Boolean).join(' · '),
                ] as const,
              ]
            : []),
          ...(platform
            ? [[words.platform, [platform, ownerPlatformId].filter(Boolean).join(' · ')] as const]
            : []),
          [
            words.expires,
            license.expiryDate === null ? (
              screenTexts.licenses.never
            ) : (
              <>
                <Time value={license.expiryDate} />{' '}
                <span className="text-muted">
                  (<Time value={license.expiryDate} show="ago" />)
                </span>
              </>
            ),
          ],
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
        ]}
      />
    </Section>
  );
}
