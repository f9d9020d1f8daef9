import type { License, LicenseType } from '@licet/client';
import { LABELLED_PLATFORMS, LICENSE_PLATFORMS } from '@licet/contract/enums';
import { MAX_LIMIT } from '@licet/contract/limits';
import { type ReactNode, useState } from 'react';
import { DaysField, type End, EndChoice } from '../../components/end-choice.tsx';
import { EntitlementsField, entitlementsOf } from '../../components/entitlements-field.tsx';
import { ExpiryField } from '../../components/expiry-field.tsx';
import { FieldGroup, SelectField, TextArea, TextField } from '../../components/form.tsx';
import { MetadataField, metadataOf } from '../../components/metadata-field.tsx';
import { endOfDay } from '../../dates.ts';
import { numberIn, textIn } from '../../form-data.ts';
import { isOffered, usePlatformLabel } from '../../platforms.ts';
import { useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { CustomerField } from '../customers/field.tsx';
import { customerText } from '../customers/owner.ts';

/** The fields of a license, for a new one and for one that is edited. */

const words = screenTexts.licenseForm;

/** The limits of the product for an empty limit of a license. */
const DEFAULTS = { maxIPs: 'defaultMaxIPs', maxHWIDs: 'defaultMaxHWIDs' } as const;

/**
 * The fields of a form in the form of a request, but for the customer, which is text. Empty limits are left out, for the
 * product's defaults. If the day of the expiry is the stored one, its time of day is kept.
 */
export function bodyOf(data: FormData, stored: string | null = null) {
  const text = (name: string): string => textIn(data, name);
  const [maxIPs, maxHWIDs] = [numberIn(data, 'maxIPs'), numberIn(data, 'maxHWIDs')];
  return {
    productId: Number(text('productId')),
    expiry: {
      expiryDate: endOfDay(text('expiryDate'), stored),
      expiresAfterDays: numberIn(data, 'expiresAfterDays'),
    },
    ...(maxIPs !== null && { maxIPs }),
    ...(maxHWIDs !== null && { maxHWIDs }),
    ownerChatId: text('ownerChatId'),
    ownerChatUsername: text('ownerChatUsername'),
    licensePlatform: LICENSE_PLATFORMS.find((one) => one === text('licensePlatform')) ?? null,
    licensePlatformOther: text('licensePlatformOther'),
    ownerPlatformId: text('ownerPlatformId'),
    notes: text('notes'),
    metadata: metadataOf(data),
    ...entitlementsOf(data),
    customer: text('customerEmail'),
  };
}
export type LicenseBody = ReturnType<typeof bodyOf>;

/** The expiry of a license in the form of a request, with the type that follows from it. */
export const termsOf = (
  expiry: LicenseBody['expiry'],
): LicenseBody['expiry'] & { licenseType: LicenseType } => ({
  ...expiry,
  licenseType: (expiry.expiryDate ?? expiry.expiresAfterDays) === null ? 'PERMANENT' : 'TEMPORARY',
});

/** The fields, in groups. `license` has their values; it is undefined for a new license. */
export function LicenseFields({
  license,
  productId,
  email,
  children,
}: {
  license?: License;
  /** Chosen from the start, for a new license. */
  productId?: number | undefined;
  email?: string | undefined;
  /** More fields of the first group. */
  children?: ReactNode;
}) {
  const products = useProducts();
  const labelOf = usePlatformLabel();
  const [platform, setPlatform] = useState<string>(license?.licensePlatform ?? '');
  const chosen = license?.productId ?? productId;
  const [typedDays, setTypedDays] = useState<string>();
  const [product, setProduct] = useState(chosen);
  const suggested = license ? undefined : products.data?.find(({ id }) => id === product);
  // A new license has the days of its product, until the viewer enters others.
  const suggestedDays = license ? license.expiresAfterDays : suggested?.defaultExpiresAfterDays;
  const days = typedDays ?? String(suggestedDays ?? '');
  const [date, setDate] = useState(license?.expiryDate ?? null);
  const [chosenEnd, setEnd] = useState<End | undefined>(license?.expiryDate ? 'date' : undefined);
  const end = chosenEnd ?? (suggestedDays ? 'firstUse' : 'never');
  const options = products.data?.map(({ id, name }) => [String(id), name] as const);
  return (
    <>
      <FieldGroup title={words.terms} isCard>
        {options ? (
          <SelectField
            // A select takes its default value only when it appears. Without a key Preact would reuse the next one.
            key={`product ${chosen}`}
            label={words.product}
            name="productId"
            required
            defaultValue={String(chosen ?? (options.length === 1 ? options[0]?.[0] : ''))}
            options={[['', words.chooseProduct], ...options]}
            onChange={({ target }) => setProduct(Number(target.value))}
          />
        ) : (
          <TextField
            label={words.product}
            name="productId"
            type="number"
            min={1}
            required
            defaultValue={chosen}
          />
        )}
        {children}
        <div className="sm:col-span-2 sm:[&_input:not([type=radio])]:w-auto sm:[&_input:not([type=radio])]:self-start">
          <EndChoice
            value={end}
            onChange={setEnd}
            fields={{
              never: null,
              date: (
                <ExpiryField
                  label={words.expiryDate}
                  name="expiryDate"
                  stored={license?.expiryDate ?? null}
                  initial={date}
                  onChange={setDate}
                  inPast={words.inPast}
                  isRequired
                />
              ),
              firstUse: <DaysField value={days} onChange={setTypedDays} />,
            }}
          />
        </div>
      </FieldGroup>
      <FieldGroup title={words.limits} isCard>
        {(['maxIPs', 'maxHWIDs'] as const).map((name) => (
          <TextField
            key={name}
            label={words[name]}
            hint={words.limitHint}
            placeholder={suggested && words.limitOf(suggested[DEFAULTS[name]], suggested.name)}
            name={name}
            type="number"
            min={-1}
            max={MAX_LIMIT}
            required={license !== undefined}
            defaultValue={license?.[name]}
          />
        ))}
      </FieldGroup>
      <FieldGroup title={words.owner} isCard>
        <div className="sm:col-span-2">
          <CustomerField
            hint={license ? words.customerHintEdit : words.customerHint}
            defaultValue={license ? customerText(license.customer) : email}
          />
        </div>
        <TextField
          label={words.ownerChatId}
          name="ownerChatId"
          defaultValue={license?.ownerChatId}
        />
        <TextField
          label={words.ownerChatUsername}
          name="ownerChatUsername"
          defaultValue={license?.ownerChatUsername}
        />
        <SelectField
          label={words.licensePlatform}
          hint={LABELLED_PLATFORMS.some((one) => isOffered(one, false)) ? '' : words.platformHint}
          name="licensePlatform"
          value={platform}
          onChange={({ target }) => setPlatform(target.value)}
          options={[
            ['', words.noPlatform],
            ...LICENSE_PLATFORMS.filter((one) =>
              isOffered(one, one === license?.licensePlatform),
            ).map((one) => [one, labelOf(one)] as const),
          ]}
        />
        {platform === 'OTHER' && (
          <TextField
            label={words.licensePlatformOther}
            name="licensePlatformOther"
            defaultValue={license?.licensePlatformOther}
          />
        )}
        {platform !== '' && (
          <TextField
            label={words.ownerPlatformId}
            name="ownerPlatformId"
            defaultValue={license?.ownerPlatformId}
          />
        )}
        <div className="sm:col-span-2">
          <TextArea
            label={words.notes}
            hint={words.notesHint}
            name="notes"
            defaultValue={license?.notes}
          />
        </div>
      </FieldGroup>
      <EntitlementsField
        stored={license ?? {}}
        inherited={products.data?.find(({ id }) => id === product)?.entitlements ?? {}}
        isCard
      />
      <MetadataField stored={license?.metadata} isCard />
    </>
  );
}
