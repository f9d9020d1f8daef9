import type { License, Tagged } from '@licet/client';
import { keysOf, objectOf } from '@licet/contract/objects';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { ButtonLink } from '../../components/button.tsx';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { Page } from '../../components/page.tsx';
import { entitlementLines } from '../../entitlements.ts';
import { formatTime, productName } from '../../format.ts';
import { OneItem } from '../../layout/one-item.tsx';
import { metadataText } from '../../metadata.ts';
import { platformLabel } from '../../platforms.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { texts } from '../../texts.ts';
import { customerText, ownerOfText } from '../customers/owner.ts';
import { bodyOf, type LicenseBody, LicenseFields, termsOf } from './form-fields.tsx';
import { licenseQuery, refresh } from './queries.ts';
import { licenseEditRoute } from './route.ts';

const words = screenTexts.licenseForm;

/** Edits a license. A change that somebody else has made meanwhile is shown beside the viewer's own. */
export function Screen() {
  const { licenseId } = licenseEditRoute.useParams();
  const query = useQuery({
    ...licenseQuery(licenseId),
    // The license stays as it was read while it is edited: its ETag detects a change by somebody else.
    staleTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return <OneItem query={query}>{(read) => <Editor read={read} />}</OneItem>;
}

/** The fields of a license that the form edits. */
const bodyOfLicense = (license: License): LicenseBody => ({
  productId: license.productId,
  expiry: { expiryDate: license.expiryDate, expiresAfterDays: license.expiresAfterDays },
  maxIPs: license.maxIPs,
  maxHWIDs: license.maxHWIDs,
  ownerChatId: license.ownerChatId,
  ownerChatUsername: license.ownerChatUsername,
  licensePlatform: license.licensePlatform,
  licensePlatformOther: license.licensePlatformOther,
  ownerPlatformId: license.ownerPlatformId,
  notes: license.notes,
  metadata: license.metadata,
  entitlements: license.entitlements,
  entitlementsExpire: license.entitlementsExpire,
  customer: customerText(license.customer),
});

const fieldsOf = (names: ReadonlyMap<number, string>): readonly EditedField<LicenseBody>[] => [
  {
    name: 'productId',
    label: words.product,
    show: ({ productId }) => productName(names, productId),
  },
  {
    name: 'expiry',
    label: screenTexts.expiry.title,
    show: ({ expiry: { expiryDate, expiresAfterDays } }) =>
      expiryDate === null ? screenTexts.licenses.noDate(expiresAfterDays) : formatTime(expiryDate),
  },
  { name: 'maxIPs', label: words.maxIPs },
  { name: 'maxHWIDs', label: words.maxHWIDs },
  { name: 'ownerChatId', label: words.ownerChatId },
  { name: 'ownerChatUsername', label: words.ownerChatUsername },
  {
    name: 'licensePlatform',
    label: words.licensePlatform,
    show: ({ licensePlatform }) => licensePlatform && platformLabel(licensePlatform),
  },
  { name: 'licensePlatformOther', label: words.licensePlatformOther },
  { name: 'ownerPlatformId', label: words.ownerPlatformId },
  { name: 'notes', label: words.notes },
  {
    name: 'metadata',
    label: screenTexts.metadata.title,
    show: ({ metadata }) => metadataText(metadata),
  },
  {
    name: 'entitlements',
    label: screenTexts.entitlements.title,
    show: ({ entitlements }) => entitlementLines(entitlements, screenTexts.entitlements.takenAway),
  },
  {
    name: 'entitlementsExpire',
    label: screenTexts.entitlements.ends,
    show: ({ entitlementsExpire }) =>
      entitlementLines(
        objectOf(keysOf(entitlementsExpire), (name) => formatTime(entitlementsExpire[name] ?? '')),
      ),
  },
  { name: 'customer', label: screenTexts.customers.one },
];

function Editor({ read: { item: license, etag } }: { read: Tagged<License> }) {
  const navigate = licenseEditRoute.useNavigate();
  const names = useProductNames();
  const refusal = useRefusal('writeLicenses');
  // A license that is read again after a change must not change the form.
  const [stored] = useState({ item: bodyOfLicense(license), etag });
  const params = { licenseId: license.id };
  return (
    <Page
      title={words.editTitle(license.licenseKey)}
      heading={
        <>
          {texts.actions.edit}{' '}
          <span className="inline-block max-w-full font-mono text-base break-all sm:text-lg">
            {license.licenseKey}
          </span>
        </>
      }
    >
      <div className="max-w-3xl">
        <EditForm<LicenseBody>
          stored={stored}
          fields={fieldsOf(names)}
          valuesOf={(data) => bodyOf(data, stored.item.expiry.expiryDate)}
          update={async ({ customer, expiry, ...changes }, ifMatch) => {
            const terms = expiry === undefined ? {} : termsOf(expiry);
            const owner = customer === undefined ? {} : ownerOfText(customer);
            await licet.licenses.update(
              license.id,
              { ...changes, ...terms, ...owner },
              { ifMatch },
            );
            await refresh();
          }}
          read={async () => {
            const now = await licet.licenses.read(license.id);
            return { item: bodyOfLicense(now.item), etag: now.etag };
          }}
          onDone={() => void navigate({ to: '/licenses/$licenseId', params })}
          refusal={refusal}
          buttons={
            <ButtonLink to="/licenses/$licenseId" params={params} look="quiet">
              {texts.actions.cancel}
            </ButtonLink>
          }
        >
          <LicenseFields license={license} />
        </EditForm>
      </div>
    </Page>
  );
}
