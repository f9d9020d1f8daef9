import type { Product, Tagged } from '@licet/client';
import { PRODUCT_TYPES } from '@licet/contract/enums';
import {
  DEFAULT_CHECK_AFTER_HOURS,
  DEFAULT_LIMIT,
  MAX_CHECK_AFTER_HOURS,
  MAX_IDLE_DAYS,
  MAX_LIMIT,
  MAX_LONG_TEXT_LENGTH,
  MAX_OFFLINE_DAYS,
  MAX_SELF_RESETS,
  MAX_TEXT_LENGTH,
  MAX_WEB_ADDRESS_LENGTH,
} from '@licet/contract/limits';
import { keysOf, objectOf } from '@licet/contract/objects';
import { type ReactNode, useState } from 'react';
import { licet, queries } from '../../api.ts';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { DaysField, EndChoice } from '../../components/end-choice.tsx';
import { EntitlementsField, entitlementsOfProduct } from '../../components/entitlements-field.tsx';
import { FieldGroup, SelectField, TextArea, TextField } from '../../components/form.tsx';
import { toasts } from '../../components/toasts.tsx';
import { entitlementLines } from '../../entitlements.ts';
import { numberIn, textIn } from '../../form-data.ts';
import { formatNumber } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';

const words = screenTexts.products;

/** A limit in words. */
export const limitOf = (limit: number): string =>
  limit === -1 ? words.unlimited : formatNumber(limit);

/** The type of a product in words. */
export const typeOf = ({ productType, productTypeOther }: Product): string =>
  (productType === 'OTHER' && productTypeOther) || screenTexts.productTypes[productType];

/** All fields that can be set: the form does not compile without one of them. */
type Values = Omit<Product, 'id' | 'createdDate' | 'updatedDate'>;

/** Text that may be null. */
const MORE = keysOf(words.moreFields);

/** The idle days with the values that the form suggests. */
const IDLE_DAYS = { ipIdleDays: 7, hwidIdleDays: 30 } as const;

const FIELDS: readonly EditedField<Values>[] = [
  { name: 'name', label: words.name },
  { name: 'description', label: words.description },
  {
    name: 'productType',
    label: words.type,
    show: ({ productType }) => screenTexts.productTypes[productType],
  },
  { name: 'productTypeOther', label: words.typeOther },
  { name: 'defaultMaxIPs', label: words.maxIPs },
  { name: 'defaultMaxHWIDs', label: words.maxHWIDs },
  { name: 'offlineDays', label: words.offlineDays },
  { name: 'checkAfterHours', label: words.checkAfterHours },
  {
    name: 'entitlements',
    label: screenTexts.entitlements.title,
    show: ({ entitlements }) => entitlementLines(entitlements),
  },
  { name: 'ipIdleDays', label: words.idleDays.ipIdleDays },
  { name: 'hwidIdleDays', label: words.idleDays.hwidIdleDays },
  { name: 'defaultExpiresAfterDays', label: screenTexts.expiry.days },
  { name: 'selfResets', label: words.selfResets },
  {
    name: 'selfRotate',
    label: words.selfRotate,
    show: ({ selfRotate }) => (selfRotate ? screenTexts.events.yes : screenTexts.events.no),
  },
  ...MORE.map((name) => ({ name, label: words.moreFields[name] })),
];

/** The values of the form. The name of the type is kept if the type is not OTHER. */
function valuesOf(data: FormData, stored: Product | undefined): Values {
  const text = (name: string): string => textIn(data, name);
  return {
    name: text('name'),
    description: text('description'),
    productType: PRODUCT_TYPES.find((type) => type === data.get('productType')) ?? 'OTHER',
    productTypeOther: data.has('productTypeOther')
      ? text('productTypeOther')
      : (stored?.productTypeOther ?? ''),
    defaultMaxIPs: Number(data.get('defaultMaxIPs')),
    defaultMaxHWIDs: Number(data.get('defaultMaxHWIDs')),
    offlineDays: Number(data.get('offlineDays')),
    checkAfterHours: Number(data.get('checkAfterHours')),
    entitlements: entitlementsOfProduct(data),
    ipIdleDays: numberIn(data, 'ipIdleDays'),
    hwidIdleDays: numberIn(data, 'hwidIdleDays'),
    defaultExpiresAfterDays: numberIn(data, 'defaultExpiresAfterDays'),
    selfResets: Number(data.get('selfResets')),
    selfRotate: data.has('selfRotate'),
    ...objectOf(MORE, (name) => text(name) || null),
  };
}

/**
 * Reads all data again that a change of a product may have changed.
 *
 * @param deleted the id of a deleted product, for which the screen that is left must not ask
 */
export const refreshProducts = (deleted?: number) =>
  Promise.all(
    [['products'], ['events']].map((queryKey) =>
      queries.invalidateQueries({
        queryKey,
        predicate: ({ queryKey: [, , id] }) => deleted === undefined || id !== deleted,
      }),
    ),
  );

/** The form of a product; without `stored` that of a new one. */
export function ProductForm({
  stored,
  onDone,
  cancel,
}: {
  stored?: Tagged<Product> & { id: number };
  onDone: () => void;
  cancel?: ReactNode;
}) {
  const refusal = useRefusal('writeProducts');
  const product = stored?.item;
  const [type, setType] = useState<string>(product?.productType ?? PRODUCT_TYPES[0]);
  const [end, setEnd] = useState<'never' | 'firstUse'>(
    product?.defaultExpiresAfterDays ? 'firstUse' : 'never',
  );
  const [days, setDays] = useState(String(product?.defaultExpiresAfterDays ?? ''));
  const id = stored?.id ?? 0;

  return (
    <EditForm<Values>
      stored={stored}
      fields={FIELDS}
      valuesOf={(data) => valuesOf(data, product)}
      create={async (values) => {
        const { name } = await licet.products.create(values);
        await refreshProducts();
        toasts.done(words.created(name));
      }}
      update={async (changes, ifMatch) => {
        await licet.products.update(id, changes, { ifMatch });
        await refreshProducts();
      }}
      read={() => licet.products.read(id)}
      onDone={onDone}
      createLabel={words.create}
      refusal={refusal}
      buttons={cancel}
    >
      <TextField
        label={words.name}
        name="name"
        defaultValue={product?.name}
        maxLength={MAX_TEXT_LENGTH}
        required
      />
      <FieldGroup>
        <SelectField
          label={words.type}
          name="productType"
          value={type}
          onChange={({ target }) => setType(target.value)}
          options={PRODUCT_TYPES.map((known) => [known, screenTexts.productTypes[known]])}
        />
        {type === 'OTHER' && (
          <TextField
            label={words.typeOther}
            name="productTypeOther"
            defaultValue={product?.productTypeOther}
            maxLength={MAX_TEXT_LENGTH}
          />
        )}
      </FieldGroup>
      <TextArea
        label={words.description}
        name="description"
        defaultValue={product?.description}
        maxLength={MAX_LONG_TEXT_LENGTH}
      />
      <FieldGroup title={words.limits}>
        {(['defaultMaxIPs', 'defaultMaxHWIDs'] as const).map((name) => (
          <TextField
            key={name}
            label={name === 'defaultMaxIPs' ? words.maxIPs : words.maxHWIDs}
            hint={words.limitHint}
            name={name}
            type="number"
            min={-1}
            max={MAX_LIMIT}
            required
            defaultValue={product?.[name] ?? DEFAULT_LIMIT}
          />
        ))}
      </FieldGroup>
      <FieldGroup title={words.slots}>
        {keysOf(IDLE_DAYS).map((name) => (
          <TextField
            key={name}
            label={words.idleDays[name]}
            hint={words.idleDaysHints[name]}
            placeholder={words.idleDaysSuggestion(IDLE_DAYS[name])}
            name={name}
            type="number"
            min={1}
            max={MAX_IDLE_DAYS}
            defaultValue={product?.[name] ?? ''}
          />
        ))}
        <TextField
          label={words.selfResets}
          hint={words.selfResetsHint}
          name="selfResets"
          type="number"
          min={0}
          max={MAX_SELF_RESETS}
          required
          defaultValue={product?.selfResets ?? 0}
        />
      </FieldGroup>
      <label className="flex items-start gap-3">
        <input
          type="checkbox"
          name="selfRotate"
          className="mt-0.5 shrink-0"
          defaultChecked={product?.selfRotate ?? false}
        />
        <span>
          <span className="font-medium">{words.selfRotate}</span>
          <span className="block text-xs text-muted">{words.selfRotateHint}</span>
        </span>
      </label>
      <FieldGroup>
        <EndChoice
          label={words.expiry}
          value={end}
          onChange={setEnd}
          fields={{
            never: null,
            firstUse: (
              <DaysField
                hint={words.expiresAfterDaysHint}
                name="defaultExpiresAfterDays"
                value={days}
                onChange={setDays}
              />
            ),
          }}
        />
      </FieldGroup>
      <FieldGroup title={words.leases}>
        <TextField
          label={words.offlineDays}
          hint={words.offlineDaysHint}
          name="offlineDays"
          type="number"
          min={0}
          max={MAX_OFFLINE_DAYS}
          required
          defaultValue={product?.offlineDays ?? 0}
        />
        <TextField
          label={words.checkAfterHours}
          hint={words.checkAfterHoursHint}
          name="checkAfterHours"
          type="number"
          min={1}
          max={MAX_CHECK_AFTER_HOURS}
          required
          defaultValue={product?.checkAfterHours ?? DEFAULT_CHECK_AFTER_HOURS}
        />
      </FieldGroup>
      <EntitlementsField stored={product ?? {}} />
      <FieldGroup title={words.more}>
        {MORE.map((name) => (
          <TextField
            key={name}
            label={words.moreFields[name]}
            name={name}
            defaultValue={product?.[name] ?? ''}
            {...(/url$/i.test(name) && { maxLength: MAX_WEB_ADDRESS_LENGTH, inputMode: 'url' })}
          />
        ))}
      </FieldGroup>
    </EditForm>
  );
}
