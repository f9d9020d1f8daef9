import type { Webhook } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Cancel, EditPage } from '../../components/edit-page.tsx';
import { Pencil } from '../../components/icons.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { editedQuery, OneItem } from '../../layout/one-item.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { EventSection } from '../events/section.tsx';
import { describeTypes } from './choice.ts';
import { Deliveries } from './deliveries.tsx';
import { NewSecret, WebhookForm } from './form.tsx';
import { SendTest } from './outcome.tsx';
import { nameOf, refreshWebhooks, webhookQuery } from './queries.ts';
import { webhookEditRoute, webhookRoute } from './route.ts';
import { StateBadge, StateSentence } from './state.tsx';

const words = screenTexts.webhooks;

/** A webhook: whether it works, its settings, and its deliveries. */
export function Screen() {
  const { id } = webhookRoute.useParams();
  return (
    <OneItem query={useQuery(webhookQuery(id))}>
      {(webhook) => <WebhookScreen webhook={webhook} />}
    </OneItem>
  );
}

function WebhookScreen({ webhook }: { webhook: Webhook }) {
  const { id, format, url, description } = webhook;
  const name = nameOf(webhook);
  const navigate = webhookRoute.useNavigate();
  const refusal = useRefusal('everything');
  useShortcuts({
    e: () => {
      if (refusal === undefined) void navigate({ to: '/webhooks/$id/edit', params: { id } });
    },
  });
  const remove = async (): Promise<void> => {
    const isSure = await confirm({
      title: words.deleteTitle(name),
      lead: words.deleteLead,
      action: texts.actions.delete,
    });
    if (!isSure) return;
    try {
      await licet.webhooks.delete(id);
    } catch (error) {
      return toasts.fail(error);
    }
    await navigate({ to: '/webhooks', replace: true });
    toasts.done(words.deleted(name));
    await refreshWebhooks(id);
  };
  return (
    <Page
      title={name}
      heading={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 break-words">{name}</span>
          <StateBadge webhook={webhook} />
        </span>
      }
      actions={
        <>
          {refusal === undefined && (
            <ButtonLink to="/webhooks/$id/edit" params={{ id }}>
              <Pencil size={16} aria-hidden />
              {texts.actions.edit}
            </ButtonLink>
          )}
          {format === 'standard' && <RotateSecret webhook={webhook} refusal={refusal} />}
          <Button refusal={refusal} onClick={remove}>
            {texts.actions.delete}
          </Button>
        </>
      }
    >
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Section title={words.state}>
          <div className="flex flex-col gap-4 px-4 py-4 sm:px-5">
            <p className="break-words">
              <StateSentence webhook={webhook} />
            </p>
            <SendTest webhook={webhook} buttons={<Switch webhook={webhook} refusal={refusal} />} />
          </div>
        </Section>
        <Section title={words.facts}>
          <Facts
            rows={[
              [
                words.url,
                <span key="url" className="font-mono text-[0.8125rem] break-all">
                  {url}
                </span>,
              ],
              [words.format, words.formats[format]],
              [words.events, describeTypes(webhook)],
              ...(description === '' ? [] : [[words.description, description] as const]),
              [words.created, <Time key="created" value={webhook.createdAt} />],
            ]}
          />
        </Section>
      </div>
      <Deliveries webhook={webhook} />
      <EventSection title={words.ownChanges} filter={{ resourceType: 'webhook', resourceId: id }} />
    </Page>
  );
}

interface Part {
  webhook: Webhook;
  refusal: string | undefined;
}

/** Switches the webhook on or off. */
function Switch({ webhook: { id, enabled }, refusal }: Part) {
  const set = async (isOn: boolean): Promise<void> => {
    await licet.webhooks.update(id, { enabled: isOn });
    await refreshWebhooks();
  };
  const toggle = async (): Promise<void> => {
    try {
      await set(!enabled);
      toasts.done(enabled ? words.switchedOff : words.switchedOn, () => set(enabled));
    } catch (error) {
      toasts.fail(error);
    }
  };
  return (
    <Button refusal={refusal} onClick={toggle}>
      {enabled ? words.switchOff : words.switchOn}
    </Button>
  );
}

/** Makes a new secret after a question, and shows it once. */
function RotateSecret({ webhook: { id }, refusal }: Part) {
  const [secret, setSecret] = useState('');
  const [isOpen, setOpen] = useState(false);
  const rotate = async (): Promise<void> => {
    const isSure = await confirm({
      title: words.rotateTitle,
      lead: words.rotateLead,
      action: words.rotate,
      look: 'primary',
    });
    if (!isSure) return;
    try {
      const { secret: made } = await licet.webhooks.rotateSecret(id);
      setSecret(made);
      setOpen(true);
      await refreshWebhooks();
    } catch (error) {
      toasts.fail(error);
    }
  };
  const close = (): void => {
    setOpen(false);
    setSecret('');
  };
  return (
    <>
      <Button refusal={refusal} onClick={rotate}>
        {words.rotate}
      </Button>
      <Dialog title={words.rotatedTitle} isOpen={isOpen} onClose={close} isWide isFirm>
        <NewSecret secret={secret}>
          <div>
            <Button look="primary" onClick={close}>
              {words.secretDone}
            </Button>
          </div>
        </NewSecret>
      </Dialog>
    </>
  );
}

/** Edits a webhook. */
export function EditScreen() {
  const { id } = webhookEditRoute.useParams();
  const navigate = webhookEditRoute.useNavigate();
  const link = { to: '/webhooks/$id', params: { id } } as const;
  return (
    <OneItem query={useQuery(editedQuery('webhook', id, licet.webhooks))}>
      {(stored) => (
        <EditPage name={nameOf(stored.item)}>
          <WebhookForm
            stored={stored}
            onDone={() => void navigate(link)}
            cancel={<Cancel {...link} />}
          />
        </EditPage>
      )}
    </OneItem>
  );
}
