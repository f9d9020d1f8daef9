import type { Token } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { licet } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Plus } from '../../components/icons.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { Secret } from '../../components/secret.tsx';
import { Time } from '../../components/time.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useSession } from '../../session.ts';
import { intentNames, TokenForm } from './form.tsx';
import { tokensRoute } from './route.ts';
import { Expiry, LastUse } from './times.tsx';

const words = screenTexts.tokens;

/** A value on a phone with the name of its column before it. */
const named = (name: string, value: ReactNode) => (
  <>
    <span className="text-muted md:hidden">{name}: </span>
    {value}
  </>
);

const columnsOf = (sessionId: number | null): readonly Column<Token>[] => [
  {
    id: 'name',
    header: words.columns.name,
    cell: ({ id, name, client }) => (
      <span className="flex min-w-0 items-center gap-2">
        <Cut>{name}</Cut>
        {client !== null && <Badge>{client}</Badge>}
        {id === sessionId && <Badge tone="accent">{words.thisSession}</Badge>}
      </span>
    ),
    width: 'w-56',
    phone: 'title',
  },
  {
    id: 'intents',
    header: words.columns.intents,
    cell: ({ intents }) => <Cut>{intentNames(intents)}</Cut>,
    phone: 'line',
  },
  {
    id: 'lastUsed',
    header: words.columns.lastUsed,
    cell: ({ lastUsedAt }) => named(words.columns.lastUsed, <LastUse lastUsedAt={lastUsedAt} />),
    width: 'w-34',
    phone: 'last',
  },
  {
    id: 'expires',
    header: words.columns.expires,
    cell: ({ expiresAt }) =>
      named(words.columns.expires, <Expiry expiresAt={expiresAt} isListed />),
    width: 'w-29 xl:w-38',
    phone: 'titleEnd',
  },
  {
    id: 'created',
    header: words.columns.created,
    cell: ({ createdAt }) => <Time value={createdAt} show="date" />,
    width: 'w-29',
    isWide: true,
  },
];

export function Screen() {
  const { open } = tokensRoute.useSearch();
  const navigate = tokensRoute.useNavigate();
  const { id: sessionId } = useSession();
  const columns = useMemo(() => columnsOf(sessionId), [sessionId]);
  // The secret is kept only here, and only while it is shown.
  const [secret, setSecret] = useState<string>();
  const tokens = useQuery({
    queryKey: ['tokens'],
    queryFn: ({ signal }) => licet.tokens.list({}, { signal }),
    placeholderData: keepPreviousData,
  });
  const close = (): void => {
    setSecret(undefined);
    void navigate({ search: {}, replace: true });
  };
  const create = (
    <ButtonLink to="/tokens" search={{ open: 'new' }} look="primary">
      <Plus size={16} aria-hidden />
      {words.new}
    </ButtonLink>
  );
  return (
    <Page title={words.title} lead={words.lead} actions={tokens.data?.length !== 0 && create}>
      <DataTable
        name="tokens"
        label={words.title}
        columns={columns}
        rows={tokens.data}
        error={tokens.error}
        onRetry={tokens.refetch}
        linkOf={({ id }) => ({ to: '/tokens/$id', params: { id } })}
        onEdit={({ id }) => void navigate({ to: '/tokens/$id/edit', params: { id } })}
        count={words.count}
        empty={
          <Empty title={words.emptyTitle} actions={create}>
            {words.empty}
          </Empty>
        }
      />
      <Dialog
        title={secret === undefined ? words.new : words.secretTitle}
        isOpen={open !== undefined}
        onClose={close}
        isWide
        isFirm={secret !== undefined}
      >
        {secret === undefined ? (
          <TokenForm onCreated={setSecret} />
        ) : (
          <Secret label={words.secret} lead={words.secretLead} secret={secret}>
            <div>
              <Button look="primary" onClick={close}>
                {words.secretDone}
              </Button>
            </div>
          </Secret>
        )}
      </Dialog>
    </Page>
  );
}
