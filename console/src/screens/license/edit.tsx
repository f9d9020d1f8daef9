import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { License, Tagged } from '../../../../packages/client/src/index';
import { hasStatus, licet } from '../../api';
import { Button, ButtonLink } from '../../components/button';
import { Form } from '../../components/form';
import { LoadFailure, Page, Skeleton } from '../../components/page';
import { toasts } from '../../components/toasts';
import { NotFound } from '../../frame/frame';
import { screenTexts } from '../../screen-texts';
import { texts } from '../../texts';
import { Conflict } from './conflict';
import { bodyOf, type LicenseBody, LicenseFields, toLocal } from './form-fields';
import { licenseQuery, refresh } from './queries';
import { licenseEditRoute } from './route';

const words = screenTexts.licenseForm;

/** The fields whose values differ from those of the license. */
export function changesOf(body: LicenseBody, license: License): Partial<LicenseBody> {
  const isSame = ([name, value]: [string, unknown]): boolean => {
    // The field for a date has no seconds.
    if (name === 'expiryDate') return toLocal(body.expiryDate) === toLocal(license.expiryDate);
    return value === { ...license }[name];
  };
  return Object.fromEntries(Object.entries(body).filter((entry) => !isSame(entry)));
}

/** Edits a license. Somebody else's change in the meantime is shown beside one's own. */
export function Screen() {
  const { licenseId } = licenseEditRoute.useParams();
  const { data, error, refetch } = useQuery({
    ...licenseQuery(licenseId),
    // What is edited stays as it was read: its tag finds out whether somebody else was faster.
    staleTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (hasStatus(error, 404) || hasStatus(error, 400)) return <NotFound />;
  if (error && !data) return <LoadFailure error={error} onRetry={refetch} />;
  if (!data) return <Skeleton lines={8} />;
  return <Editor read={data} />;
}

function Editor({ read }: { read: Tagged<License> }) {
  const navigate = licenseEditRoute.useNavigate();
  // The first one: a later reading must not change what the tag stands for.
  const [{ item: license, etag }] = useState(read);
  const [conflict, setConflict] = useState<{
    mine: Partial<LicenseBody>;
    stored: Tagged<License>;
  }>();
  const params = { licenseId: license.id };

  const save = async (changes: Partial<LicenseBody>, ifMatch: string | undefined) => {
    if (Object.keys(changes).length === 0) {
      toasts.done(words.nothingChanged);
      return navigate({ to: '/licenses/$licenseId', params });
    }
    try {
      await licet.licenses.update(license.id, changes, { ifMatch });
    } catch (error) {
      if (!hasStatus(error, 412)) throw error;
      return setConflict({ mine: changes, stored: await licet.licenses.read(license.id) });
    }
    await refresh();
    toasts.done(words.saved);
    await navigate({ to: '/licenses/$licenseId', params });
  };

  const title = words.editTitle(license.licenseKey);
  return (
    <Page
      title={title}
      heading={
        <>
          {texts.actions.edit}{' '}
          <span className="font-mono text-lg break-all">{license.licenseKey}</span>
        </>
      }
    >
      {conflict && (
        <Conflict
          key={conflict.stored.etag}
          mine={conflict.mine}
          read={license}
          stored={conflict.stored.item}
          onSave={(chosen) => save(chosen, conflict.stored.etag)}
        />
      )}
      {/* Kept while the conflict is shown, with all that was typed. */}
      <div hidden={conflict !== undefined}>
        <Form
          className="flex max-w-3xl flex-col gap-4"
          onSubmit={async (data) => save(changesOf(bodyOf(data), license), etag)}
          buttons={(isBusy) => (
            <>
              <Button type="submit" look="primary" disabled={isBusy}>
                {texts.actions.save}
              </Button>
              <ButtonLink to="/licenses/$licenseId" params={params} look="quiet">
                {texts.actions.cancel}
              </ButtonLink>
            </>
          )}
        >
          <LicenseFields license={license} />
        </Form>
      </div>
    </Page>
  );
}
