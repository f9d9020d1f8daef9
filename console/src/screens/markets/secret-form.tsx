import type { Market } from '@licet/client';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextArea, TextField } from '../../components/form.tsx';
import { Secret } from '../../components/secret.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { refreshMarkets } from './queries.ts';

const words = screenTexts.markets;

/** Markets to which the seller gives the secret. The others make their own. */
const TAKES_SECRET: readonly Market['kind'][] = ['builtbybit'];

const newSecret = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');

/** Stores the secrets of a market, or makes one for a market that takes it. */
export function SecretForm({
  market: { id, kind, secretCount, hasApiToken },
  refusal,
}: {
  market: Market;
  refusal: string | undefined;
}) {
  const [made, setMade] = useState('');
  const [version, setVersion] = useState(0);
  const store = async (changes: { secrets?: string[]; apiToken?: string }): Promise<void> => {
    await licet.markets.update(id, changes);
    await refreshMarkets();
  };
  const make = async (): Promise<void> => {
    const secret = newSecret();
    try {
      await store({ secrets: [secret] });
      setMade(secret);
    } catch (error) {
      toasts.fail(error);
    }
  };
  if (made !== '') {
    return (
      <Secret label={words.secret} lead={words.secretLead} secret={made}>
        <div>
          <Button onClick={() => setMade('')}>{words.secretDone}</Button>
        </div>
      </Secret>
    );
  }
  return (
    <Form
      key={version}
      onSubmit={async (data) => {
        const secrets = String(data.get('secrets')).split(/\s+/).filter(Boolean);
        const apiToken = String(data.get('apiToken') ?? '').trim();
        if (secrets.length === 0 && apiToken === '') return;
        await store({
          ...(secrets.length > 0 && { secrets }),
          ...(apiToken !== '' && { apiToken }),
        });
        setVersion(version + 1);
        toasts.done(words.secretStored);
      }}
      buttons={(isBusy) => (
        <>
          <Button type="submit" disabled={isBusy} refusal={refusal}>
            {words.storeSecret}
          </Button>
          {TAKES_SECRET.includes(kind) && (
            <Button look="quiet" refusal={refusal} onClick={make}>
              {words.makeSecret}
            </Button>
          )}
        </>
      )}
    >
      <TextArea
        label={secretCount === 0 ? words.secretOf[kind] : words.otherSecret}
        hint={TAKES_SECRET.includes(kind) ? words.chosenSecretHint : words.secretHint}
        name="secrets"
        rows={2}
        autoComplete="off"
        spellCheck="false"
        required={secretCount === 0}
      />
      {words.apiTokenHints[kind] !== undefined && (
        <TextField
          label={hasApiToken ? words.otherApiToken : words.apiToken}
          hint={words.apiTokenHints[kind]}
          name="apiToken"
          type="password"
        />
      )}
    </Form>
  );
}
