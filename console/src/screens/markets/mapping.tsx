import type { Market } from '@licet/client';
import { QUANTITY_MEANINGS } from '@licet/contract/enums';
import { MAX_EXPIRES_AFTER_DAYS, MAX_LIMIT } from '@licet/contract/limits';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FieldGroup, Form, SelectField, TextField } from '../../components/form.tsx';
import { Section } from '../../components/page.tsx';
import { Nothing } from '../../components/section-rows.tsx';
import { type SimpleColumn, SimpleTable } from '../../components/simple-table.tsx';
import { toasts } from '../../components/toasts.tsx';
import { productName } from '../../format.ts';
import { useProductNames, useProducts } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { refreshMarkets } from './queries.ts';

const words = screenTexts.markets;

type Mapped = Market['products'][number];
type Row = Mapped & { id: string };

/** A number in a form; null if it is empty. */
const numberIn = (data: FormData, name: string): number | null => {
  const text = String(data.get(name) ?? '').trim();
  return text === '' ? null : Number(text);
};

/** The products of the market, and the products for which it sells licenses. */
export function Mapping({
  market: { id, products, kind },
  refusal,
}: {
  market: Market;
  refusal: string | undefined;
}) {
  const names = useProductNames();
  const [isOpen, setOpen] = useState(false);
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
    [words.item[kind], ({ item }) => <span className="font-mono text-[0.8125rem]">{item}</span>],
    [
      words.product,
      ({ productId }) => (
        <TextLink to="/products/$id" params={{ id: productId }}>
          {productName(names, productId)}
        </TextLink>
      ),
    ],
    [words.terms, (row) => words.describe(row)],
    [
      words.change,
      ({ item }) => (
        <Button look="link" refusal={refusal} onClick={() => remove(item)}>
          {words.unmap}
        </Button>
      ),
    ],
  ];
  return (
    <Section
      title={words.products}
      actions={
        <Button look="link" refusal={refusal} onClick={() => setOpen(true)}>
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
      <Dialog title={words.map} isOpen={isOpen} onClose={() => setOpen(false)} isWide>
        <MappingForm
          kind={kind}
          refusal={refusal}
          onSubmit={async (mapped) => {
            await store((current) => [
              ...current.filter((one) => one.item !== mapped.item),
              mapped,
            ]);
            setOpen(false);
            toasts.done(words.mapped(mapped.item));
          }}
        />
      </Dialog>
    </Section>
  );
}

function MappingForm({
  kind,
  refusal,
  onSubmit,
}: {
  kind: Market['kind'];
  refusal: string | undefined;
  onSubmit: (mapped: Mapped) => Promise<void>;
}) {
  const { data: products = [] } = useProducts();
  const [isTemporary, setTemporary] = useState(false);
  return (
    <Form
      onSubmit={(data) =>
        onSubmit({
          item: String(data.get('item')).trim(),
          productId: Number(data.get('productId')),
          licenseType: isTemporary ? 'TEMPORARY' : 'PERMANENT',
          expiresAfterDays: isTemporary ? numberIn(data, 'expiresAfterDays') : null,
          maxIPs: numberIn(data, 'maxIPs'),
          maxHWIDs: numberIn(data, 'maxHWIDs'),
          quantity: QUANTITY_MEANINGS.find((one) => one === data.get('quantity')) ?? 'licenses',
        })
      }
      buttons={(isBusy) => (
        <Button type="submit" look="primary" disabled={isBusy} refusal={refusal}>
          {words.mapAction}
        </Button>
      )}
    >
      <FieldGroup>
        <TextField label={words.item[kind]} hint={words.itemHint[kind]} name="item" required />
        <SelectField
          label={words.product}
          name="productId"
          options={products.map(({ id, name }) => [String(id), name] as const)}
          required
        />
        <SelectField
          label={words.lifetime}
          name="licenseType"
          options={[
            ['PERMANENT', words.lifetimes.PERMANENT],
            ['TEMPORARY', words.lifetimes.TEMPORARY],
          ]}
          defaultValue="PERMANENT"
          onChange={({ target }) => setTemporary(Object(target).value === 'TEMPORARY')}
        />
        {isTemporary && (
          <TextField
            label={words.days}
            hint={words.daysHint}
            name="expiresAfterDays"
            type="number"
            min={1}
            max={MAX_EXPIRES_AFTER_DAYS}
          />
        )}
        <TextField
          label={words.maxIPs}
          hint={words.limitHint}
          name="maxIPs"
          type="number"
          min={-1}
          max={MAX_LIMIT}
        />
        <TextField
          label={words.maxHWIDs}
          hint={words.limitHint}
          name="maxHWIDs"
          type="number"
          min={-1}
          max={MAX_LIMIT}
        />
        <SelectField
          label={words.quantity}
          name="quantity"
          options={QUANTITY_MEANINGS.map((one) => [one, words.quantities[one]] as const)}
          defaultValue="licenses"
        />
      </FieldGroup>
    </Form>
  );
}
