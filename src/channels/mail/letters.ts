import { DAY_MS } from '@licet/contract/durations';
import type { MailLanguage } from '@licet/contract/mail-kinds';
import { DEFAULT_PORTAL_SETTINGS, type PortalSettings } from '@licet/contract/portal';
import { PORTAL_PATH } from '@licet/contract/portal-page';
import { sql } from 'drizzle-orm';
import { change, type Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { type AddressSettings, publicUrlOf } from '../../lib/public-url.ts';
import { keyEnd } from '../../resources/licenses/rules.ts';
import { linkAddress, linksByMail, MAILED_LINK_MS } from '../portal/sessions.ts';
import { DAY_OF_REMINDER, isByHand } from './causes.ts';
import { composeMail } from './compose.ts';
import { hashOfAddress, linkCodeOf, markOf, unsubscribeTokenOf } from './hashes.ts';
import { RENEWS } from './renewals.ts';
import type { BlockReason, MailRow } from './schema.ts';
import { NO_MAILS, type SellerMailSettings } from './seller-settings.ts';
import type { OutgoingMail } from './sender.ts';

/** The messages of mails, made of what is stored when they are sent (13). */

/** Licenses that a reminder lists at most. */
const MAX_LISTED = 50;

/** The queries of {@link readLetters}, at most. */
export const LETTER_QUERIES = 9;

export const UNSUBSCRIBE_PATH = `${PORTAL_PATH}/unsubscribe`;

/** A mail with its message, or with the reason for none. */
export interface Letter {
  mail: MailRow;
  message: OutgoingMail | { skipped: string };
  /** The HMAC of the address; null for none. */
  addressHash: string | null;
  /** Whether the address is blocked, and gets this mail because a person asked for it. */
  isBlocked: boolean;
}

/** The settings of the service that messages need. */
export interface LetterSettings extends AddressSettings {
  ROOT_TOKEN?: string;
}

interface Found {
  mail: number;
  email: string | null;
  name: string | null;
  language: MailLanguage | null;
  licenseKey: string | null;
  state: string | null;
  expiresAt: number | null;
  owner: number | null;
  product: string | null;
  expiresAfterDays: number | null;
}

interface Expiring {
  mail: number;
  licenseKey: string;
  expiresAt: number;
  product: string;
  url: string | null;
}

interface Block {
  hash: string;
  scope: 'all' | 'reminders';
  reason: BlockReason;
}

const REASONS: Readonly<Record<BlockReason, string>> = {
  BOUNCED: 'The address is blocked, because a mail to it bounced',
  COMPLAINED: 'The address is blocked, because its owner took a mail for spam',
  REFUSED: 'The address is blocked, because its server refused a mail',
  UNSUBSCRIBED: 'The customer has stopped reminders',
};

/** Reads all that messages are made of. */
async function read(db: Database, claimed: readonly MailRow[], now: number) {
  const ids = JSON.stringify(claimed.map(({ id }) => id));
  const [settings, found, expiring] = await Promise.all([
    db.all<{ name: string; value: string }>(
      sql`select name, value from settings where name in ('mail', 'portal')`,
    ),
    db.all<Found>(sql`
      select m.id as mail, c.email, ifnull(nullif(c.first_name, ''), c.username) as name, c.language,
        l.license_key as licenseKey, l.state, l.expires_at as expiresAt, l.expires_after_days as expiresAfterDays, l.customer_id as owner, p.name as product
      from json_each(${ids}) i cross join mails m on m.id = i.value
        left join customers c on c.id = m.customer_id left join licenses l on l.id = m.license_id
        left join products p on p.id = l.product_id`),
    claimed.some(({ kind }) => kind === 'expiring')
      ? db.all<Expiring>(sql`
      select mail, licenseKey, expiresAt, product, url from (
        select m.id as mail, l.license_key as licenseKey, l.expires_at as expiresAt, p.name as product, p.url,
          row_number() over (partition by m.id order by l.expires_at, l.id) as place
        from json_each(${ids}) i cross join mails m on m.id = i.value and m.kind = 'expiring'
          cross join licenses l on l.customer_id = m.customer_id cross join products p on p.id = l.product_id
        where l.state = 'ACTIVE' and l.expires_at > ${now}
          and date(l.expires_at / 1000, 'unixepoch') = ${DAY_OF_REMINDER} and not ${RENEWS})
      where place <= ${MAX_LISTED}`)
      : [],
  ]);
  const stored = (name: string): object =>
    Object(JSON.parse(settings.find((one) => one.name === name)?.value ?? '{}'));
  return {
    seller: { ...DEFAULT_PORTAL_SETTINGS, ...stored('portal') } satisfies PortalSettings,
    settings: { ...NO_MAILS, ...stored('mail') } satisfies SellerMailSettings,
    found: new Map(found.map((one) => [one.mail, one])),
    expiring: Map.groupBy(expiring, ({ mail }) => mail),
  };
}

type Read = Awaited<ReturnType<typeof read>>;

/** The days until a time, a part of one as a whole. */
const daysUntil = (time: number, now: number): number => Math.ceil((time - now) / DAY_MS);

/** Why a mail is not sent, by all but its address; undefined for one that is. */
function overBecause(
  { settings, found, expiring }: Read,
  mail: MailRow,
  now: number,
): string | undefined {
  const { id, kind, licenseId, customerId } = mail;
  if (kind === 'test') return undefined;
  if (!isByHand(mail) && !settings.kinds.includes(kind))
    return 'Mails of this kind are switched off';
  const one = found.get(id);
  if (!one?.email) return 'The customer has no e-mail any more';
  if (kind === 'link' && mail.createdAt <= now - MAILED_LINK_MS) return 'The link has expired';
  if (kind === 'expiring' && !expiring.has(id)) {
    return 'No license of the customer expires on that day any more';
  }
  if (kind !== 'key') return undefined;
  if (one.state === null) return `License ${licenseId} does not exist any more`;
  if (one.owner !== customerId) return 'The license has another owner';
  if (one.state === 'DELETED') return 'The license is deleted';
  return one.state === 'ACTIVE' || isByHand(mail) ? undefined : 'The license is deactivated';
}

/** Why an address gets no such mail; undefined if it does. @param blocks of the address */
function blockOf(blocks: readonly Block[], mail: MailRow): string | undefined {
  const reminders = blocks.find(({ scope }) => scope === 'reminders');
  if (reminders && mail.kind === 'expiring') return REASONS[reminders.reason];
  const all = blocks.find(({ scope }) => scope === 'all');
  return all && !isByHand(mail) && mail.kind !== 'test' ? REASONS[all.reason] : undefined;
}

/** A mail with its address, and whether it is sent there. */
interface Addressed extends Pick<Letter, 'mail' | 'addressHash' | 'isBlocked'> {
  to: string | null;
  /** Why it is not sent; undefined for one that is. */
  skipped: string | undefined;
}

/** Finds the addresses of mails, and those that are blocked. @param testAddress see {@link readLetters} */
async function addressed(
  { db, now }: Pick<Sender, 'db' | 'now'>,
  secret: string,
  state: Read,
  claimed: readonly MailRow[],
  testAddress: string | undefined,
): Promise<Addressed[]> {
  const known = await Promise.all(
    claimed.map(async (mail) => {
      const to = testAddress ?? state.found.get(mail.id)?.email ?? null;
      return { mail, to, addressHash: to === null ? null : await hashOfAddress(secret, to) };
    }),
  );
  const hashes = JSON.stringify(known.flatMap(({ addressHash }) => addressHash ?? []));
  const blocks = await db.all<Block>(
    sql`select address_hash as hash, scope, reason from mail_blocks
      where address_hash in (select value from json_each(${hashes}))`,
  );
  return known.map((one) => {
    const own = blocks.filter(({ hash }) => hash === one.addressHash);
    return {
      ...one,
      isBlocked: own.some(({ scope }) => scope === 'all'),
      skipped: overBecause(state, one.mail, now) ?? blockOf(own, one.mail),
    };
  });
}

/** Makes the links that mails send. @returns the code of each, by the id of its mail */
async function makeLinks(
  sender: Sender,
  secret: string,
  mails: readonly Addressed[],
): Promise<ReadonlyMap<number, string>> {
  const links = await Promise.all(
    mails.flatMap(({ mail, skipped }) => {
      const { id, kind, customerId } = mail;
      if (kind !== 'link' || customerId === null || skipped !== undefined) return [];
      return linkCodeOf(secret, mail).then((code) => ({ id, customerId, code }));
    }),
  );
  if (links.length > 0) await change(sender, await linksByMail(sender, links));
  return new Map(links.map(({ id, code }) => [id, code]));
}

/** The places of the service to which mails lead. */
interface Places {
  origin: string;
  /** The customer's page; null if others cannot open it. */
  page: string | null;
}

/** Composes a message. @param code of the link that the mail sends, if it does */
async function messageOf(
  state: Read,
  secret: string,
  { origin, page }: Places,
  { mail, to, code }: { mail: MailRow; to: string; code: string | undefined },
  now: number,
): Promise<OutgoingMail> {
  const found = state.found.get(mail.id);
  const language = mail.language ?? found?.language ?? state.settings.language;
  const licenses = (state.expiring.get(mail.id) ?? []).map((one) => ({
    product: one.product,
    keyEnd: keyEnd(one.licenseKey),
    expiry: one.expiresAt,
    days: daysUntil(one.expiresAt, now),
    renewUrl: one.url,
  }));
  const [first] = licenses;
  const isReminder = mail.kind === 'expiring' && mail.customerId !== null;
  const token = isReminder ? await unsubscribeTokenOf(secret, mail.customerId ?? 0) : '';
  // RFC 8058 wants https.
  const unsubscribing = isReminder &&
    origin.startsWith('https:') && {
      unsubscribeUrl: `${origin}${UNSUBSCRIBE_PATH}/${token}?language=${language}`,
    };
  const expiresAfterDays = found?.expiresAfterDays ?? null;
  const composed = composeMail({
    kind: mail.kind,
    language,
    texts: mail.kind === 'test' ? {} : (state.settings.texts[language]?.[mail.kind] ?? {}),
    values: {
      name: found?.name ?? '',
      product: found?.product ?? '',
      key: mail.kind === 'key' ? (found?.licenseKey ?? '') : '',
      // The expiry of a license that waits for its first use is far away.
      expiry: first?.expiry ?? (expiresAfterDays === null ? (found?.expiresAt ?? null) : null),
      expiresAfterDays,
      days: first?.days ?? null,
      link: code === undefined ? page : linkAddress(origin, code),
    },
    licenses,
    seller: state.seller,
    ...unsubscribing,
  });
  const id = `licet-${mail.id}-${await markOf(secret, mail)}`;
  return { id, to, language, ...composed, ...unsubscribing };
}

/**
 * Makes the messages of mails. Mails with links also make these.
 *
 * @param testAddress for a test, whose address is not stored
 */
export async function readLetters(
  newSender: () => Sender,
  settings: LetterSettings,
  claimed: readonly MailRow[],
  testAddress?: string,
): Promise<Letter[]> {
  const sender = newSender();
  const { db, now } = sender;
  const secret = settings.ROOT_TOKEN ?? '';
  const state = await read(db, claimed, now);
  const mails = await addressed(sender, secret, state, claimed, testAddress);
  const codes = await makeLinks(sender, secret, mails);
  const { origin, isPublic } = publicUrlOf(settings, state.settings.origin ?? 'http://localhost');
  // Others cannot open an address of this machine.
  const places = { origin, page: isPublic ? `${origin}${PORTAL_PATH}` : null };
  return Promise.all(
    mails.map(async ({ to, skipped, ...letter }): Promise<Letter> => {
      if (to === null || skipped !== undefined) {
        return { ...letter, message: { skipped: skipped ?? 'There is no address' } };
      }
      const sent = { mail: letter.mail, to, code: codes.get(letter.mail.id) };
      return { ...letter, message: await messageOf(state, secret, places, sent, now) };
    }),
  );
}
