import type { Market } from '@licet/client';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextArea } from '../../components/form.tsx';
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
  market: { id, kind, secretCount },
  refusal,
}: {
  market: Market;
  refusal: string | undefined;
}) {
  const [made, setMade] = useState('');
  const [version, setVersion] = useState(0);
  const store = async (secrets: string[]): Promise<void> => {
    await licet.markets.update(id, { secrets });
    await refreshMarkets();
  };
  const make = async (): Promise<void> => {
    const secret = newSecret();
    try {
      await store([secret]);
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
        await store(secrets);
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
        hint={words.secretHint}
        name="secrets"
        rows={2}
        autoComplete="off"
        spellCheck="false"
        required
      />
    </Form>
  );
}
