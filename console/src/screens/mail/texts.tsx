import type { MailSettings, Tagged } from '@licet/client';
import { MAX_MAIL_SUBJECT_LENGTH, MAX_MAIL_TEXT_LENGTH } from '@licet/contract/limits';
import {
  MAIL_LANGUAGES,
  MAIL_TEXT_KINDS,
  type MailLanguage,
  type MailTextKind,
  PLACEHOLDERS_OF,
} from '@licet/contract/mail-kinds';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { describe, licet } from '../../api.ts';
import { type EditedField, EditForm } from '../../components/edit-form.tsx';
import { FieldGroup, SelectField, TextArea, TextField } from '../../components/form.tsx';
import { Notice, Skeleton } from '../../components/page.tsx';
import { useRested } from '../../rested.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useRefusal } from '../../session.ts';
import { type Part, withoutEmpty, withPart } from './draft.ts';
import { MailFrame } from './frame.tsx';
import { readMailSettings } from './queries.ts';

const words = screenTexts.mail;

interface Choice {
  kind: MailTextKind;
  language: MailLanguage;
}

type Values = Pick<MailSettings, 'texts'>;

const FIELDS: readonly EditedField<Values>[] = [
  { name: 'texts', label: words.texts, show: ({ texts }) => JSON.stringify(texts, null, 2) },
];

/** The seller's texts, with the mail that they make. Keeps the settings with which it began, for conflicts. */
export function Texts({ read }: { read: Tagged<MailSettings> }) {
  const [stored, setStored] = useState(read);
  const [choice, setChoice] = useState<Choice>({ kind: 'key', language: read.item.language });
  const [draft, setDraft] = useState(stored.item.texts);
  const refusal = useRefusal('everything');
  const { kind, language } = choice;
  const text = draft[language]?.[kind] ?? {};
  const defaults = stored.item.defaults[language]?.[kind];
  const tied = (part: Part) => ({
    label: words.parts[part],
    name: part,
    placeholder: defaults?.[part],
    value: text[part] ?? '',
    onChange: ({ target }: { target: EventTarget }) =>
      setDraft(withPart(draft, language, kind, part, String(Object(target).value))),
  });
  return (
    <div className="grid items-start gap-5 lg:grid-cols-2">
      <EditForm<Values>
        stored={stored}
        fields={FIELDS}
        valuesOf={() => ({ texts: withoutEmpty(draft) })}
        update={async (changes, ifMatch) => {
          await licet.mailSettings.update(changes, { ifMatch });
          const saved = await readMailSettings();
          setStored(saved);
          setDraft(saved.item.texts);
        }}
        read={() => licet.mailSettings.read()}
        onDone={() => undefined}
        refusal={refusal}
      >
        <FieldGroup>
          <SelectField
            label={words.columns.kind}
            name="kind"
            options={MAIL_TEXT_KINDS.map((one) => [one, words.kinds[one].name])}
            defaultValue={kind}
            onChange={({ target }) =>
              setChoice({
                language,
                kind: MAIL_TEXT_KINDS.find((one) => one === Object(target).value) ?? kind,
              })
            }
          />
          <SelectField
            label={words.language}
            name="language"
            options={MAIL_LANGUAGES.map((one) => [one, words.languages[one]])}
            defaultValue={language}
            onChange={({ target }) =>
              setChoice({
                kind,
                language: MAIL_LANGUAGES.find((one) => one === Object(target).value) ?? language,
              })
            }
          />
        </FieldGroup>
        <TextField {...tied('subject')} maxLength={MAX_MAIL_SUBJECT_LENGTH} />
        <TextArea {...tied('greeting')} rows={4} maxLength={MAX_MAIL_TEXT_LENGTH} />
        <TextArea {...tied('closing')} rows={4} maxLength={MAX_MAIL_TEXT_LENGTH} />
        <p className="text-xs text-muted">{words.textsHint(PLACEHOLDERS_OF[kind])}</p>
      </EditForm>
      <Preview
        body={JSON.stringify({ kind, language, text: withoutEmpty(draft)[language]?.[kind] ?? {} })}
      />
    </div>
  );
}

/** The mail that the texts make, with made-up values. It follows the fields. */
function Preview({ body }: { body: string }) {
  const rested = useRested(body);
  const { data, error } = useQuery({
    queryKey: ['mail preview', rested],
    queryFn: ({ signal }) => licet.mailSettings.preview(JSON.parse(rested), { signal }),
    placeholderData: keepPreviousData,
  });
  return (
    <section aria-label={words.preview} className="flex min-w-0 flex-col gap-3">
      {error && <Notice tone="warn">{describe(error)}</Notice>}
      {data ? (
        <>
          <p className="font-medium wrap-anywhere">{data.subject}</p>
          <MailFrame html={data.html} />
          <details>
            <summary className="cursor-pointer text-muted">{words.asText}</summary>
            <pre className="mt-2 rounded-lg border border-line bg-page px-3 py-2 font-mono text-xs break-words whitespace-pre-wrap">
              {data.text}
            </pre>
          </details>
        </>
      ) : (
        !error && <Skeleton />
      )}
    </section>
  );
}
