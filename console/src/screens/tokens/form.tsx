import { type ApiIntent, LicetError, type Tagged, type Token } from '@licet/client';
import { API_INTENTS } from '@licet/contract/enums';
import { MAX_TEXT_LENGTH } from '@licet/contract/limits';
import { type ReactNode, useState } from 'react';
import { licet, queries } from '../../api.ts';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { ExpiryField } from '../../components/expiry-field.tsx';
import { TextField } from '../../components/form.tsx';
import { endOfDay } from '../../dates.ts';
import { formatDate } from '../../format.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { texts } from '../../texts.ts';
import { IntentField } from './intent-field.tsx';

const words = screenTexts.tokens;

type Values = Omit<Token, 'id' | 'client' | 'lastUsedAt' | 'createdAt' | 'updatedAt'>;

/** The names of intents in words. */
export const intentNames = (intents: readonly ApiIntent[]): string =>
  intents.map((intent) => texts.intents[intent]).join(', ');

const FIELDS: readonly EditedField<Values>[] = [
  { name: 'name', label: words.name },
  { name: 'intents', label: words.intents, show: ({ intents }) => intentNames(intents) },
  {
    name: 'expiresAt',
    label: words.expiresOn,
    show: ({ expiresAt }) => (expiresAt === null ? words.never : formatDate(expiresAt)),
  },
];

/**
 * Reads all data again that a change of a token may have changed.
 *
 * @param deleted the id of a deleted token, for which the screen that is left must not ask
 */
export const refreshTokens = (deleted?: number) =>
  Promise.all(
    [['tokens'], ['events']].map((queryKey) =>
      queries.invalidateQueries({
        queryKey,
        predicate: ({ queryKey: [, , id] }) => deleted === undefined || id !== deleted,
      }),
    ),
  );

/** The form of a token; without `stored` that of a new one. */
export function TokenForm({
  stored,
  onCreated,
  onDone,
  cancel,
}: {
  stored?: Tagged<Token> & { id: number };
  /** Called with the secret of a new token. */
  onCreated?: (secret: string) => void;
  /** Called when a stored token was changed. */
  onDone?: () => void;
  cancel?: ReactNode;
}) {
  const refusal = useRefusal('everything');
  const token = stored?.item;
  const id = stored?.id ?? 0;
  const [intents, setIntents] = useState<ReadonlySet<ApiIntent>>(new Set(token?.intents));

  const valuesOf = (data: FormData): Values => {
    // Has the form of the service's own message, with a clearer text.
    if (intents.size === 0) throw new LicetError(400, `intents ${words.intentsNeeded}`);
    return {
      name: String(data.get('name')).trim(),
      intents: API_INTENTS.filter((intent) => intents.has(intent)),
      expiresAt: endOfDay(String(data.get('expiresAt') ?? ''), token?.expiresAt),
    };
  };

  return (
    <EditForm<Values>
      stored={stored}
      fields={FIELDS}
      valuesOf={valuesOf}
      create={async (values) => {
        const { token: secret } = await licet.tokens.create(values);
        onCreated?.(secret);
        await refreshTokens();
      }}
      update={async (changes, ifMatch) => {
        await licet.tokens.update(id, changes, { ifMatch });
        await refreshTokens();
      }}
      read={() => licet.tokens.read(id)}
      onDone={() => stored && onDone?.()}
      createLabel={words.create}
      refusal={refusal}
      buttons={cancel}
    >
      <TextField
        label={words.name}
        hint={words.nameHint}
        name="name"
        defaultValue={token?.name}
        maxLength={MAX_TEXT_LENGTH}
        required
      />
      <IntentField value={intents} onChange={setIntents} />
      <ExpiryField
        label={words.expiresOn}
        name="expiresAt"
        stored={token?.expiresAt ?? null}
        inPast={words.inPast}
      />
    </EditForm>
  );
}
