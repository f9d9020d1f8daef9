import type { Webhook, WebhookWithSecret } from '@licet/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ButtonLink } from '../../components/button.tsx';
import { Cut } from '../../components/cut.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Plus } from '../../components/icons.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { describeTypes } from './choice.ts';
import { Created, WebhookForm } from './form.tsx';
import { nameOf, webhooksQuery } from './queries.ts';
import { webhooksRoute } from './route.ts';
import { StateBadge } from './state.tsx';

const words = screenTexts.webhooks;

const COLUMNS: readonly Column<Webhook>[] = [
  {
    id: 'name',
    header: words.columns.name,
    cell: (webhook) => <Cut>{nameOf(webhook)}</Cut>,
    width: 'w-56',
    phone: 'title',
  },
  {
    id: 'state',
    header: words.columns.state,
    cell: (webhook) => <StateBadge webhook={webhook} />,
    width: 'w-41',
    phone: 'titleEnd',
  },
  {
    id: 'url',
    header: words.columns.url,
    cell: ({ url }) => <Cut isMono>{url}</Cut>,
    phone: 'line',
  },
  {
    id: 'events',
    header: words.columns.events,
    cell: (webhook) => <Cut>{describeTypes(webhook)}</Cut>,
    width: 'w-44',
    phone: 'last',
  },
  {
    id: 'lastSuccess',
    header: words.columns.lastSuccess,
    cell: ({ lastSuccessAt }) =>
      lastSuccessAt === null ? (
        <span className="text-muted">{words.never}</span>
      ) : (
        <Time value={lastSuccessAt} show="ago" />
      ),
    width: 'w-36',
    isWide: true,
  },
];

export function Screen() {
  const { open } = webhooksRoute.useSearch();
  const navigate = webhooksRoute.useNavigate();
  const refusal = useRefusal('everything');
  // Its secret is kept only here, and only while it is shown.
  const [created, setCreated] = useState<WebhookWithSecret>();
  const webhooks = useQuery({ ...webhooksQuery, placeholderData: keepPreviousData });
  // The viewer went back.
  if (created && open === undefined) setCreated(undefined);
  const close = (): void => {
    if (created) void navigate({ to: '/webhooks/$id', params: { id: created.id }, replace: true });
    else void navigate({ search: {}, replace: true });
  };
  const create = refusal === undefined && (
    <ButtonLink to="/webhooks" search={{ open: 'new' }} look="primary">
      <Plus size={16} aria-hidden />
      {words.new}
    </ButtonLink>
  );
  return (
    <Page
      title={words.title}
      lead={webhooks.data?.length !== 0 && words.lead}
      actions={webhooks.data?.length !== 0 && create}
    >
      <DataTable
        name="webhooks"
        label={words.title}
        columns={COLUMNS}
        rows={webhooks.data}
        error={webhooks.error}
        onRetry={webhooks.refetch}
        linkOf={({ id }) => ({ to: '/webhooks/$id', params: { id } })}
        {...(refusal === undefined && {
          onEdit: ({ id }: Webhook) => void navigate({ to: '/webhooks/$id/edit', params: { id } }),
        })}
        count={words.count}
        empty={
          <Empty title={words.emptyTitle} actions={create}>
            {words.empty}
          </Empty>
        }
      />
      <Dialog
        title={created ? words.createdTitle : words.new}
        isOpen={open !== undefined}
        onClose={close}
        isWide
        isFirm={created?.format === 'standard'}
      >
        {created ? (
          <Created webhook={created} onDone={close} />
        ) : (
          <WebhookForm onCreated={setCreated} />
        )}
      </Dialog>
    </Page>
  );
}
