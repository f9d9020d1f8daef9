import type { Customer, Tagged } from '@licet/client';
import { MAX_EMAIL_LENGTH, MAX_TEXT_LENGTH } from '@licet/contract/limits';
import type { ReactNode } from 'react';
import { licet, queries } from '../../api.ts';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { FieldGroup, TextField } from '../../components/form.tsx';
import { MetadataField, metadataOf } from '../../components/metadata-field.tsx';
import { toasts } from '../../components/toasts.tsx';
import { textIn } from '../../form-data.ts';
import { metadataText } from '../../metadata.ts';
import { isOffered, usePlatformLabel } from '../../platforms.ts';
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
type Texts = Pick<Customer, Name>;
type Values = Texts & Pick<Customer, 'metadata'>;

/** Reads all data again that a change of a customer may have changed. */
export const refreshCustomers = () =>
  Promise.all(
    [['customers'], ['licenses'], ['events']].map((queryKey) =>
      queries.invalidateQueries({ queryKey }),
    ),
  );

/** The form of a customer; without `stored` that of a new one. */
export function CustomerForm({
  stored,
  onDone,
  cancel,
}: {
  stored?: Tagged<Customer> & { id: number };
  onDone: () => void;
  cancel?: ReactNode;
}) {
  const refusal = useRefusal('everything');
  const labelOf = usePlatformLabel();
  const customer = stored?.item;
  const id = stored?.id ?? 0;

  const accounts: readonly EditedField<Texts>[] = ACCOUNTS.flatMap((account) => [
    { name: account.id, label: words.accountId(labelOf(account.platform)) },
    { name: account.username, label: words.accountName(labelOf(account.platform)) },
  ]);
  const offered = ACCOUNTS.filter((account) =>
    isOffered(account.platform, Boolean(customer?.[account.id] ?? customer?.[account.username])),
  ).flatMap(({ id, username }): Name[] => [id, username]);
  const isShown = ({ name }: EditedField<Texts>) =>
    offered.includes(name) || CHAT.some((one) => one === name);
  const fields: readonly EditedField<Texts>[] = [
    ...[...PERSON, ...CHAT].map((name) => ({ name, label: words[name] })),
    ...accounts,
  ];

  const valuesOf = (data: FormData): Values => {
    const value = (name: Name): string | null => textIn(data, name) || null;
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
      metadata: metadataOf(data),
    };
  };

  const fieldOf = ({ name, label }: EditedField<Texts>) => (
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
      fields={[
        ...fields,
        {
          name: 'metadata',
          label: screenTexts.metadata.title,
          show: ({ metadata }) => metadataText(metadata),
        },
      ]}
      valuesOf={valuesOf}
      create={async (values) => {
        const created = await licet.customers.create(values);
        await refreshCustomers();
        toasts.done(words.created(nameOf(created)));
      }}
      update={async (changes, ifMatch) => {
        await licet.customers.update(id, changes, { ifMatch });
        await refreshCustomers();
      }}
      read={() => licet.customers.read(id)}
      onDone={onDone}
      createLabel={words.create}
      refusal={refusal}
      buttons={cancel}
    >
      <FieldGroup title={words.person}>{fields.slice(0, PERSON.length).map(fieldOf)}</FieldGroup>
      <FieldGroup title={words.accounts}>
        {fields.slice(PERSON.length).filter(isShown).map(fieldOf)}
      </FieldGroup>
      <MetadataField stored={customer?.metadata} />
    </EditForm>
  );
}
