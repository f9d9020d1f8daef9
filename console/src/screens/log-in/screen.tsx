import { WRONG_HOST } from '@licet/contract/messages';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { describe, hasStatus, logIn, logInWithCode, queries, SESSION_QUERY } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { Notice, Skeleton } from '../../components/page.tsx';
import { Sign } from '../../components/sign.tsx';
import { texts } from '../../texts.ts';

const { session: words } = texts;

/** A failed log-in in words; `refused` are those for a token or code that is not valid. */
const failureOf = (error: unknown, refused: string): string => {
  if (!hasStatus(error, 401)) return describe(error);
  return error instanceof Error && error.message === WRONG_HOST ? words.wrongHost : refused;
};

/** Unlike `autoFocus`, which a browser follows once in a document, this also focuses the field of a later log-in. */
const focus = (field: HTMLInputElement | null): void => field?.focus();

/** Asks for a token. A `code` in the address is used at once, and removed from the address. */
export function LogIn({ code }: { code: string | undefined }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [failure, setFailure] = useState<string>();
  const usedCode = useRef<string>(undefined);
  useEffect(() => {
    document.title = `${words.title} · ${texts.product}`;
  }, []);
  useEffect(() => {
    // The effect may run again; the code works once.
    if (code === undefined || usedCode.current === code) return;
    usedCode.current = code;
    logInWithCode(code)
      .catch((error: unknown) => {
        // Otherwise a skeleton replaces this form while the session is read, and the message is lost.
        client.setQueryData(SESSION_QUERY.queryKey, null);
        setFailure(failureOf(error, words.codeUsed));
      })
      .finally(async () => {
        await navigate({ to: '.', search: true, hash: '', replace: true });
        await client.invalidateQueries(SESSION_QUERY);
      });
  }, [code, client, navigate]);
  if (code !== undefined) return <Skeleton />;
  const submit = async (data: FormData): Promise<void> => {
    const token = String(data.get('token')).trim();
    setFailure(undefined);
    if (token === '') return setFailure(words.tokenNeeded);
    try {
      await logIn(token);
    } catch (error) {
      return setFailure(failureOf(error, words.wrong));
    }
    await queries.invalidateQueries(SESSION_QUERY);
  };
  return (
    <main className="mx-auto flex min-h-dvh max-w-sm flex-col justify-center gap-6 px-5 py-10">
      <div>
        <Sign className="mb-5 size-10" />
        <h1 className="text-xl font-semibold tracking-tight">{words.title}</h1>
        <p className="mt-1 text-muted">{words.lead}</p>
      </div>
      {!isSecureContext && <Notice tone="warn">{words.insecure}</Notice>}
      {failure && <Notice tone="bad">{failure}</Notice>}
      <Form
        onSubmit={submit}
        buttons={(isBusy) => (
          <Button type="submit" look="primary" className="w-full" disabled={isBusy}>
            {words.submit}
          </Button>
        )}
      >
        <TextField
          label={words.token}
          name="token"
          type="password"
          autoComplete="current-password"
          spellCheck="false"
          ref={focus}
        />
      </Form>
      <details className="text-muted">
        <summary className="cursor-pointer rounded-sm pointer-coarse:py-3">
          {words.whereTitle}
        </summary>
        <p className="mt-2">{words.where}</p>
      </details>
    </main>
  );
}
