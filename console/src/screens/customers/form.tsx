import type { Customer, Tagged } from '@licet/client';
import { MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH } from '@licet/contract/limits';
import { useState } from 'react';
import { hasStatus, licet, queries } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { FieldGroup, TextField } from '../../components/form.tsx';
import { toasts } from '../../components/toasts.tsx';
import { usePlatformLabel } from '../../platforms.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { ACCOUNTS, nameOf } from './accounts.ts';

const words = screenTexts.customers;

const PERSON = ['firstName', 'lastName', 'email', 'phoneNumber', 'username'] as const;
const CHAT = ['chatId', 'chatUsername'] as const;

type Name =
  | (typeof PERSON)[number]
  | (typeof CHAT)[number]
  | (typeof ACCOUNTS)[number]['id' | 'username'];
type Values = Pick<Customer, Name>;

/** Erases a person. The service erases a long history in parts, and returns 409 until all parts are erased. */
async function forget(id: number): Promise<void> {
  for (;;) {
    try {
      return await licet.customers.delete(id);
    } catch (error) {
      if (!hasStatus(error, 409)) throw error;
    }
  }
}

/** The form of a customer; without `stored` that of a new one. */
export function CustomerForm({
  stored,
  onDone,
}: {
  stored: (Tagged<Customer> & { id: number }) | undefined;
  onDone: () => void;
}) {
  const refusal = useRefusal('everything');
  const labelOf = usePlatformLabel();
  const [isForgetting, setForgetting] = useState(false);
  const customer = stored?.item;
  const id = stored?.id ?? 0;
  const changed = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['customers'] }),
      queries.invalidateQueries({ queryKey: ['licenses'] }),
    ]);

  const accounts: readonly EditedField<Values>[] = ACCOUNTS.flatMap((account) => [
    { name: account.id, label: words.accountId(labelOf(account.platform)) },
    { name: account.username, label: words.accountName(labelOf(account.platform)) },
  ]);
  const fields: readonly EditedField<Values>[] = [
    ...[...PERSON, ...CHAT].map((name) => ({ name, label: words[name] })),
    ...accounts,
  ];

  const valuesOf = (data: FormData): Values => {
    const value = (name: Name): string | null => String(data.get(name) ?? '').trim() || null;
    return {
      firstName: value('firstName'),
      lastName: value('lastName'),
      email: value('email'),
      phoneNumber: value('phoneNumber'),
      username: value('username'),
      chatId: value('chatId'),
      chatUsername: value('chatUsername'),
      platformAId: value('platformAId'),
      platformAUsername: value('platformAUsername'),
      platformBId: value('platformBId'),
      platformBUsername: value('platformBUsername'),
      platformCId: value('platformCId'),
      platformCUsername: value('platformCUsername'),
      marketAId: value('marketAId'),
      marketAUsername: value('marketAUsername'),
      marketBId: value('marketBId'),
      marketBUsername: value('marketBUsername'),
    };
  };

  const forgetPerson = async (): Promise<void> => {
    if (!customer) return;
    const name = nameOf(customer);
    const isSure = await confirm({
      title: words.forgetTitle(name),
      lead: words.forgetLead,
      action: words.forgetAction,
    });
    if (!isSure) return;
    setForgetting(true);
    try {
      await forget(id);
    } catch (error) {
      setForgetting(false);
      return toasts.fail(error);
    }
    onDone();
    toasts.done(words.forgotten(name));
    await changed();
  };

  const fieldOf = ({ name, label }: EditedField<Values>) => (
    <TextField
      key={name}
      label={label}
      name={name}
      defaultValue={customer?.[name] ?? ''}
      maxLength={MAX_TEXT_LENGTH}
      {...(name === 'email' && { type: 'email', maxLength: MAX_EMAIL_LENGTH })}
      {...(name === 'phoneNumber' && { inputMode: 'tel' })}
    />
  );

  return (
    <EditForm<Values>
      stored={stored}
      fields={fields}
      valuesOf={valuesOf}
      create={async (values) => {
        const created = await licet.customers.create(values);
        await changed();
        toasts.done(words.created(nameOf(created)));
      }}
      update={async (changes, ifMatch) => {
        await licet.customers.update(id, changes, { ifMatch });
        await changed();
      }}
      read={() => licet.customers.read(id)}
      onDone={onDone}
      createLabel={words.create}
      refusal={refusal}
      buttons={
        stored && (
          <Button
            look="danger"
            className="ml-auto"
            refusal={refusal}
            disabled={isForgetting}
            onClick={forgetPerson}
          >
            {isForgetting ? words.forgetting : words.forget}
          </Button>
        )
      }
    >
      <FieldGroup title={words.person}>{fields.slice(0, PERSON.length).map(fieldOf)}</FieldGroup>
      <FieldGroup title={words.accounts}>{fields.slice(PERSON.length).map(fieldOf)}</FieldGroup>
    </EditForm>
  );
}
