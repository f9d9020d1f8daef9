import type { Mail, MailSettings, Tagged } from '@licet/client';
import { MAX_EMAIL_LENGTH } from '@licet/contract/limits';
import {
  MAIL_KINDS,
  MAIL_LANGUAGES,
  MAIL_STATES,
  MAIL_TEXT_KINDS,
} from '@licet/contract/mail-kinds';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { licet } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { CheckField, FilterSelect, Form, SelectField, TextField } from '../../components/form.tsx';
import { Send } from '../../components/icons.tsx';
import { Facts, LoadFailure, Notice, Page, Section, Skeleton } from '../../components/page.tsx';
import { SectionRows } from '../../components/section-rows.tsx';
import { textIn } from '../../form-data.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { mailSettingsQuery, mailsQuery, readMailSettings, refreshMail } from './queries.ts';
import { mailRoute } from './route.ts';
import { outcomeText } from './sender.ts';
import { SenderState } from './state.tsx';
import { Mails } from './table.tsx';
import { Texts } from './texts.tsx';

const words = screenTexts.mail;

/** The mails to customers: their sender, switches, texts, and the latest ones. */
export function Screen() {
  const { data, error, refetch } = useQuery(mailSettingsQuery);
  return (
    <Page title={words.title} lead={words.lead}>
      {data ? (
        <Settings read={data} />
      ) : error ? (
        <LoadFailure error={error} onRetry={refetch} />
      ) : (
        <Skeleton />
      )}
      <List />
    </Page>
  );
}

const LANGUAGES = MAIL_LANGUAGES.map((one) => [one, words.languages[one]] as const);

function Settings({ read }: { read: Tagged<MailSettings> }) {
  const { item: settings } = read;
  return (
    <>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Section title={words.sender}>
          <div className="px-4 py-4 sm:px-5">
            <SenderState settings={settings} />
          </div>
          {settings.sender && <Sender sender={settings.sender} />}
        </Section>
        <Section title={words.switches}>
          <div className="px-4 py-4 sm:px-5">
            <Switches read={read} />
          </div>
        </Section>
      </div>
      <Section title={words.texts}>
        <div className="p-4 sm:p-5">
          <Texts read={read} />
        </div>
      </Section>
    </>
  );
}

function Sender({
  sender: { adapter, server, from, replyTo, sentToday, dailyLimit },
}: {
  sender: NonNullable<MailSettings['sender']>;
}) {
  return (
    <>
      <div className="-mt-4">
        <Facts
          rows={[
            [words.through, `${words.adapters[adapter]}, ${server}`],
            [words.from, from],
            [words.replyTo, replyTo ?? words.noReplyTo],
            [words.today, words.ofLimit(sentToday, dailyLimit)],
          ]}
        />
      </div>
      <div className="border-t border-line px-4 py-4 sm:px-5">
        <Test />
      </div>
    </>
  );
}

/** Sends a test to an address that the viewer types. */
function Test() {
  const refusal = useRefusal('everything');
  const [sent, setSent] = useState<Mail>();
  return (
    <div className="flex flex-col gap-3">
      <Form
        className="flex flex-col gap-3"
        onSubmit={async (data) => {
          setSent(undefined);
          setSent(await licet.mails.test({ to: textIn(data, 'to') }));
          await refreshMail();
        }}
        buttons={(isBusy) => (
          <Button type="submit" disabled={isBusy} refusal={refusal}>
            <Send size={16} aria-hidden />
            {isBusy ? words.sending : words.test}
          </Button>
        )}
      >
        <TextField
          label={words.testTo}
          hint={words.testHint}
          name="to"
          type="email"
          autoComplete="email"
          maxLength={MAX_EMAIL_LENGTH}
          required
        />
      </Form>
      <div role="status" className="empty:hidden">
        {sent && (
          <Notice tone={sent.state === 'SENT' ? 'neutral' : 'warn'}>{outcomeText(sent)}</Notice>
        )}
      </div>
    </div>
  );
}

type Values = Pick<MailSettings, 'kinds' | 'language'>;

const FIELDS: readonly EditedField<Values>[] = [
  {
    name: 'kinds',
    label: words.switches,
    show: ({ kinds }) => kinds.map((kind) => words.kinds[kind].name).join(', '),
  },
  {
    name: 'language',
    label: words.language,
    show: ({ language }) => words.languages[language],
  },
];

/** Keeps the settings with which it began: settings that are read later would hide a conflict. */
function Switches({ read }: { read: Tagged<MailSettings> }) {
  const [stored, setStored] = useState(read);
  const { kinds, language } = stored.item;
  const refusal = useRefusal('everything');
  return (
    <EditForm<Values>
      key={stored.etag}
      stored={stored}
      fields={FIELDS}
      valuesOf={(data) => ({
        kinds: MAIL_TEXT_KINDS.filter((kind) => data.getAll('kinds').includes(kind)),
        language: MAIL_LANGUAGES.find((one) => one === data.get('language')) ?? language,
      })}
      update={async (changes, ifMatch) => {
        await licet.mailSettings.update(changes, { ifMatch });
        setStored(await readMailSettings());
      }}
      read={() => licet.mailSettings.read()}
      onDone={() => undefined}
      refusal={refusal}
    >
      {MAIL_TEXT_KINDS.map((kind) => (
        <CheckField
          key={kind}
          label={words.kinds[kind].name}
          hint={words.kinds[kind].hint}
          name="kinds"
          value={kind}
          defaultChecked={kinds.includes(kind)}
        />
      ))}
      <SelectField
        label={words.language}
        hint={words.languageHint}
        name="language"
        options={LANGUAGES}
        defaultValue={language}
      />
    </EditForm>
  );
}

/** The mails that are still kept. */
function List() {
  const search = mailRoute.useSearch();
  const navigate = mailRoute.useNavigate();
  const query = useInfiniteQuery(mailsQuery(search));
  const rows = query.data?.pages.flatMap(({ items }) => items);
  const filter = (next: Partial<typeof search>): void =>
    void navigate({ search: { ...search, ...next }, replace: true, resetScroll: false });
  const isFiltered = search.state !== undefined || search.kind !== undefined;
  return (
    <Section
      title={words.list}
      actions={
        <div className="mr-2 flex flex-wrap gap-2">
          <FilterSelect
            label={words.columns.kind}
            any={words.anyKind}
            options={MAIL_KINDS.map((one) => [one, words.kinds[one].name] as const)}
            value={search.kind}
            onChange={(kind) => filter({ kind })}
          />
          <FilterSelect
            label={words.columns.state}
            any={words.anyState}
            options={MAIL_STATES.map((one) => [one, words.states[one]] as const)}
            value={search.state}
            onChange={(state) => filter({ state })}
          />
        </div>
      }
    >
      <SectionRows
        query={{ ...query, data: rows }}
        empty={isFiltered ? words.noMatch : words.noMails}
      >
        {(found) => <Mails mails={found} />}
      </SectionRows>
      {query.hasNextPage && (
        <div className="border-t border-line px-2 py-1 sm:px-3">
          <Button
            look="quiet"
            disabled={query.isFetchingNextPage}
            onClick={() => query.fetchNextPage()}
          >
            {words.older}
          </Button>
        </div>
      )}
    </Section>
  );
}
