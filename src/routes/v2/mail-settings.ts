import { INTENTS } from '@licet/contract/intents';
import {
  type MailSettings,
  type MailTexts,
  mailPreview,
  mailPreviewRequest,
  mailSettings,
  mailSettingsUpdate,
} from '@licet/contract/mail';
import { MAIL_LANGUAGES, MAIL_TEXT_KINDS } from '@licet/contract/mail-kinds';
import { DEFAULT_PORTAL_SETTINGS } from '@licet/contract/portal';
import { type Context, Hono } from 'hono';
import { type AuthEnv, databaseOf, requireIntents } from '../../auth/middleware.ts';
import { composeMail, DEFAULT_TEXTS, textFaultOf } from '../../channels/mail/compose.ts';
import { examplesOf } from '../../channels/mail/example.ts';
import { NO_MAILS, type SellerMailSettings } from '../../channels/mail/seller-settings.ts';
import { sentToday } from '../../channels/mail/store.ts';
import { readSettings, type StoredSettings, writeSettings } from '../../channels/settings/store.ts';
import type { Database } from '../../db/client.ts';
import { ApiError } from '../../http/errors.ts';
import { body, ifMatch } from '../../http/input.ts';
import { jsonResponse } from '../../http/json.ts';
import type { Operation } from '../../http/operation.ts';
import { publicUrlOf } from '../../lib/public-url.ts';
import { servicesOf } from '../../services.ts';
import { objectResponse, optimisticWrite } from './objects.ts';

const canRead = requireIntents(INTENTS.readSettings);
const canWrite = requireIntents(INTENTS.everything);

const SETTINGS = { description: 'The settings.', headers: ['ETag'], body: mailSettings } as const;
const GET: Operation = {
  operationId: 'getMailSettings',
  tag: 'Settings',
  summary: 'Get the settings of mails to customers',
  description: 'With the state of the sender, without its secrets. An extension.',
  success: SETTINGS,
};
const UPDATE: Operation = {
  operationId: 'updateMailSettings',
  tag: 'Settings',
  summary: 'Change the settings of mails to customers',
  description: '400 for a text with an unknown placeholder. An extension.',
  success: SETTINGS,
};
const PREVIEW: Operation = {
  operationId: 'previewMail',
  tag: 'Settings',
  summary: 'See a mail with made-up values',
  description: 'Nothing is stored or sent. An extension.',
  success: { description: 'The mail.', body: mailPreview },
};

const SHOWN = ['kinds', 'language', 'texts'] as const;

const read = (db: Database) => readSettings(db, 'mail', NO_MAILS);

/** @throws ApiError for a placeholder that a kind of mail does not have */
function checkTexts(texts: MailTexts): void {
  for (const language of MAIL_LANGUAGES) {
    for (const kind of MAIL_TEXT_KINDS) {
      const text = texts[language]?.[kind];
      const fault = text && textFaultOf(kind, text);
      if (fault) {
        const field = `texts.${language}.${kind}`;
        throw new ApiError(400, `${field}.${fault}`, { field });
      }
    }
  }
}

async function settingsResponse(
  c: Context<AuthEnv>,
  stored: StoredSettings<SellerMailSettings>,
): Promise<Response> {
  const { sender, fault } = servicesOf(c.env).mailer;
  const { kinds, language, texts } = stored.value;
  const shown: MailSettings = {
    kinds: [...kinds],
    language,
    texts,
    sender: sender && {
      adapter: sender.adapter,
      server: sender.server,
      from: sender.from,
      replyTo: sender.replyTo,
      dailyLimit: sender.dailyLimit,
      sentToday: await sentToday(databaseOf(c), Date.now()),
    },
    fault,
    defaults: DEFAULT_TEXTS,
  };
  return objectResponse(c, stored, shown);
}

/** Settings of mails, an extension (13). */
export const mailSettingsRoutes = new Hono<AuthEnv>()
  .get('/', canRead(GET), async (c) => settingsResponse(c, await read(databaseOf(c))))
  .put('/', canWrite(UPDATE), ifMatch, body(mailSettingsUpdate), async (c) => {
    const changes = c.req.valid('json');
    checkTexts(changes.texts ?? {});
    const { origin, isPublic } = publicUrlOf(c.env, c.req.url);
    const stored = await optimisticWrite(c, {
      name: 'The settings of mails',
      read,
      write: (sender, before) => {
        // An address that nobody else can open does not replace one that they can.
        const isKept = !isPublic && before.value.origin !== null;
        const value = { ...before.value, ...changes, ...(!isKept && { origin }) };
        return writeSettings(sender, 'mail', before, value, SHOWN, []);
      },
    });
    servicesOf(c.env).mailSettings.forget();
    return settingsResponse(c, stored);
  })
  .post('/preview', canRead(PREVIEW), body(mailPreviewRequest), async (c) => {
    const { kind, language, text } = c.req.valid('json');
    const fault = text && textFaultOf(kind, text);
    if (fault) throw new ApiError(400, `text.${fault}`, { field: 'text' });
    const db = databaseOf(c);
    const { value } = await read(db);
    const { value: seller } = await readSettings(db, 'portal', DEFAULT_PORTAL_SETTINGS);
    const { origin } = publicUrlOf(c.env, c.req.url);
    const texts = text ?? value.texts[language]?.[kind] ?? {};
    return jsonResponse(
      c,
      composeMail({ kind, language, texts, seller, ...examplesOf(kind, origin, Date.now()) }),
    );
  });
