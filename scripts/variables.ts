import { rootTokenFault } from '@licet/cli/root-token';
import { isSigningKey } from '@licet/cli/signing-keys';
import { usageError } from '@licet/cli/terminal';
import { canonicalNetwork } from '@licet/contract/addresses';
import { discordUrlFault } from '@licet/contract/discord-url';
import { LABELLED_PLATFORMS } from '@licet/contract/enums';
import { IPV6_SLOT_PREFIX } from '@licet/contract/limits';
import { isTimeZone } from '@licet/contract/time-zone';
import {
  CLOUDFLARE_ONLY,
  dailyLimitFault,
  mailboxFault,
  mailFault,
  readMailSettings,
} from '../src/channels/mail/settings.ts';
import { nearestName } from '../src/lib/nearest-name.ts';
import { publicUrlFault } from '../src/lib/public-url.ts';
import { parseBoolean, parseLogSetting, parseSlotPrefix } from '../src/lib/settings.ts';
import { NO_KEY, parseKey } from '../src/lib/signing-keys.ts';

/** The variables of the service (docs/configuration.md), and the values that each takes. */

/** The end of a sentence that begins with the name; undefined for a value that the service takes as it is meant. */
type FindFault = (value: unknown) => string | undefined;

const must =
  (takes: string, accepts: (value: unknown) => boolean): FindFault =>
  (value) =>
    accepts(value) ? undefined : `must be ${takes}, not ${JSON.stringify(value)}.`;

/** A text with items, each of which matches a pattern. */
const mustList = (takes: string, separator: RegExp, item: RegExp): FindFault =>
  must(
    takes,
    (value) =>
      typeof value === 'string' &&
      value
        .split(separator)
        .filter((each) => each.trim() !== '')
        .every((each) => item.test(each)),
  );

const boolean = must('true or false', (value) => parseBoolean(value) !== undefined);
const logSetting = must('true, false or failures', (value) => parseLogSetting(value) !== undefined);
const text = must('a text', (value) => typeof value === 'string');
const isNumber = (value: unknown): boolean => /^\d+(\.\d+)?$/.test(String(value));
const days = must('a number of days, or 0 to keep all', isNumber);
const addresses = must('a number of addresses, or 0 for no limit', isNumber);
const slotPrefix = must(
  `a number of bits from ${IPV6_SLOT_PREFIX.min} to ${IPV6_SLOT_PREFIX.max}`,
  (value) => parseSlotPrefix(value) !== undefined,
);
/** No fault repeats a secret. */
const webhookSecret: FindFault = (value) =>
  /^whsec_[A-Za-z0-9+/]+=*$/.test(String(value))
    ? undefined
    : 'must be the signing secret of the webhook at Resend, which begins with whsec_.';
const requests = must('a number of requests a minute', isNumber);

const timeZone = must('a time zone such as "Europe/Berlin", or "UTC"', (value) =>
  isTimeZone(String(value)),
);

const labels = mustList(
  `labels such as "PLATFORM_A=SpigotMC, MARKET_A=BuiltByBit", for ${LABELLED_PLATFORMS.join(', ')}`,
  /,/,
  new RegExp(String.raw`^\s*(${LABELLED_PLATFORMS.join('|')})\s*=\s*\S`),
);
const hosts = mustList(
  'hosts such as license.example.com, without https:// and without a path',
  /[\s,]+/,
  /^([\w-]+(\.[\w-]+)*|\[[\da-f:.]+\])(:\d{1,5})?$/i,
);

function proxies(value: unknown): string | undefined {
  const networks = String(value).split(/[\s,]+/);
  const wrong = networks.find((network) => network !== '' && canonicalNetwork(network) === null);
  return (
    wrong &&
    `holds "${wrong}", which is no IP address and no range such as 10.0.0.0/8. Addresses have no zone (%).`
  );
}

const FAULTS: Readonly<Record<string, FindFault>> = {
  ROOT_TOKEN: (value) => rootTokenFault(String(value)),
  REQUIRE_HWID: boolean,
  TRUST_BODY_IP: boolean,
  IPV6_SLOT_PREFIX: slotPrefix,
  REQUEST_RETENTION_DAYS: days,
  EVENT_RETENTION_DAYS: days,
  MANY_ADDRESSES: addresses,
  SIGNING_ISSUER: text,
  SIGNING_DEFAULT_KID: text,
  LOG_REQUESTS: logSetting,
  TIME_ZONE: timeZone,
  PLATFORM_LABELS: labels,
  TRUSTED_PROXIES: proxies,
  PUBLIC_URL: publicUrlFault,
  CONSOLE_HOSTS: hosts,
  OUTBOUND_PRIVATE: boolean,
  DISCORD_URL: discordUrlFault,
  MAIL: mailFault,
  MAIL_FROM: mailboxFault,
  MAIL_REPLY_TO: mailboxFault,
  MAIL_DAILY_LIMIT: dailyLimitFault,
  MAIL_WEBHOOK_SECRET: webhookSecret,
  VALIDATION_LIMITER: requests,
  REFUSED_LIMITER: requests,
  FAILED_TOKEN_LIMITER: requests,
};

/** Secrets that a service can do without. They are in no list of wrangler.toml, because wrangler would require them. */
export const OPTIONAL_SECRETS: readonly string[] = ['MAIL', 'MAIL_WEBHOOK_SECRET'];

export const VARIABLE_NAMES: readonly string[] = Object.keys(FAULTS);

function faultOf(name: string, value: unknown): string | undefined {
  if (isSigningKey(name)) return parseKey(value) ? undefined : `${NO_KEY}.`;
  const findFault = FAULTS[name];
  if (findFault) return findFault(value);
  const meant = nearestName(name, VARIABLE_NAMES);
  const hint = meant ? `Did you mean ${meant}?` : 'docs/configuration.md lists the settings.';
  return `is no setting of Licet. ${hint}`;
}

/** @throws CliError for an unknown name, and for a value that the service would not take as it is meant */
export function checkVariables(variables: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const fault = faultOf(name, value);
    if (fault) throw usageError(`${name} ${fault}`);
  }
}

/** @throws CliError if the settings of mails are wrong together, or need Cloudflare, for a service on this machine */
export function checkMail(variables: Readonly<Record<string, unknown>>): void {
  const settings = readMailSettings(variables);
  if (settings && 'fault' in settings) throw usageError(settings.fault);
  if (settings?.value.way.adapter === 'cloudflare') throw usageError(CLOUDFLARE_ONLY);
}

/** @throws CliError if SIGNING_DEFAULT_KID names none of the signing keys among the variables */
export function checkDefaultKid(variables: Readonly<Record<string, unknown>>): void {
  const chosen = variables.SIGNING_DEFAULT_KID;
  const keys = Object.entries(variables).filter(([name]) => isSigningKey(name));
  const kids = keys.flatMap(([, secret]) => parseKey(secret)?.kid ?? []);
  if (!chosen || kids.some((kid) => kid === chosen)) return;
  throw usageError(
    `SIGNING_DEFAULT_KID must be the kid of a signing key (${kids.join(', ')}), not "${chosen}".`,
  );
}
