import type { License } from '@licet/client';
import { MAX_BATCH_LICENSES } from '@licet/contract/limits';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { Download } from '../../components/icons.tsx';
import { Page, Section } from '../../components/page.tsx';
import { toasts } from '../../components/toasts.tsx';
import { downloadItems } from '../../csv.ts';
import { screenTexts } from '../../screen-texts.ts';
import { texts } from '../../texts.ts';
import { ownerOfText } from '../customers/field.tsx';
import { bodyOf, LicenseFields } from '../license/form-fields.tsx';
import { refresh } from '../license/queries.ts';
import { licenseNewRoute } from './route.ts';

const words = screenTexts.licenseForm;

/** New licenses: one, or many with the same terms. */
export function Screen() {
  const { productId, email } = licenseNewRoute.useSearch();
  const navigate = licenseNewRoute.useNavigate();
  const [count, setCount] = useState(1);
  const [created, setCreated] = useState<readonly License[]>();
  if (created) return <Created licenses={created} onMore={() => setCreated(undefined)} />;
  const submit = async (data: FormData): Promise<void> => {
    const { customer, ...body } = bodyOf(data);
    const licenses = await licet.licenses.createBatch({ ...body, ...ownerOfText(customer), count });
    await refresh();
    const [first] = licenses;
    if (licenses.length > 1 || !first) return setCreated(licenses);
    toasts.done(words.created(1));
    await navigate({ to: '/licenses/$licenseId', params: { licenseId: first.id } });
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
            <ButtonLink to="/licenses" look="quiet">
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

function Created({ licenses, onMore }: { licenses: readonly License[]; onMore: () => void }) {
  return (
    <Page
      title={words.created(licenses.length)}
      lead={words.createdLead}
      actions={
        <>
          <Button
            look="primary"
            onClick={() => downloadItems(screenTexts.licenses.csvName, 'licenses', licenses)}
          >
            <Download size={16} aria-hidden />
            {words.csv}
          </Button>
          <CopyButton
            value={licenses.map(({ licenseKey }) => licenseKey).join('\n')}
            label={words.copyAll}
          />
          <Button onClick={onMore}>{words.more}</Button>
        </>
      }
    >
      <Section title={screenTexts.licenses.title}>
        <ul className="grid gap-x-6 gap-y-2 p-4 font-mono text-[0.8125rem] sm:grid-cols-2 sm:p-5 lg:grid-cols-3">
          {licenses.map(({ id, licenseKey }) => (
            <li key={id}>
              <TextLink to="/licenses/$licenseId" params={{ licenseId: id }}>
                {licenseKey}
              </TextLink>
            </li>
          ))}
        </ul>
      </Section>
    </Page>
  );
}
