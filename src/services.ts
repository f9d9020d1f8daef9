import { HOUR_MS } from '@licet/contract/durations';
import type { LicenseDataType } from '@licet/contract/enums';
import { IPV6_SLOT_PREFIX } from '@licet/contract/limits';
import type { ResponseType } from '@licet/contract/outcomes';
import { DEFAULT_PORTAL_SETTINGS, type PortalSettings } from '@licet/contract/portal';
import { Caches } from './cache/caches.ts';
import { ROLES_FOLLOW } from './channels/discord/roles.ts';
import { type DiscordSettings, NO_DISCORD } from './channels/discord/settings.ts';
import { type MailBindings, mailSenderOf } from './channels/mail/adapters.ts';
import { storeKeyMails } from './channels/mail/causes.ts';
import { Mailer } from './channels/mail/mailer.ts';
import { NO_MAILS, type SellerMailSettings } from './channels/mail/seller-settings.ts';
import { HeldMarkets } from './channels/markets/held.ts';
import { Arrivals } from './channels/markets/received.ts';
import { SharedNotices } from './channels/markets/shared-notices.ts';
import { HeldSettings } from './channels/settings/store.ts';
import { Deliverer } from './channels/webhooks/deliverer.ts';
import { isSigningSecret } from './channels/webhooks/formats/standard.ts';
import { storeDeliveries } from './channels/webhooks/outgoing.ts';
import type { KeyMails, Sender } from './db/change.ts';
import { type Database, openDatabase } from './db/client.ts';
import { type EventSender, SERVICE } from './db/events.ts';
import { isOnOneMachine } from './http/connection.ts';
import { Admission } from './lib/admission.ts';
import type { WaitUntil } from './lib/async.ts';
import { BoundedMap } from './lib/bounded-map.ts';
import { logFailure, RepeatedFailure } from './lib/log.ts';
import { parseNetworks } from './lib/networks.ts';
import { Outbound } from './lib/outbound.ts';
import { consoleHostsIn, publicUrlFault } from './lib/public-url.ts';
import { LocalLimiter, PlatformLimiter, type RateLimiter } from './lib/rate-limiter.ts';
import type { RequestTimings } from './lib/request-timings.ts';
import { activeRootToken } from './lib/root-token.ts';
import { parseSlotPrefix } from './lib/settings.ts';
import { SigningKeys } from './lib/signing-keys.ts';
import { HeldCounts } from './requests/counts.ts';
import { RequestCounts } from './requests/metrics.ts';
import { Recorder } from './requests/recorder.ts';
import type { SlotKind } from './resources/licenses/address-slots.ts';

const MAX_COUNTED = 10_000;
const VALIDATIONS_A_TURN = 64;
const FILES_A_TURN = 8;
const MANAGEMENT_A_TURN = 8;
/** A full license is not asked for a slot again within this time (1.7). */
const FULL_MS = 1_000;

/** Otherwise anybody could make the codes of links in mails. */
const NO_ROOT_TOKEN =
  'ROOT_TOKEN must be set, with 32 characters or more: the links in mails are made of it.';

type Limiters = 'VALIDATION_LIMITER' | 'REFUSED_LIMITER' | 'FAILED_TOKEN_LIMITER';

/** Requests a minute that pass without a bound limiter (1.7). */
const LIMITS: Readonly<Record<Limiters, number>> = {
  VALIDATION_LIMITER: 120,
  REFUSED_LIMITER: 100,
  FAILED_TOKEN_LIMITER: 60,
};

/**
 * The bindings of the Worker. They differ from those of wrangler.toml:
 *
 * - `SNAPSHOTS` is optional, because D1 is as near as KV on one machine.
 * - A limiter can be a number of requests a minute, which a single isolate counts itself.
 * - `SIGNING_KEY_<n>` are optional secrets, which {@link SigningKeys} finds by their names.
 * - `TRUSTED_PROXIES`: see {@link Services.trustedProxies}.
 * - `CONSOLE_HOSTS`: see {@link Services.consoleHosts}, and public-url.ts.
 * - `OUTBOUND`, `OUTBOUND_PRIVATE`, `DISCORD_URL`, `DISCORD_NETWORK`: see {@link Outbound}.
 * - `MAIL`, `MAIL_NETWORK`, `EMAIL`: see {@link MailBindings}. `MAIL_WEBHOOK_SECRET` is that of Resend's notices.
 */
export type Bindings = Omit<Env, 'SNAPSHOTS' | Limiters> &
  Partial<Record<Limiters, RateLimit | number | string>> & {
    SNAPSHOTS?: KVNamespace | undefined;
    /** Set by `npm start` alone. */
    ONE_MACHINE?: string;
    TRUSTED_PROXIES?: string;
    CONSOLE_HOSTS?: string;
    OUTBOUND?: Pick<Fetcher, 'fetch'>;
    OUTBOUND_PRIVATE?: string;
    DISCORD_URL?: string;
    DISCORD_NETWORK?: Pick<Fetcher, 'fetch'>;
    MAIL_WEBHOOK_SECRET?: string;
  } & MailBindings;

/** The bits of IPv6 addresses that count for slots. A wrong setting is logged, and ignored (1.4). */
function slotPrefixIn({ IPV6_SLOT_PREFIX: setting }: Pick<Env, 'IPV6_SLOT_PREFIX'>): number {
  const prefix = parseSlotPrefix(setting);
  if (prefix === undefined) {
    const { default: used, min, max } = IPV6_SLOT_PREFIX;
    const message = `IPV6_SLOT_PREFIX must be ${min} to ${max}, not "${setting}": ${used} is used`;
    logFailure(message, new RangeError());
  }
  return prefix ?? IPV6_SLOT_PREFIX.default;
}

/** The secret of Resend's notices. A wrong one is logged, and rejects all of them (13). */
function secretIn({ MAIL_WEBHOOK_SECRET: setting = '' }: Pick<Bindings, 'MAIL_WEBHOOK_SECRET'>) {
  if (setting === '' || isSigningSecret(setting)) return setting || undefined;
  const message = 'MAIL_WEBHOOK_SECRET is ignored: it must be the signing secret, whsec_…';
  logFailure(message, new RangeError());
  return undefined;
}

/** The bindings and the state of a request, as its handlers see them. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    timings: RequestTimings;
    /** The id of the request's token; null for ROOT_TOKEN. */
    tokenId?: number | null;
    /** The outcome of a validation. */
    outcome?: ResponseType;
  };
}

/** A license at a revision. */
interface LicenseRevision {
  id: number;
  revision: number;
}

/** A refusal for want of a slot, as D1 decided it. */
export interface FullRefusal {
  /** The type of the slot that is missing. */
  type: LicenseDataType;
  remarks: string | null;
}

/** A kind of slots that a request wants, or that it would take them over from others (1.8). */
export type WantedSlots = SlotKind | 'TAKEN_OVER';

/** The parts that a request may use, which an isolate keeps between requests. */
export class Services {
  readonly db: Database;
  readonly caches: Caches;
  readonly recorder: Recorder;
  readonly counts: HeldCounts;
  readonly requestCounts = new RequestCounts();
  /** The valid validations since one was logged, where the log leaves most of them out. */
  validSinceEntry = 0;
  readonly outbound: Outbound;
  readonly deliverer: Deliverer;
  readonly markets: HeldMarkets;
  readonly arrivals: Arrivals;
  /** Undefined at Cloudflare, where a request of the Free plan may make 50 queries. */
  readonly sharedNotices: SharedNotices | undefined;
  readonly mailer: Mailer;
  /** Undefined without notices of mails that did not arrive (13). */
  readonly mailWebhookSecret: string | undefined;
  readonly portalSettings: HeldSettings<PortalSettings>;
  readonly mailSettings: HeldSettings<SellerMailSettings>;
  readonly discordSettings: HeldSettings<DiscordSettings>;
  /** Bounds the requests that begin in a turn. Validations also wait for room for their records (1.6). */
  readonly admission: Record<'validations' | 'files' | 'management', Admission>;
  readonly limits: Record<'validations' | 'refused' | 'failedTokens', RateLimiter>;
  /** The work that this isolate still does in a minute for a client over a limit (1.7). */
  readonly ceilings = {
    unreadableRecords: new LocalLimiter(10),
    /** Records of unknown keys with all that was sent. */
    unknownRecords: new LocalLimiter(10),
    /** Counts each client, and each client with a license. */
    limitedRecords: new LocalLimiter(1),
    /** Counts each client with a status. */
    rejectedLogEntries: new LocalLimiter(1),
    publishedReads: new LocalLimiter(300),
    /** Records of validations that fail in the service. */
    failedRecords: new LocalLimiter(300),
    /** Rejected requests of each market that are listed: a sender who knows its address must not hide the others. */
    rejectedNotices: new LocalLimiter(10, HOUR_MS),
    /** Rejected requests of a client at a market, beyond which the client may guess its secret. */
    wrongSecrets: new LocalLimiter(60, HOUR_MS),
    /** Queries whether a market has had its event about guesses. */
    guesses: new LocalLimiter(1, HOUR_MS),
    /** License keys and codes that an account at Discord tries. */
    redemptions: new LocalLimiter(10),
    /** Links that a client wants by mail, of which the database looks at the rest. */
    wantedLinks: new LocalLimiter(20, HOUR_MS),
    /** Calls of tools by the assistants of a token. */
    assistantCalls: new LocalLimiter(60),
  };
  readonly failedValidations = new RepeatedFailure((count) => `Validations failed: ${count}`);
  readonly failedRequests = new RepeatedFailure((count) => `Requests failed: ${count}`);
  readonly failedNotices = new RepeatedFailure((count) => `Requests of markets failed: ${count}`);
  readonly unlistedNotices = new RepeatedFailure(
    (count) => `Requests of markets were not listed: ${count}`,
  );
  /**
   * The networks of proxies whose `CF-Connecting-IP` counts. Undefined at Cloudflare, where only the platform
   * can set that header.
   */
  readonly trustedProxies: readonly string[] | undefined;
  /**
   * The hosts under which sessions of the console work (4), beside the console's name on this machine. Undefined at
   * Cloudflare, where only the hosts of the zone lead to the service.
   */
  readonly consoleHosts: readonly string[] | undefined;
  /** Undefined for a service that does not sign (1.8). */
  readonly signingKeys: SigningKeys | undefined;
  /** Whether this process also accepts the connections and runs the database, which other processes do at Cloudflare. */
  readonly isOnOneMachine: boolean;
  /** Hashes of tokens and sessions that the database knew. */
  readonly liveTokens = new BoundedMap<string, true>(MAX_COUNTED);
  /** The totals of licenses, by id. */
  readonly #totals = new BoundedMap<number, number>(MAX_COUNTED);
  /** When each token was last used, by id. */
  readonly #tokenUses = new BoundedMap<number, number>(MAX_COUNTED);
  /** Refusals by D1 for want of a slot, by license id and the kinds of slots of which none was free. */
  readonly #full = new BoundedMap<
    string,
    { revision: number; until: number; refusal: FullRefusal }
  >(MAX_COUNTED);

  constructor(env: Bindings) {
    this.db = openDatabase(env.DB, slotPrefixIn(env));
    this.caches = new Caches(this.db, env.SNAPSHOTS);
    this.recorder = new Recorder(this.db, this.caches, (stored) => this.deliverer.gather(stored));
    this.counts = new HeldCounts(this.db);
    this.outbound = new Outbound(env);
    this.markets = new HeldMarkets(this.db);
    this.arrivals = new Arrivals(this.db, isOnOneMachine(env));
    this.discordSettings = new HeldSettings(this.db, 'discord', NO_DISCORD);
    this.portalSettings = new HeldSettings(this.db, 'portal', DEFAULT_PORTAL_SETTINGS);
    this.mailSettings = new HeldSettings(this.db, 'mail', NO_MAILS);
    const limiter = (name: Limiters) => {
      const bound = env[name] ?? LIMITS[name];
      return typeof bound === 'object'
        ? new PlatformLimiter(bound)
        : new LocalLimiter(Number(bound));
    };
    this.limits = {
      validations: limiter('VALIDATION_LIMITER'),
      refused: limiter('REFUSED_LIMITER'),
      failedTokens: limiter('FAILED_TOKEN_LIMITER'),
    };
    this.trustedProxies =
      env.TRUSTED_PROXIES === undefined ? undefined : parseNetworks(env.TRUSTED_PROXIES);
    this.isOnOneMachine = isOnOneMachine(env);
    this.sharedNotices = this.isOnOneMachine ? new SharedNotices() : undefined;
    this.deliverer = new Deliverer(this.db, this.outbound, env, this.isOnOneMachine);
    this.mailWebhookSecret = secretIn(env);
    const mailing = mailSenderOf(env, this.outbound);
    this.mailer = new Mailer(
      mailing.sender && !activeRootToken(env.ROOT_TOKEN)
        ? { sender: null, fault: NO_ROOT_TOKEN }
        : mailing,
      env,
      this.isOnOneMachine,
    );
    if (this.mailer.fault) logFailure(`No mail is sent: ${this.mailer.fault}`, new RangeError());
    const maxPerTurn = (count: number) => (this.isOnOneMachine ? count : Number.POSITIVE_INFINITY);
    this.admission = {
      validations: new Admission({
        maxPerTurn: maxPerTurn(VALIDATIONS_A_TURN),
        isFull: () => this.recorder.isFull(),
        makeRoom: (waitUntil) => this.recorder.keepWriting(waitUntil),
      }),
      files: new Admission({ maxPerTurn: maxPerTurn(FILES_A_TURN) }),
      management: new Admission({ maxPerTurn: maxPerTurn(MANAGEMENT_A_TURN) }),
    };
    this.consoleHosts = consoleHostsIn(env);
    const fault = publicUrlFault(env.PUBLIC_URL ?? '');
    if (fault) logFailure(`PUBLIC_URL is ignored: it ${fault}`, new RangeError());
    const { discordFault } = this.outbound;
    if (discordFault) {
      logFailure(`Nothing is sent to Discord: DISCORD_URL ${discordFault}`, new RangeError());
    }
    this.signingKeys = SigningKeys.of(env);
  }

  /** Logs the failures of requests since the lines about them. Perhaps no further one comes. */
  flushFailures(): void {
    const { failedValidations, failedRequests, failedNotices, unlistedNotices } = this;
    for (const failure of [failedValidations, failedRequests, failedNotices, unlistedNotices]) {
      failure.flushDue();
    }
  }

  /**
   * Notes a refusal by D1 for want of a slot.
   *
   * @param wanted the kinds of slots of which none was free
   * @param now milliseconds since 1970
   */
  noteFull(
    { id, revision }: LicenseRevision,
    wanted: readonly WantedSlots[],
    refusal: FullRefusal,
    now: number,
  ): void {
    this.#full.set(`${id} ${wanted}`, { revision, until: now + FULL_MS, refusal });
  }

  /** The refusal of a moment ago, of this revision of a license for these kinds of slots. */
  findFull(
    { id, revision }: LicenseRevision,
    wanted: readonly WantedSlots[],
    now: number,
  ): FullRefusal | undefined {
    const known = this.#full.get(`${id} ${wanted}`);
    return known?.revision === revision && now < known.until ? known.refusal : undefined;
  }

  /**
   * Counts a request of a license (1.1). The snapshot's total can be too low, never too high.
   *
   * @returns the total with this request, as far as this isolate knows
   */
  countRequest({ id, totalRequests }: { id: number; totalRequests: number }): number {
    const total = Math.max(this.#totals.get(id) ?? 0, totalRequests) + 1;
    this.#totals.set(id, total);
    return total;
  }

  /** Whether the last known use of a token is longer ago than `withinMs`. Counts as a use. */
  shouldMarkUsed(token: { id: number; lastUsedAt: number | null }, now: number, withinMs: number) {
    const lastUse = Math.max(token.lastUsedAt ?? 0, this.#tokenUses.get(token.id) ?? 0);
    if (Math.abs(now - lastUse) < withinMs) return false;
    this.#tokenUses.set(token.id, now);
    return true;
  }
}

/** The author of a change, with the conditions on it. */
type Author = Partial<EventSender & Pick<Sender, 'permissions'>>;

/**
 * The sender of a change, with the clock of now.
 *
 * @param sendMails makes the first attempts of new mails with keys
 */
export const senderOf = (
  services: Services,
  author: Author,
  waitUntil: WaitUntil,
  sendMails: KeyMails['send'] = (ids) =>
    services.mailer.sendNew(() => senderOf(services, SERVICE, waitUntil), ids),
): Sender => ({
  tokenId: null,
  isConsole: false,
  ip: null,
  permissions: () => [],
  ...author,
  db: services.db,
  caches: services.caches,
  channels: {
    followUps: [ROLES_FOLLOW],
    storeDeliveries: (database, now) =>
      storeDeliveries(database, now, false, services.deliverer.full),
    deliver: (stored) => services.deliverer.gather(stored),
    keyMails: services.mailer.isSetUp ? { store: storeKeyMails, send: sendMails } : null,
  },
  now: Date.now(),
  waitUntil,
});

const known = new WeakMap<object, Services>();

/** The services of this isolate. All its requests have the same bindings. */
export function servicesOf(env: Bindings): Services {
  const services = known.get(env) ?? new Services(env);
  known.set(env, services);
  return services;
}
