import { LicetError, type Tagged, type Webhook, type WebhookWithSecret } from '@licet/client';
import { MAX_TEXT_LENGTH, MAX_WEB_ADDRESS_LENGTH } from '@licet/contract/limits';
import { type ReactNode, useState } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { TextField } from '../../components/form.tsx';
import { Secret } from '../../components/secret.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { ALL, describeTypes, eventsOf, typesOf } from './choice.ts';
import { EventsField } from './events-field.tsx';
import { SendTest } from './outcome.tsx';
import { formatOf, refreshWebhooks } from './queries.ts';

const words = screenTexts.webhooks;

type Values = Pick<Webhook, 'url' | 'format' | 'types' | 'enabled' | 'description'>;

const FIELDS: readonly EditedField<Values>[] = [
  { name: 'url', label: words.url },
  { name: 'format', label: words.format, show: ({ format }) => words.formats[format] },
  { name: 'types', label: words.events, show: describeTypes },
  { name: 'description', label: words.description },
  {
    name: 'enabled',
    label: words.enabled,
    show: ({ enabled }) => (enabled ? screenTexts.events.yes : screenTexts.events.no),
  },
];

const isAddress = (url: string): boolean => /^https?:\/\/[^/]+\.[^/]/i.test(url);

/** The form of a webhook; without `stored` that of a new one. */
export function WebhookForm({
  stored,
  onCreated,
  onDone,
  cancel,
}: {
  stored?: Tagged<Webhook> & { id: number };
  onCreated?: (webhook: WebhookWithSecret) => void;
  /** Called when a stored webhook was changed. */
  onDone?: () => void;
  cancel?: ReactNode;
}) {
  const refusal = useRefusal('everything');
  const webhook = stored?.item;
  const id = stored?.id ?? 0;
  const [typed, setTyped] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState(webhook ? eventsOf(webhook.types) : ALL);
  const url = typed.trim();
  const format = formatOf(url, webhook);

  const valuesOf = (data: FormData): Values => {
    // Both have the form of the service's own message.
    if (url !== webhook?.url && url.endsWith('/***')) {
      throw new LicetError(400, `url ${words.wholeAddress}`);
    }
    if (events.size === 0) throw new LicetError(400, `types ${words.eventsNeeded}`);
    const types = typesOf(events);
    const isSame = webhook && typesOf(eventsOf(webhook.types)).join() === types.join();
    return {
      url,
      format,
      types: isSame ? webhook.types : types,
      enabled: data.has('enabled'),
      description: String(data.get('description')).trim(),
    };
  };

  return (
    <EditForm<Values>
      stored={stored}
      fields={FIELDS}
      valuesOf={valuesOf}
      create={async (values) => {
        const created = await licet.webhooks.create(values);
        onCreated?.(created);
        await refreshWebhooks();
      }}
      update={async (changes, ifMatch) => {
        await licet.webhooks.update(id, changes, { ifMatch });
        await refreshWebhooks();
      }}
      read={() => licet.webhooks.read(id)}
      onDone={() => stored && onDone?.()}
      createLabel={words.create}
      refusal={refusal}
      buttons={cancel}
    >
      <TextField
        label={words.url}
        hint={words.urlHint}
        name="url"
        inputMode="url"
        spellCheck="false"
        autoCapitalize="none"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        maxLength={MAX_WEB_ADDRESS_LENGTH}
        required
      >
        <p role="status" className="flex flex-wrap items-center gap-x-2 gap-y-1 empty:hidden">
          {(isAddress(url) || format === 'discord') && (
            <>
              <Badge tone="accent">{words.formats[format]}</Badge>
              <span className="text-muted">
                {words.formatHints[format]}
                {format === 'standard' && !webhook && ` ${words.secretFollows}`}
              </span>
            </>
          )}
        </p>
      </TextField>
      <EventsField value={events} onChange={setEvents} />
      <TextField
        label={words.description}
        hint={words.descriptionHint}
        name="description"
        defaultValue={webhook?.description}
        maxLength={MAX_TEXT_LENGTH}
      />
      <label className="flex items-start gap-3">
        <input
          type="checkbox"
          name="enabled"
          className="mt-0.5 shrink-0"
          defaultChecked={webhook?.enabled ?? true}
        />
        <span>
          <span className="font-medium">{words.enabled}</span>
          <span className="block text-xs text-muted">{words.enabledHint}</span>
        </span>
      </label>
    </EditForm>
  );
}

const Guide = () => (
  <p>
    {words.guideLead}{' '}
    <a
      href="/docs/webhooks"
      target="_blank"
      rel="noreferrer"
      className="rounded-sm text-accent underline underline-offset-2"
    >
      {words.guide}
    </a>
  </p>
);

/** A secret that was just made, and its use. */
export const NewSecret = ({ secret, children }: { secret: string; children: ReactNode }) => (
  <Secret label={words.secret} lead={words.secretLead} secret={secret}>
    <Guide />
    {children}
  </Secret>
);

/** The next step after the creation: the secret of a standard webhook, and a test. */
export function Created({ webhook, onDone }: { webhook: WebhookWithSecret; onDone: () => void }) {
  const test = (
    <SendTest
      webhook={webhook}
      buttons={
        <Button onClick={onDone}>
          {webhook.format === 'discord' ? words.done : words.secretDone}
        </Button>
      }
    />
  );
  if (webhook.format === 'standard') return <NewSecret secret={webhook.secret}>{test}</NewSecret>;
  return (
    <div className="flex flex-col gap-5">
      <p>{words.createdDiscord}</p>
      {test}
    </div>
  );
}
