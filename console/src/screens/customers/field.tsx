import { type Customer, LicetError } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useState } from 'react';
import { hasStatus, licet } from '../../api.ts';
import { TextField } from '../../components/form.tsx';
import { MIN_TEXT, useRested } from '../../rested.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay } from '../../session.ts';
import { nameOf } from './accounts.ts';
import { customerText, ownerOfText } from './owner.ts';

/** The field that names the customer of a license. */

const words = screenTexts.customers;
const CHOICES = 8;

const isEmail = (text: string): boolean => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text);

/**
 * The customer that a text names, also by a part that one customer alone has.
 *
 * @throws LicetError for the field, unless the text names one customer
 */
export async function findOwner(text: string): Promise<ReturnType<typeof ownerOfText>> {
  const owner = ownerOfText(text);
  if ('customerId' in owner || isEmail(text)) return owner;
  const found =
    text.length < MIN_TEXT
      ? []
      : await licet.customers.list({ q: text, limit: 2 }).catch((error: unknown) => {
          if (hasStatus(error, 403)) return [];
          throw error;
        });
  const [only, other] = found;
  if (only && !other) return { customerId: only.id };
  throw new LicetError(400, `customerEmail ${other ? words.severalMatch : words.noneMatches}`);
}

/** A field for an e-mail, with a list of the customers that have the text in their name, e-mail or account. */
export function CustomerField({
  hint,
  defaultValue = '',
  required = false,
}: {
  hint: string;
  defaultValue?: string | undefined;
  required?: boolean;
}) {
  const listId = useId();
  const [text, setText] = useState(defaultValue);
  const [isTyping, setTyping] = useState(false);
  const [active, setActive] = useState(-1);
  const rested = useRested(text.trim());
  const isSearched = useMay('readCustomers') && isTyping && rested.length >= MIN_TEXT;
  const { data } = useQuery({
    queryKey: ['customers', 'choices', rested],
    queryFn: ({ signal }) => licet.customers.list({ q: rested, limit: CHOICES }, { signal }),
    enabled: isSearched,
    placeholderData: keepPreviousData,
  });
  const choices = isSearched ? (data ?? []) : [];
  const current = choices[active];
  const close = (): void => {
    setTyping(false);
    setActive(-1);
  };
  const choose = (customer: Customer): void => {
    setText(customerText(customer));
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setActive(Math.min(active + 1, choices.length - 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(active - 1, -1));
    else if (event.key === 'Enter' && current) choose(current);
    else return;
    event.preventDefault();
  };
  return (
    <div className="relative">
      <TextField
        label={words.one}
        hint={hint}
        // The name of the field on the wire, so that its errors stand beside it.
        name="customerEmail"
        inputMode="email"
        autoCapitalize="none"
        spellCheck="false"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={choices.length > 0}
        aria-controls={listId}
        aria-activedescendant={current && `${listId}-${current.id}`}
        required={required}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setTyping(true);
          setActive(-1);
        }}
        onKeyDown={onKeyDown}
        // In a dialog the list takes room: without it, the clicked button would move away.
        onBlur={({ currentTarget }) => currentTarget.closest('[data-dialog]') || close()}
      >
        <div
          id={listId}
          role="listbox"
          aria-label={screenTexts.customers.title}
          hidden={choices.length === 0}
          className="inset-x-0 z-10 max-h-64 overflow-y-auto rounded-lg border border-line bg-raised p-1 not-in-data-dialog:absolute not-in-data-dialog:top-full not-in-data-dialog:shadow-raised"
        >
          {choices.map((customer) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
            <div
              key={customer.id}
              id={`${listId}-${customer.id}`}
              role="option"
              aria-selected={customer === current}
              tabIndex={-1}
              // The field keeps the focus.
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(customer)}
              className="cursor-pointer rounded-md px-2 py-1.5 hover:bg-hover aria-selected:bg-accent-soft pointer-coarse:py-2.5"
            >
              <p className="truncate">{nameOf(customer)}</p>
              {customer.email !== nameOf(customer) && (
                <p className="truncate text-xs text-muted empty:hidden">{customer.email}</p>
              )}
            </div>
          ))}
        </div>
      </TextField>
    </div>
  );
}
