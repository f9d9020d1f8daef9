import { MAX_EMAIL_LENGTH } from '@licet/contract/limits';
import { type SubmitEvent, useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { useAct } from './act.ts';
import { BRAND } from './brand.ts';
import { language, words } from './language.ts';
import { Alert } from './notice.tsx';
import { askForLink } from './service.ts';

const { mail } = words;

/** Asks for a link by e-mail. The page says the same whether or not the e-mail is known. */
export function LinkForm() {
  const [isSent, setSent] = useState(false);
  // Nobody is signed in here, and no session can end.
  const { act, isBusy, fault } = useAct(() => undefined);
  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    setSent(false);
    const email = String(new FormData(event.currentTarget).get('email')).trim();
    const isAccepted = await act(async () => {
      await askForLink(email, language);
      return true;
    });
    setSent(isAccepted === true);
  };
  return (
    <form onSubmit={submit} className="flex w-full flex-col gap-2">
      <label htmlFor="email" className="font-medium">
        {mail.label}
      </label>
      <div className="flex flex-wrap gap-2">
        <input
          id="email"
          type="email"
          name="email"
          autoComplete="email"
          required
          maxLength={MAX_EMAIL_LENGTH}
          className="min-h-9 min-w-0 flex-1 basis-44 rounded-lg border border-edge bg-surface px-3 py-1.5 text-base sm:text-sm pointer-coarse:min-h-11"
        />
        <button
          type="submit"
          disabled={isBusy}
          className={buttonClass('primary', `${BRAND} max-sm:flex-1`)}
        >
          {mail.send}
        </button>
      </div>
      {fault !== undefined && <Alert>{fault}</Alert>}
      <p role="status" className={isSent ? 'rounded-lg bg-hover px-3 py-2' : ''}>
        {isSent && mail.sent}
      </p>
    </form>
  );
}
