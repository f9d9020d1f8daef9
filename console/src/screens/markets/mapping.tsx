import type { Market } from '@licet/client';
import { QUANTITY_MEANINGS } from '@licet/contract/enums';
import { MAX_LIMIT } from '@licet/contract/limits';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DaysField, EndChoice } from '../../components/end-choice.tsx';
import { EntitlementsField, entitlementsOfProduct } from '../../components/entitlements-field.tsx';
import { FieldGroup, Form, SelectField, TextField } from '../../components/form.tsx';
import { Section } from '../../components/page.tsx';
import { Nothing } from '../../components/section-rows.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { toasts } from '../../components/toasts.tsx';
import { entitlementLines } from '../../entitlements.ts';
import { numberIn, textIn } from '../../form-data.ts';
import { productName } from '../../format.ts';
import { useProductNames, useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { refreshMarkets } from './queries.ts';

const words = screenTexts.markets;

type Mapped = Market['products'][number];
type Row = Mapped & { id: string };

/** Text buttons in a row: as high as its text, and aligned with the end of its column. */
const IN_ROW = '-my-2 px-0!';

/** The products of the market, and the products for which it sells licenses. */
export function Mapping({
  market: { id, products, kind },
  refusal,
}: {
  market: Market;
  refusal: string | undefined;
}) {
  const names = useProductNames();
  /** The product in the dialog; null for a new one. */
  const [edited, setEdited] = useState<Mapped | null>();
  const isOpen = edited !== undefined;
  const store = async (
    next: (current: Market['products']) => Market['products'],
  ): Promise<void> => {
    await licet.markets.change(id, (current) => ({ products: next(current.products) }));
    await refreshMarkets();
  };
  const remove = async (item: string): Promise<void> => {
    const removed = products;
    try {
      await store((current) => current.filter((one) => one.item !== item));
      toasts.done(words.unmapped(item), () => store(() => removed));
    } catch (error) {
      toasts.fail(error);
    }
  };
  const columns: readonly SimpleColumn<Row>[] = [
    [
      words.item[kind],
      ({ item }) => <span className="font-mono text-[0.8125rem] wrap-anywhere">{item}</span>,
    ],
    [
      words.product,
      ({ productId }) => (
        <TextLink to="/products/$id" params={{ id: productId }} className="wrap-anywhere">
          {productName(names, productId)}
        </TextLink>
      ),
    ],
    [
      words.terms,
      (row) => {
        const lines = [words.describe(row), entitlementLines(row.entitlements ?? {})];
        const terms = lines.filter(Boolean).join('\n').replaceAll('\n', ', ');
        return <span className="wrap-anywhere sm:inline-block sm:min-w-24">{terms}</span>;
      },
    ],
    [
      words.change,
      ({ id: _, ...mapped }) => (
        <span className="inline-flex gap-x-4 max-sm:flex-wrap">
          <Button
            look="link"
            className={IN_ROW}
            refusal={refusal}
            onClick={() => setEdited(mapped)}
          >
            {texts.actions.edit}
          </Button>
          <Button
            look="link"
            className={IN_ROW}
            refusal={refusal}
            onClick={() => remove(mapped.item)}
          >
            {words.unmap}
          </Button>
        </span>
      ),
      'number',
    ],
  ];
  return (
    <Section
      title={words.products}
      actions={
        <Button look="link" className="-mr-1" refusal={refusal} onClick={() => setEdited(null)}>
          {words.map}
        </Button>
      }
    >
      {products.length === 0 ? (
        <Nothing>{words.noProducts}</Nothing>
      ) : (
        <SimpleTable
          rows={products.map((one) => ({ ...one, id: one.item }))}
          label={words.products}
          columns={columns}
        />
      )}
      <Dialog
        title={edited ? words.editMapping : words.map}
        isOpen={isOpen}
        onClose={() => setEdited(undefined)}
        isWide
      >
        {isOpen && (
          <MappingForm
            kind={kind}
            stored={edited}
            refusal={refusal}
            onSubmit={async (mapped) => {
              const replaced = [mapped.item, edited?.item];
              await store((current) => [
                ...current.filter(({ item }) => !replaced.includes(item)),
                mapped,
              ]);
              setEdited(undefined);
              toasts.done((edited ? words.editedMapping : words.mapped)(mapped.item));
            }}
          />
        )}
      </Dialog>
    </Section>
  );
}

/** A limit as it is typed. */
const typed = (value: number | null | undefined): string => (value == null ? '' : String(value));

function MappingForm({
  kind,
  stored,
  refusal,
  onSubmit,
}: {
  kind: Market['kind'];
  /** Null for a new one. */
  stored: Mapped | null;
  refusal: string | undefined;
  onSubmit: (mapped: Mapped) => Promise<void>;
}) {
  const { data: products = [] } = useProducts();
  const [productId, setProductId] = useState(typed(stored?.productId));
  const [end, setEnd] = useState<'never' | 'firstUse'>(
    stored?.licenseType === 'TEMPORARY' ? 'firstUse' : 'never',
  );
  const [days, setDays] = useState(typed(stored?.expiresAfterDays));
  return (
    <Form
      onSubmit={(data) =>
        onSubmit({
          item: textIn(data, 'item'),
          productId: Number(productId),
          licenseType: end === 'never' ? 'PERMANENT' : 'TEMPORARY',
          expiresAfterDays: numberIn(data, 'expiresAfterDays'),
          maxIPs: numberIn(data, 'maxIPs'),
          maxHWIDs: numberIn(data, 'maxHWIDs'),
          quantity: QUANTITY_MEANINGS.find((one) => one === data.get('quantity')) ?? 'licenses',
          entitlements: entitlementsOfProduct(data),
        })
      }
      buttons={(isBusy) => (
        <Button type="submit" look="primary" disabled={isBusy} refusal={refusal}>
          {stored ? texts.actions.save : words.mapAction}
        </Button>
      )}
    >
      <FieldGroup>
        <TextField
          label={words.item[kind]}
          hint={words.itemHint[kind]}
          name="item"
          defaultValue={stored?.item ?? ''}
          required
        />
        <SelectField
          label={words.product}
          name="productId"
          options={[
            ['', words.chooseProduct],
            ...products.map(({ id, name }) => [String(id), name] as const),
          ]}
          // The products can arrive after the form, and another one while it is filled in.
          value={productId}
          onChange={({ target }) => setProductId(target.value)}
          required
        />
        <TextField
          label={words.maxIPs}
          hint={words.limitHint}
          name="maxIPs"
          type="number"
          min={-1}
          max={MAX_LIMIT}
          defaultValue={typed(stored?.maxIPs)}
        />
        <TextField
          label={words.maxHWIDs}
          hint={words.limitHint}
          name="maxHWIDs"
          type="number"
          min={-1}
          max={MAX_LIMIT}
          defaultValue={typed(stored?.maxHWIDs)}
        />
        <EndChoice
          value={end}
          onChange={setEnd}
          fields={{
            never: null,
            firstUse: (
              <DaysField hint={words.daysHint} value={days} onChange={setDays} isRequired={false} />
            ),
          }}
        />
        <SelectField
          label={words.quantity}
          name="quantity"
          options={QUANTITY_MEANINGS.map((one) => [one, words.quantities[one]] as const)}
          defaultValue={stored?.quantity ?? 'licenses'}
        />
      </FieldGroup>
      <EntitlementsField stored={{ entitlements: stored?.entitlements ?? {} }} />
    </Form>
  );
}
