import type { License } from '@licet/client';
import { LABELLED_PLATFORMS, LICENSE_PLATFORMS, LICENSE_TYPES } from '@licet/contract/enums';
import { MAX_LIMIT } from '@licet/contract/limits';
import { type ReactNode, useState } from 'react';
import { SelectField, TextArea, TextField } from '../../components/form.tsx';
import { toLocal } from '../../dates.ts';
import { isOffered, usePlatformLabel } from '../../platforms.ts';
import { useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { CustomerField, customerText } from '../customers/field.tsx';

/** The fields of a license, for a new one and for one that is edited. */

const words = screenTexts.licenseForm;

/**
 * The fields of a form in the form of a request, but for the customer, which is text. Empty limits are left out, for the
 * product's defaults.
 */
export function bodyOf(data: FormData) {
  const text = (name: string): string => String(data.get(name) ?? '').trim();
  const limit = (name: string): number | undefined =>
    text(name) === '' ? undefined : Number(text(name));
  const licenseType = LICENSE_TYPES.find((type) => type === text('licenseType')) ?? 'PERMANENT';
  const maxIPs = limit('maxIPs');
  const maxHWIDs = limit('maxHWIDs');
  return {
    productId: Number(text('productId')),
    licenseType,
    expiryDate:
      licenseType === 'TEMPORARY' && text('expiryDate') !== ''
        ? new Date(text('expiryDate')).toISOString()
        : null,
    ...(maxIPs !== undefined && { maxIPs }),
    ...(maxHWIDs !== undefined && { maxHWIDs }),
    ownerChatId: text('ownerChatId'),
    ownerChatUsername: text('ownerChatUsername'),
    licensePlatform: LICENSE_PLATFORMS.find((one) => one === text('licensePlatform')) ?? null,
    licensePlatformOther: text('licensePlatformOther'),
    ownerPlatformId: text('ownerPlatformId'),
    notes: text('notes'),
    customer: text('customerEmail'),
  };
}
export type LicenseBody = ReturnType<typeof bodyOf>;

const GROUP = 'grid gap-4 rounded-xl border border-line bg-surface p-4 sm:grid-cols-2 sm:p-5';

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
  const [type, setType] = useState<string>(license?.licenseType ?? 'PERMANENT');
  const [platform, setPlatform] = useState<string>(license?.licensePlatform ?? '');
  const chosen = license?.productId ?? productId;
  const options = products.data?.map(({ id, name }) => [String(id), name] as const);
  return (
    <>
      <fieldset className={GROUP}>
        <legend className="sr-only">{words.terms}</legend>
        {options ? (
          <SelectField
            // A select takes its default value only when it appears. Without a key Preact would reuse the next one.
            key={`product ${chosen}`}
            label={words.product}
            name="productId"
            required
            defaultValue={String(chosen ?? (options.length === 1 ? options[0]?.[0] : ''))}
            options={[['', words.chooseProduct], ...options]}
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
        <SelectField
          label={words.type}
          name="licenseType"
          value={type}
          onChange={({ target }) => setType(target.value)}
          options={LICENSE_TYPES.map((one) => [one, screenTexts.licenseTypes[one]] as const)}
        />
        {type === 'TEMPORARY' && (
          <TextField
            label={words.expiryDate}
            hint={words.expiryHint}
            name="expiryDate"
            type="datetime-local"
            required
            defaultValue={toLocal(license?.expiryDate ?? null)}
          />
        )}
      </fieldset>
      <fieldset className={GROUP}>
        <legend className="sr-only">{words.limits}</legend>
        {(['maxIPs', 'maxHWIDs'] as const).map((name) => (
          <TextField
            key={name}
            label={words[name]}
            hint={license ? words.limitHintEdit : words.limitHint}
            name={name}
            type="number"
            min={-1}
            max={MAX_LIMIT}
            required={license !== undefined}
            defaultValue={license?.[name]}
          />
        ))}
      </fieldset>
      <fieldset className={GROUP}>
        <legend className="sr-only">{words.owner}</legend>
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
      </fieldset>
    </>
  );
}
