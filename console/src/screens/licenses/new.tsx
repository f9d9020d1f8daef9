import { MAX_BATCH_LICENSES } from '@licet/contract/limits';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { Page } from '../../components/page.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { ownerOfText } from '../customers/owner.ts';
import { bodyOf, LicenseFields, termsOf } from '../license/form-fields.tsx';
import { refresh } from '../license/queries.ts';
import { licenseNewRoute } from './route.ts';

const words = screenTexts.licenseForm;

/** New licenses: one, or many with the same terms. */
export function Screen() {
  const { productId, email, ...example } = licenseNewRoute.useSearch();
  const navigate = licenseNewRoute.useNavigate();
  const [count, setCount] = useState(1);
  const submit = async (data: FormData): Promise<void> => {
    const { customer, expiry, ...body } = bodyOf(data);
    const licenses = await licet.licenses.createBatch({
      ...body,
      ...termsOf(expiry),
      ...ownerOfText(customer),
      count,
    });
    await refresh();
    const ids = licenses.map(({ id }) => id);
    const [first, last] = [Math.min(...ids), Math.max(...ids)];
    if (licenses.length > 1) return navigate({ to: '/licenses/created', search: { first, last } });
    toasts.done(words.created(1));
    if (example.file) {
      const search = { ...example, productId: licenses[0]?.productId, licenseId: first };
      return navigate({ to: '/program', search });
    }
    await navigate({ to: '/licenses/$licenseId', params: { licenseId: first } });
  };
  return (
    <Page title={words.newTitle} lead={words.newLead}>
      <Form
        className="flex max-w-3xl flex-col gap-4"
        onSubmit={submit}
        buttons={(isBusy) => (
          <>
            <Button type="submit" look="primary" disabled={isBusy}>
              {words.create(count)}
            </Button>
            <ButtonLink
              {...(example.file
                ? { to: '/program', search: { ...example, productId } }
                : { to: '/licenses' })}
              look="quiet"
            >
              {texts.actions.cancel}
            </ButtonLink>
          </>
        )}
      >
        <LicenseFields productId={productId} email={email}>
          <TextField
            label={words.count}
            hint={words.countHint}
            name="count"
            type="number"
            min={1}
            max={MAX_BATCH_LICENSES}
            step={1}
            required
            defaultValue={1}
            onChange={({ target }) => setCount(Number(target.value) || 1)}
          />
        </LicenseFields>
      </Form>
    </Page>
  );
}
