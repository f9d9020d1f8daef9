import type { DiscordSettings, PortalSettings, Tagged } from '@licet/client';
import { textColourOn } from '@licet/contract/contrast';
import {
  MAX_CONTACT_LENGTH,
  MAX_LOGO_LENGTH,
  MAX_SELLER_NAME_LENGTH,
} from '@licet/contract/limits';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { licet, queries } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { TextField } from '../../components/form.tsx';
import {
  AddressMark,
  LoadFailure,
  Notice,
  Page,
  Section,
  Skeleton,
} from '../../components/page.tsx';
import { toasts } from '../../components/toasts.tsx';
import { textIn } from '../../form-data.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { mailSettingsQuery } from '../mail/queries.ts';
import { SenderState } from '../mail/state.tsx';

const words = screenTexts.settings;

const portalQuery = queryOptions({
  queryKey: ['settings', 'portal'],
  queryFn: ({ signal }) => licet.portalSettings.read({ signal }),
});
const discordQuery = queryOptions({
  queryKey: ['settings', 'discord'],
  queryFn: ({ signal }) => licet.discordSettings.get({ signal }),
});

/** The settings of the service: the page of customers, mails to them, and Discord. */
export function Screen() {
  const portal = useQuery(portalQuery);
  const mail = useQuery(mailSettingsQuery);
  const discord = useQuery(discordQuery);
  return (
    <Page title={words.title} lead={words.lead}>
      <Section title={words.portal}>
        <Loaded query={portal}>
          {(read) => (
            <div className="max-w-2xl">
              <Portal read={read} />
            </div>
          )}
        </Loaded>
      </Section>
      <Section
        title={words.mail}
        actions={
          <TextLink to="/settings/mail" className="mr-2">
            {words.toMail}
          </TextLink>
        }
      >
        <Loaded query={mail}>{({ item }) => <SenderState settings={item} />}</Loaded>
      </Section>
      <Section title={words.discord}>
        <Loaded query={discord}>{(settings) => <Discord settings={settings} />}</Loaded>
      </Section>
    </Page>
  );
}

function Loaded<Data>({
  query,
  children,
}: {
  query: { data: Data | undefined; error: Error | null; refetch: () => unknown };
  children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return <div className="p-4 sm:p-5">{children(query.data)}</div>;
  return query.error ? <LoadFailure error={query.error} onRetry={query.refetch} /> : <Skeleton />;
}

/** A picture as a `data:` URL. @throws RangeError for one that is too large */
async function dataUrlOf(file: File): Promise<string> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  if (url.length > MAX_LOGO_LENGTH) throw new RangeError(words.logoTooLarge);
  return url;
}

const FIELDS: readonly EditedField<PortalSettings>[] = [
  { name: 'name', label: words.name },
  { name: 'colour', label: words.colour },
  { name: 'contact', label: words.contact },
  { name: 'logo', label: words.logo, show: ({ logo }) => logo && words.logo },
];

/** Keeps the settings with which the form began: settings that are read later would hide a conflict. */
function Portal({ read }: { read: Tagged<PortalSettings> }) {
  const [stored, setStored] = useState(read);
  return <PortalForm key={stored.etag} stored={stored} onSaved={setStored} />;
}

function PortalForm({
  stored,
  onSaved,
}: {
  stored: Tagged<PortalSettings>;
  onSaved: (stored: Tagged<PortalSettings>) => void;
}) {
  const settings = stored.item;
  const refusal = useRefusal('everything');
  const [name, setName] = useState(settings.name);
  const [colour, setColour] = useState(settings.colour ?? '');
  const [logo, setLogo] = useState(settings.logo);
  const choose = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    try {
      setLogo(await dataUrlOf(file));
    } catch (error) {
      toasts.fail(error instanceof RangeError ? error.message : error);
    }
  };
  return (
    <EditForm<PortalSettings>
      stored={stored}
      fields={FIELDS}
      valuesOf={(data) => {
        const text = (name: string): string => textIn(data, name);
        return {
          name: text('name'),
          colour: text('colour') || null,
          contact: text('contact') || null,
          logo,
        };
      }}
      update={async (changes, ifMatch) => {
        await licet.portalSettings.update(changes, { ifMatch });
        const saved = await licet.portalSettings.read();
        queries.setQueryData(portalQuery.queryKey, saved);
        onSaved(saved);
      }}
      read={() => licet.portalSettings.read()}
      onDone={() => undefined}
      refusal={refusal}
    >
      <TextField
        label={words.name}
        hint={words.nameHint}
        name="name"
        maxLength={MAX_SELLER_NAME_LENGTH}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <TextField
        label={words.contact}
        hint={words.contactHint}
        name="contact"
        maxLength={MAX_CONTACT_LENGTH}
        defaultValue={settings.contact ?? ''}
      />
      <TextField
        label={words.colour}
        hint={words.colourHint}
        name="colour"
        value={colour}
        onChange={({ target }) => setColour(target.value)}
      >
        <input
          type="color"
          aria-label={words.chooseColour}
          className="h-9 w-16 cursor-pointer rounded-lg border border-edge bg-surface p-1 pointer-coarse:h-11"
          value={COLOUR.test(colour.trim()) ? colour.trim() : NO_COLOUR}
          onChange={({ target }) => setColour(target.value)}
        />
      </TextField>
      <div className="flex flex-wrap items-center gap-3">
        {logo && <img src={logo} alt={words.logo} className="size-12 rounded-lg object-contain" />}
        <label className="flex min-w-0 flex-col gap-1">
          <span className="font-medium">{words.logo}</span>
          <input
            type="file"
            accept="image/png,image/jpeg,image/webp"
            className="max-w-full text-sm file:mr-3 file:rounded-lg file:border file:border-line file:bg-surface file:px-3 file:py-1.5"
            onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
          />
          <span className="text-xs text-muted">{words.logoHint}</span>
        </label>
        {logo && (
          <Button look="quiet" className="-ml-3" onClick={() => setLogo(null)}>
            {words.removeLogo}
          </Button>
        )}
      </div>
      <Preview name={name.trim()} colour={colour.trim()} logo={logo} />
    </EditForm>
  );
}

const COLOUR = /^#[0-9a-f]{6}$/i;
/** The colour of Licet in the light theme. */
const NO_COLOUR = '#2f4fbf';

/** The head of the customers' page, with the values of the form. */
const Preview = ({
  name,
  colour,
  logo,
}: Pick<PortalSettings, 'name' | 'logo'> & { colour: string }) => (
  <figure aria-label={words.preview} className="rounded-xl border border-line bg-page p-4">
    <figcaption className="mb-3 text-xs text-muted">{words.preview}</figcaption>
    <div className="flex min-h-11 items-center gap-3">
      {logo && <img src={logo} alt="" className="size-10 rounded-lg object-contain" />}
      <p className="line-clamp-2 min-w-0 flex-1 text-base font-semibold wrap-anywhere">{name}</p>
    </div>
    <span
      className="mt-3 inline-flex min-h-9 items-center rounded-lg bg-accent px-3 text-sm font-medium text-on-accent"
      style={
        COLOUR.test(colour) ? { backgroundColor: colour, color: textColourOn(colour) } : undefined
      }
    >
      {words.previewButton}
    </span>
  </figure>
);

/** The state of the application at Discord. The command line sets it up, because it also registers the commands. */
function Discord({ settings }: { settings: DiscordSettings }) {
  const url = settings.interactionsUrl;
  const { applicationId, publicKey, guildId } = settings;
  const isReady = applicationId !== null && publicKey !== null && guildId !== null;
  return (
    <div className="flex flex-col gap-4">
      {settings.rolesFault !== null && (
        <Notice tone="warn">
          <span className="whitespace-pre-line">{settings.rolesFault}</span>
        </Notice>
      )}
      <p>{isReady ? words.discordReady : words.discordNone}</p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 rounded-lg border border-line bg-page px-3 py-2 text-[0.8125rem] break-words">
          npm run licet -- discord setup{' '}
          {!isReady && '--application APPLICATION_ID --public-key PUBLIC_KEY --guild SERVER_ID '}
          --client-secret secret.txt
        </code>
        <a
          href="/docs/discord"
          className="-my-1.25 rounded-sm py-1.25 text-accent underline underline-offset-2"
        >
          {words.discordGuide}
        </a>
      </div>
      <div>
        <h3 className="font-medium">{words.interactionsUrl}</h3>
        <div className="mt-1 flex flex-wrap items-center gap-2">
          <code className="min-w-0 flex-1 basis-60 rounded-lg border border-line bg-page px-3 py-2 text-[0.8125rem] break-all">
            {url}
          </code>
          <CopyButton value={url} />
        </div>
        {!settings.isPublic && (
          <div className="my-2">
            <AddressMark />
          </div>
        )}
        <p className="mt-1 text-xs text-muted">{words.interactionsUrlHint}</p>
      </div>
    </div>
  );
}
