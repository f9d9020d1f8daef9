/** The limits of the interface. Lengths are in characters. This module imports nothing: pages need it without zod. */

/** A page of a list has at most as many objects. */
export const MAX_PAGE_OBJECTS = 1_000;
export const MAX_BATCH_LICENSES = 500;
/** The notes and metadata of all licenses of a batch, as JSON: the response repeats them, and has to fit into memory. */
export const MAX_BATCH_TEXT_BYTES = 4 * 1024 * 1024;
export const MAX_IMPORT_ITEMS = 200;

/**
 * The largest limit of distinct values. A license has no more bound values: D1 returns them as one text of at
 * most 2 MB (1.4).
 */
export const MAX_LIMIT = 1_000;
/** A product's limits for licenses, if its creator sets none. */
export const DEFAULT_LIMIT = 5;
/** A license has up to 1,000 hardware IDs, and D1 returns them as one text of at most 2 MB (1.4). */
export const MAX_HWID_BYTES = 512;

export const MAX_OFFLINE_DAYS = 90;
/** Self-resets of a license in SELF_RESET_DAYS (10). */
export const MAX_SELF_RESETS = 100;
export const SELF_RESET_DAYS = 30;
/** Lifetime of a link to the customer's page (10): a customer may read the seller's message hours later. */
export const MAX_LINK_MINUTES = 10_080;
export const DEFAULT_LINK_MINUTES = 1_440;
export const MAX_SELLER_NAME_LENGTH = 100;
export const MAX_CONTACT_LENGTH = 300;
/** Length of a `data:` URL: 32 KB in base64, and its beginning. */
export const MAX_LOGO_LENGTH = 44_000;
export const MAX_DORMANT_DAYS = 3_650;
/** The longest time until an unused slot is idle, and from the first use to the expiry (7). */
export const MAX_IDLE_DAYS = 365;
export const MAX_EXPIRES_AFTER_DAYS = 3_650;

export const MAX_TEXT_LENGTH = 255;
export const MAX_LONG_TEXT_LENGTH = 10_000;
/** The names of `metadata`: none has a colon, which ends it in a filter, and JavaScript keeps no `__proto__`. */
export const METADATA_NAME = /^(?!__proto__$)[A-Za-z0-9_.-]{1,40}$/;
export const METADATA_NAME_MESSAGE =
  'must have a name of 1 to 40 letters, digits and signs "_", "." and "-", other than "__proto__"';
/** The characters of a name and of a text, and the number of both. */
export const MAX_METADATA_NAME_LENGTH = 40;
export const MAX_METADATA_LENGTH = 500;
export const MAX_METADATA_NAMES = 20;
/** The entitlements of a product, or of a license (11): their number, the bytes of their JSON, their names and texts. */
export const MAX_ENTITLEMENTS = 50;
export const MAX_ENTITLEMENT_BYTES = 2_048;
export const ENTITLEMENT_NAME = /^[a-z][a-z0-9_.-]{0,39}$/;
export const ENTITLEMENT_NAME_MESSAGE =
  'must have a name of 1 to 40 lower-case letters, digits and signs "_", "." and "-" that begins with a letter';
export const ENTITLEMENT_TEXT = /^[A-Za-z0-9_.:+-]{1,40}$/;
/** Programs search the response for these words. */
export const RESERVED_ENTITLEMENTS: readonly string[] = ['valid', 'message', 'signed', 'lease'];
/** The hours after which a program asks again (1.8). */
export const MAX_CHECK_AFTER_HOURS = 720;
export const DEFAULT_CHECK_AFTER_HOURS = 24;
/** The reason of a blacklist entry. */
export const MAX_REASON_LENGTH = 1_000;
/** The blocked value of a blacklist entry. */
export const MAX_BLOCKED_LENGTH = 512;
export const MAX_EMAIL_LENGTH = 254;
/** The texts of mails that a seller writes (13). */
export const MAX_MAIL_SUBJECT_LENGTH = 150;
export const MAX_MAIL_TEXT_LENGTH = 2_000;
export const MAX_WEB_ADDRESS_LENGTH = 2_048;
/** Text to search for in a list. */
export const MAX_SEARCH_LENGTH = 100;

/** A change sends to each webhook, and the platform limits the requests of one invocation (8). */
export const MAX_WEBHOOKS = 10;
/** The markets, the products that a market maps, and the secrets that it may sign with (9). */
/** The days of the longest period of sales (9). */
export const MAX_SALES_DAYS = 31;
export const MAX_MARKETS = 20;
export const MAX_MARKET_PRODUCTS = 200;
export const MAX_MARKET_SECRETS = 10;
/** Characters of a market's secret: those that markets make are long, those that a seller chooses must be (9.1). */
export const MIN_SECRET_LENGTH = 6;
export const MIN_CHOSEN_SECRET_LENGTH = 16;
/** A larger quantity of one line makes no licenses by itself. */
export const MAX_QUANTITY = 100;
/** A request of a market. */
export const MAX_MARKET_BODY_BYTES = 256 * 1024;
/** The id of a product, a buyer or an order at a market. */
export const MAX_MARKET_ID_LENGTH = 255;
/** A page of deliveries shows the bodies of requests and responses. */
export const MAX_PAGE_DELIVERIES = 100;

/** The longest periods of the statistics, and the default ones, by the step (6). */
export const MAX_STATISTICS_DAYS = { hour: 31, day: 1_100 } as const;
export const DEFAULT_STATISTICS_STEPS = { hour: 24, day: 30 } as const;
/** The products with the most active licenses, and the most frequent versions of each. */
export const MAX_STATISTICS_PRODUCTS = 10;
export const MAX_STATISTICS_VERSIONS = 20;
/** The expiries ahead that are counted. */
export const MAX_EXPIRY_WEEKS = 26;

/** The bits of an IPv6 address that count for a slot (1.4). */
export const IPV6_SLOT_PREFIX = { min: 48, max: 128, default: 64 } as const;

/** The widest ranges of addresses that may be blocked (3). */
export const MIN_PREFIX_BITS = { ipv4: 8, ipv6: 19 } as const;
