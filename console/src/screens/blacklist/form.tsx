import type { BlacklistEntry, LicenseDataType, Tagged } from '@licet/client';
import { LicetError } from '@licet/client';
import { LICENSE_DATA_TYPES } from '@licet/contract/enums';
import { MAX_BLOCKED_LENGTH, MAX_REASON_LENGTH } from '@licet/contract/limits';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { connection, hasStatus, licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { FieldGroup, SelectField, TextField } from '../../components/form.tsx';
import { toasts } from '../../components/toasts.tsx';
import { productName } from '../../format.ts';
import { useProductNames } from '../../products.ts';
import { useRested } from '../../rested.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal } from '../../session.ts';
import { confirmBlock, confirmHwid, describeHits, hitsQuery } from './block.ts';
import { changed, removeEntry } from './entries.ts';
import { networkIn, rangeIn } from './range.ts';

const words = screenTexts.blacklist;

/** The fields of a new entry that are known before the form opens. */
export interface EntryStart {
  licenseDataType?: LicenseDataType | undefined;
  data?: string | undefined;
  productId?: number | undefined;
  reason?: string | undefined;
}

type Values = Omit<BlacklistEntry, 'id' | 'isForAllProducts' | 'createdAt' | 'updatedAt'>;

/** Replaces the error for an existing entry by one with the next step. */
function explain(error: unknown): never {
  throw hasStatus(error, 409) ? new LicetError(409, words.exists) : error;
}

/** The form of an entry; without `stored` that of a new one. */
export function EntryForm({
  stored,
  start = {},
  onDone,
}: {
  stored?: (Tagged<BlacklistEntry> & { id: number }) | undefined;
  start?: EntryStart;
  onDone: () => void;
}) {
  const refusal = useRefusal('writeBlacklists');
  const mayReadLicenses = useMay('readLicenses');
  const names = useProductNames();
  const id = stored?.id ?? 0;
  const entry = stored?.item ?? start;
  const [typed, setTyped] = useState(entry.data ?? '');
  const [productId, setProductId] = useState(entry.productId ?? null);
  const [isAddress, setAddress] = useState(entry.licenseDataType !== 'HWID');
  // If the token may not read products, the entry can still keep its product.
  const products = new Map(names);
  if (entry.productId != null) products.set(entry.productId, productName(names, entry.productId));
  const scopeOf = ({ productId }: Values): string =>
    productId === null ? words.allProducts : productName(names, productId);

  // An earlier version may have stored a range that is too wide now.
  const isStored = (type: LicenseDataType, data: string): boolean =>
    stored?.item.licenseDataType === type && stored.item.data === data;
  const ip = networkIn(useRested(typed));
  const { data: hits } = useQuery({
    ...hitsQuery(ip, productId),
    enabled: mayReadLicenses && isAddress && ip !== undefined,
  });
  const effect = hits === undefined || isStored('IP', typed) ? '' : describeHits(hits);
  const why = isAddress ? undefined : sharedHwid(typed);
  const sharedHint = why && screenTexts.sharedHwid.block(why);
  const addressHint = isAddress && [rangeIn(typed)?.bounds, effect].filter(Boolean).join(' ');

  const fields: readonly EditedField<Values>[] = [
    {
      name: 'licenseDataType',
      label: words.type,
      show: ({ licenseDataType }) => screenTexts.dataTypes[licenseDataType],
    },
    { name: 'data', label: words.data },
    { name: 'productId', label: words.scope, show: scopeOf },
    { name: 'reason', label: words.reason },
  ];

  const valuesOf = (data: FormData): Values => {
    const productId = String(data.get('productId'));
    return {
      licenseDataType: data.get('licenseDataType') === 'HWID' ? 'HWID' : 'IP',
      data: String(data.get('data')).trim(),
      productId: productId === '' ? null : Number(productId),
      reason: String(data.get('reason')).trim(),
    };
  };

  return (
    <EditForm<Values>
      stored={stored}
      fields={fields}
      valuesOf={valuesOf}
      create={async (values) => {
        const isForAllProducts = values.productId === null;
        const created = await licet.blacklists
          .create({ ...values, isForAllProducts })
          .catch(explain);
        const { etag: ifMatch } = await licet.blacklists.read(created.id);
        await changed();
        toasts.done(words.blocked(created.data), async () => {
          await connection.send('DELETE', `/api/v2/blacklists/${created.id}`, { ifMatch });
          await changed();
        });
      }}
      update={async (changes, ifMatch) => {
        const scope =
          changes.productId === undefined ? {} : { isForAllProducts: changes.productId === null };
        await licet.blacklists.update(id, { ...changes, ...scope }, { ifMatch }).catch(explain);
        await changed();
      }}
      read={() => licet.blacklists.read(id)}
      onDone={onDone}
      confirmFirst={({ licenseDataType, data, productId }) =>
        isStored(licenseDataType, data)
          ? Promise.resolve(true)
          : licenseDataType === 'HWID'
            ? confirmHwid(data)
            : confirmBlock(data, productId, mayReadLicenses)
      }
      createLabel={words.new}
      refusal={refusal}
      buttons={
        stored && (
          <Button
            look="danger"
            refusal={refusal}
            onClick={() => removeEntry({ ...stored.item, id }).then(onDone, toasts.fail)}
          >
            {words.unblock}
          </Button>
        )
      }
    >
      <TextField
        label={words.data}
        hint={addressHint || sharedHint || words.dataHint}
        name="data"
        defaultValue={entry.data}
        onChange={({ target }) => setTyped(target.value)}
        maxLength={MAX_BLOCKED_LENGTH}
        spellCheck="false"
        autoCapitalize="none"
        required
      />
      <FieldGroup>
        <SelectField
          label={words.type}
          name="licenseDataType"
          defaultValue={entry.licenseDataType ?? 'IP'}
          onChange={({ currentTarget }) => setAddress(currentTarget.value === 'IP')}
          options={LICENSE_DATA_TYPES.map((type) => [type, screenTexts.dataTypes[type]])}
        />
        <SelectField
          // The options may arrive later than the form. A later product must not undo the viewer's choice.
          key={String(products.size > 0)}
          label={words.scope}
          name="productId"
          defaultValue={String(entry.productId ?? '')}
          onChange={({ currentTarget: { value } }) => setProductId(Number(value) || null)}
          options={[
            ['', words.allProducts],
            ...[...products].map(([productId, name]) => [String(productId), name] as const),
          ]}
        />
      </FieldGroup>
      <TextField
        label={words.reason}
        hint={words.reasonHint}
        name="reason"
        defaultValue={entry.reason}
        maxLength={MAX_REASON_LENGTH}
      />
    </EditForm>
  );
}
