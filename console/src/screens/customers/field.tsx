import type { Customer } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { licet } from '../../api.ts';
import { TextField } from '../../components/form.tsx';
import { MIN_TEXT, useRested } from '../../rested.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { nameOf } from './accounts.ts';

/** The field that names the customer of a license. */

const words = screenTexts.customers;
const CHOICES = 8;

/** The text that names a customer in the field: the e-mail, else the id; empty for nobody. */
export const customerText = (customer: Customer | null): string =>
  customer === null ? '' : (customer.email ?? words.nameless(customer.id));

/** The customer that the text of the field names, as a request does. An empty text is nobody. */
export function ownerOfText(text: string) {
  const [, id] = /^customer (\d+)$/i.exec(text) ?? [];
  return id === undefined ? { customerEmail: text || null } : { customerId: Number(id) };
}

/** A field for an e-mail, which suggests customers by a part of their name, e-mail or account. */
export function CustomerField({
  hint,
  defaultValue,
  required = false,
}: {
  hint: string;
  defaultValue?: string | undefined;
  required?: boolean;
}) {
  const listId = useId();
  const [typed, setTyped] = useState('');
  const rested = useRested(typed.trim());
  const mayRead = useMay('readCustomers');
  const { data = [] } = useQuery({
    queryKey: ['customers', 'choices', rested],
    queryFn: ({ signal }) => licet.customers.list({ q: rested, limit: CHOICES }, { signal }),
    enabled: mayRead && rested.length >= MIN_TEXT,
    placeholderData: keepPreviousData,
  });
  return (
    <div>
      <TextField
        label={words.one}
        hint={hint}
        // The name of the field on the wire, so that its errors stand beside it.
        name="customerEmail"
        inputMode="email"
        autoCapitalize="none"
        spellCheck="false"
        list={listId}
        required={required}
        defaultValue={defaultValue}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <datalist id={listId}>
        {data.map((customer) => (
          <option key={customer.id} value={customerText(customer)}>
            {nameOf(customer)}
          </option>
        ))}
      </datalist>
    </div>
  );
}
