import { isObject } from '@licet/client/connection';
import {
  ASSISTANT_INTENTS,
  CONSENT_REQUEST_PATH,
  type ConsentGiven,
  type ConsentRequest,
  coveredIntents,
  DEFAULT_GRANT_DAYS,
  MAX_GRANT_DAYS,
} from '@licet/contract/consent';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { connection } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { ControlGroup, Form, TextField } from '../../components/form.tsx';
import { Facts, LoadFailure, Notice, Page, Skeleton } from '../../components/page.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useSession } from '../../session.ts';
import { texts } from '../../texts.ts';
import { REQUEST } from './route.ts';

const words = screenTexts.consent;

/** Asks a person whether an assistant may work with the service (12.7). */
export function Screen() {
  const { data, error, refetch } = useQuery({
    queryKey: ['consent'],
    queryFn: () =>
      connection.read<ConsentRequest>('GET', CONSENT_REQUEST_PATH + REQUEST, {}, isObject),
    // A form that was filled in must not change.
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data) return <Question {...data} />;
  return error ? <LoadFailure error={error} onRetry={refetch} /> : <Skeleton lines={8} />;
}

const SETTLING_MS = 500;

/** Whether the page has been in front for a moment. Before that, a click was meant for the page that was there before. */
function useIsSettled(): boolean {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    let timer = 0;
    const begin = (): void => {
      clearTimeout(timer);
      setSettled(false);
      if (document.hasFocus()) timer = window.setTimeout(setSettled, SETTLING_MS, true);
    };
    begin();
    addEventListener('focus', begin);
    addEventListener('blur', begin);
    return () => {
      clearTimeout(timer);
      removeEventListener('focus', begin);
      removeEventListener('blur', begin);
    };
  }, []);
  return isSettled;
}

function Question({ name, host, returnsTo, isLocal, declineUrl }: ConsentRequest) {
  const { intents: held } = useSession();
  const [isDone, setDone] = useState(false);
  const isSettled = useIsSettled();
  /** An address of a program on this computer leaves the page as it is. */
  const leave = (url: string): void => {
    location.assign(url);
    setDone(true);
  };
  const allow = async (data: FormData): Promise<void> => {
    const body = {
      query: REQUEST,
      intents: data.getAll('intents'),
      days: Number(data.get('days')),
    };
    const call = { body };
    const { url } = await connection.read<ConsentGiven>(
      'POST',
      CONSENT_REQUEST_PATH,
      call,
      isObject,
    );
    leave(url);
  };
  return (
    <Page title={words.title(name)} lead={words.lead}>
      {isDone ? (
        <Notice>{words.done}</Notice>
      ) : (
        <div className="max-w-xl rounded-xl border border-line bg-surface">
          <Facts
            rows={[
              ...(host === null ? [] : [[words.host, host] as const]),
              [words.returnsTo, isLocal ? words.local(returnsTo) : returnsTo],
            ]}
          />
          <Form
            onSubmit={allow}
            className="flex flex-col gap-5 border-t border-line p-4 sm:p-5"
            buttons={(isBusy) => (
              <>
                <Button
                  type="submit"
                  look="primary"
                  disabled={isBusy}
                  refusal={isSettled ? undefined : words.unsettled}
                >
                  {words.allow}
                </Button>
                <Button onClick={() => leave(declineUrl)}>{words.decline}</Button>
              </>
            )}
          >
            <ControlGroup label={words.intents} name="intents">
              {(['read', 'write'] as const).flatMap((kind) =>
                coveredIntents(ASSISTANT_INTENTS[kind], held).map((intent) => (
                  <label key={intent} className="flex items-center gap-2 pointer-coarse:min-h-11">
                    <input
                      type="checkbox"
                      name="intents"
                      value={intent}
                      defaultChecked={kind === 'read'}
                    />
                    {texts.intents[intent]}
                  </label>
                )),
              )}
            </ControlGroup>
            <TextField
              label={words.days}
              hint={words.ends}
              name="days"
              type="number"
              min={1}
              max={MAX_GRANT_DAYS}
              defaultValue={DEFAULT_GRANT_DAYS}
              required
            />
          </Form>
        </div>
      )}
    </Page>
  );
}
