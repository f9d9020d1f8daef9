import type { Product, Tagged } from '@licet/client';
import { PRODUCT_TYPES } from '@licet/contract/enums';
import {
  DEFAULT_LIMIT,
  MAX_LIMIT,
  MAX_LONG_TEXT_LENGTH,
  MAX_OFFLINE_DAYS,
  MAX_TEXT_LENGTH,
  MAX_WEB_ADDRESS_LENGTH,
} from '@licet/contract/limits';
import { keysOf, objectOf } from '@licet/contract/objects';
import { useState } from 'react';
import { hasStatus, licet, queries } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { FieldGroup, SelectField, TextArea, TextField } from '../../components/form.tsx';
import { Notice } from '../../components/page.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { texts } from '../../texts.ts';

const words = screenTexts.products;

/** All fields that can be set: the form does not compile without one of them. */
type Values = Omit<Product, 'id' | 'createdDate' | 'updatedDate'>;

/** Text that may be null. */
const MORE = keysOf(words.moreFields);

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
  ...MORE.map((name) => ({ name, label: words.moreFields[name] })),
];

/** The values of the form. The name of the type is kept if the type is not OTHER. */
function valuesOf(data: FormData, stored: Product | undefined): Values {
  const text = (name: string): string => String(data.get(name) ?? '').trim();
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
    ...objectOf(MORE, (name) => text(name) || null),
  };
}

/** The form of a product; without `stored` that of a new one. */
export function ProductForm({
  stored,
  onDone,
}: {
  stored: (Tagged<Product> & { id: number }) | undefined;
  onDone: () => void;
}) {
  const refusal = useRefusal('writeProducts');
  const product = stored?.item;
  const [type, setType] = useState<string>(product?.productType ?? PRODUCT_TYPES[0]);
  const [isInUse, setInUse] = useState(false);
  const id = stored?.id ?? 0;
  const changed = () => queries.invalidateQueries({ queryKey: ['products'] });

  const remove = async (): Promise<void> => {
    if (!product) return;
    const isSure = await confirm({
      title: words.deleteTitle(product.name),
      lead: words.deleteLead,
      action: texts.actions.delete,
    });
    if (!isSure) return;
    try {
      await licet.products.delete(id);
    } catch (error) {
      if (hasStatus(error, 409)) return setInUse(true);
      return toasts.fail(error);
    }
    onDone();
    await changed();
    toasts.done(words.deleted(product.name));
  };

  return (
    <EditForm<Values>
      stored={stored}
      fields={FIELDS}
      valuesOf={(data) => valuesOf(data, product)}
      create={async (values) => {
        const { name } = await licet.products.create(values);
        await changed();
        toasts.done(words.created(name));
      }}
      update={async (changes, ifMatch) => {
        await licet.products.update(id, changes, { ifMatch });
        await changed();
      }}
      read={() => licet.products.read(id)}
      onDone={onDone}
      createLabel={words.create}
      refusal={refusal}
      buttons={
        stored && (
          <Button look="danger" className="ml-auto" refusal={refusal} onClick={remove}>
            {texts.actions.delete}
          </Button>
        )
      }
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
      </FieldGroup>
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
      {isInUse && (
        <Notice tone="bad">
          {words.inUse}{' '}
          <TextLink to="/licenses" search={{ productId: id }} className="underline">
            {words.showLicenses}
          </TextLink>
        </Notice>
      )}
    </EditForm>
  );
}
