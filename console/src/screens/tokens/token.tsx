import type { ApiIntent, Token } from '@licet/client';
import { clientConfigurations } from '@licet/contract/assistants';
import { INTENTS } from '@licet/contract/intents';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Cancel, EditPage } from '../../components/edit-page.tsx';
import { Check, Minus, Pencil } from '../../components/icons.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { SimpleTable } from '../../components/simple-table.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { editedQuery, OneItem } from '../../layout/one-item.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { addressQuery } from '../../service-address.ts';
import { type Right, useRefusal, useSession } from '../../session.ts';
import { useShortcuts } from '../../shortcuts.ts';
import { texts } from '../../texts.ts';
import { EventSection } from '../events/section.tsx';
import { intentNames, refreshTokens, TokenForm } from './form.tsx';
import { tokenEditRoute, tokenRoute } from './route.ts';
import { Expiry, LastUse } from './times.tsx';

const words = screenTexts.tokens;

const tokenQuery = (id: number) =>
  queryOptions({
    queryKey: ['tokens', 'one', id],
    queryFn: ({ signal }) => licet.tokens.get(id, { signal }),
  });

/** A token: its permissions, its use, and what was changed with it. */
export function Screen() {
  const { id } = tokenRoute.useParams();
  return (
    <OneItem query={useQuery(tokenQuery(id))}>{(token) => <TokenScreen token={token} />}</OneItem>
  );
}

function TokenScreen({ token }: { token: Token }) {
  const { id, name, intents, client } = token;
  const navigate = tokenRoute.useNavigate();
  const session = useSession();
  const refusal = useRefusal('everything');
  useShortcuts({ e: () => void navigate({ to: '/tokens/$id/edit', params: { id } }) });
  const revoke = async (): Promise<void> => {
    const isSure = await confirm({
      title: words.revokeTitle(name),
      lead: session.id === id ? words.revokeOwnLead : words.revokeLead,
      action: words.revoke,
    });
    if (!isSure) return;
    try {
      await licet.tokens.delete(id);
    } catch (error) {
      return toasts.fail(error);
    }
    await navigate({ to: '/tokens', replace: true });
    toasts.done(words.revoked(name));
    await refreshTokens(id);
  };
  return (
    <Page
      title={name}
      heading={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 break-words">{name}</span>
          {client !== null && <Badge>{client}</Badge>}
          {session.id === id && <Badge tone="accent">{words.thisSession}</Badge>}
        </span>
      }
      actions={
        <>
          <ButtonLink to="/tokens/$id/edit" params={{ id }}>
            <Pencil size={16} aria-hidden />
            {texts.actions.edit}
          </ButtonLink>
          <Button refusal={refusal} onClick={revoke}>
            {words.revoke}
          </Button>
        </>
      }
    >
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Section title={words.facts}>
          <Facts
            rows={[
              [words.columns.lastUsed, <LastUse key="used" lastUsedAt={token.lastUsedAt} />],
              [words.columns.expires, <Expiry key="expires" expiresAt={token.expiresAt} />],
              [words.columns.created, <Time key="created" value={token.createdAt} />],
              [words.changed, <Time key="changed" value={token.updatedAt} />],
            ]}
          />
        </Section>
        <Section title={words.intents}>
          <Grid intents={intents} />
        </Section>
      </div>
      {client === null && <Assistants />}
      <EventSection title={words.itsChanges} filter={{ tokenId: id }} empty={words.noChanges} />
      <EventSection title={words.ownChanges} filter={{ resourceType: 'token', resourceId: id }} />
    </Page>
  );
}

/** The configurations by which an assistant uses the token. */
function Assistants() {
  const { data } = useQuery(addressQuery);
  return (
    data && (
      <Section title={words.connect}>
        <p className="px-4 pt-3 text-muted sm:px-5">{words.connectLead}</p>
        {clientConfigurations(data.url).map(({ client, place, text }) => (
          <details key={client} className="border-line px-4 py-2 not-last:border-b sm:px-5">
            <summary className="cursor-pointer rounded-sm py-1 pointer-coarse:py-3">
              {client} <span className="text-muted">{place}</span>
            </summary>
            <pre className="my-2 font-mono text-xs break-words whitespace-pre-wrap">{text}</pre>
            <CopyButton value={text} />
          </details>
        ))}
      </Section>
    )
  );
}

/** The rights to read and to change each kind of object; undefined where nobody has one. */
const RIGHTS: readonly { id: string; read: Right | undefined; write: Right | undefined }[] = [
  { id: texts.navigation.licenses, read: 'readLicenses', write: 'writeLicenses' },
  { id: texts.navigation.history, read: 'readRequests', write: undefined },
  { id: texts.navigation.customers, read: 'readCustomers', write: 'everything' },
  { id: texts.navigation.products, read: 'readProducts', write: 'writeProducts' },
  { id: texts.navigation.blacklist, read: 'readBlacklists', write: 'writeBlacklists' },
  { id: texts.navigation.events, read: 'readEvents', write: undefined },
  { id: texts.navigation.webhooks, read: 'readWebhooks', write: 'everything' },
  { id: texts.navigation.tokens, read: 'everything', write: 'everything' },
];

/** The permissions of a token in words. */
function Grid({ intents }: { intents: readonly ApiIntent[] }) {
  const cell = (right: Right | undefined) => {
    if (right === undefined) return null;
    const accepted: readonly string[] = INTENTS[right];
    const isAllowed = intents.some((intent) => accepted.includes(intent));
    const Icon = isAllowed ? Check : Minus;
    return (
      <span className={isAllowed ? 'text-good' : 'text-muted'}>
        <Icon size={16} aria-hidden className="inline" />
        <span className="sr-only">{isAllowed ? words.grid.yes : words.grid.no}</span>
      </span>
    );
  };
  return (
    <>
      <SimpleTable
        isNarrow
        rows={RIGHTS}
        label={words.intents}
        columns={[
          [words.grid.what, ({ id }) => id],
          [words.grid.read, ({ read }) => cell(read)],
          [words.grid.write, ({ write }) => cell(write)],
        ]}
      />
      <p className="border-t border-line px-4 py-3 text-muted sm:px-5">{intentNames(intents)}</p>
    </>
  );
}

/** Edits a token. */
export function EditScreen() {
  const { id } = tokenEditRoute.useParams();
  const navigate = tokenEditRoute.useNavigate();
  const link = { to: '/tokens/$id', params: { id } } as const;
  return (
    <OneItem query={useQuery(editedQuery('token', id, licet.tokens))}>
      {(stored) => (
        <EditPage name={stored.item.name}>
          <TokenForm
            stored={stored}
            onDone={() => void navigate(link)}
            cancel={<Cancel {...link} />}
          />
        </EditPage>
      )}
    </OneItem>
  );
}
