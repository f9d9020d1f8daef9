/** The enumerations of the interface, in its order [2.6]. */

export const PRODUCT_TYPES = [
  'GAME_JAVA_PLUGIN',
  'GAME_JAVA_MOD',
  'GAME_BEDROCK_PLUGIN',
  'GAME_BEDROCK_MOD',
  'GAME_SERVER_SETUP',
  'WEB_APPLICATION',
  'DESKTOP_APPLICATION',
  'MOBILE_APPLICATION',
  'OTHER',
] as const;

export const LICENSE_TYPES = ['TEMPORARY', 'PERMANENT'] as const;

export const LICENSE_STATUSES = ['ACTIVE', 'EXPIRED', 'DEACTIVATED', 'DELETED'] as const;
export type LicenseStatus = (typeof LICENSE_STATUSES)[number];

/** The statuses that are stored. EXPIRED is not: it follows from the clock (2). */
export const LICENSE_STATES = ['ACTIVE', 'DEACTIVATED', 'DELETED'] as const;
export type LicenseState = (typeof LICENSE_STATES)[number];

export const LICENSE_PLATFORMS = [
  'PLATFORM_A',
  'PLATFORM_B',
  'PLATFORM_C',
  'MARKET_A',
  'MARKET_B',
  'CHAT',
  'OTHER',
] as const;
export type LicensePlatform = (typeof LICENSE_PLATFORMS)[number];

/** Platforms without a telling name. PLATFORM_LABELS can label them. */
export const LABELLED_PLATFORMS = [
  'PLATFORM_A',
  'PLATFORM_B',
  'PLATFORM_C',
  'MARKET_A',
  'MARKET_B',
] as const satisfies LicensePlatform[];

export const LICENSE_DATA_TYPES = ['IP', 'HWID'] as const;
export type LicenseDataType = (typeof LICENSE_DATA_TYPES)[number];

/** The permissions that a token can hold, in the order of the interface [5]. */
export const API_INTENTS = [
  'PRODUCTS_READ',
  'PRODUCTS_READ_WRITE',
  'LICENSE_VALIDATE',
  'LICENSES_READ',
  'LICENSES_READ_WRITE',
  'BLACKLISTS_READ',
  'BLACKLISTS_READ_WRITE',
  'REQUESTS_READ',
  'CUSTOMERS_READ',
  'ALL_READ',
  'ALL_READ_WRITE',
] as const;
export type ApiIntent = (typeof API_INTENTS)[number];

/** The endpoints of a validation; the `requestType` of its record [2.4]. */
export const REQUEST_TYPES = ['V1_VALIDATE', 'V2_VALIDATE'] as const;
export type RequestType = (typeof REQUEST_TYPES)[number];

/** The kinds of resources whose changes leave events, and the sessions of the console (5). */
export const EVENT_RESOURCES = [
  'product',
  'license',
  'customer',
  'blacklist',
  'token',
  'webhook',
  'market',
  'purchase',
  'session',
  'settings',
  'mail',
] as const;
export type EventResource = (typeof EVENT_RESOURCES)[number];

/** The types of events that the service makes itself, from what is stored (8). */
export const SERVICE_EVENT_TYPES = [
  'license.first_used',
  'license.limit_reached',
  'license.expiring',
  'license.expired',
  'license.many_addresses',
  'blacklist.hit',
  'webhook.disabled',
  'market.failing',
  'market.guessed',
  'purchase.unmatched',
  'mail.failed',
] as const satisfies readonly `${EventResource}.${string}`[];
export type ServiceEventType = (typeof SERVICE_EVENT_TYPES)[number];

/** The types of events: the resource, and its change. */
export const EVENT_TYPES = [
  'product.created',
  'product.updated',
  'product.deleted',
  'license.created',
  'license.updated',
  'license.slots_freed',
  'license.rotated',
  'license.transferred',
  'license.redeemed',
  'license.deleted',
  'customer.created',
  'customer.updated',
  'customer.deleted',
  'customer.link_created',
  'blacklist.created',
  'blacklist.updated',
  'blacklist.deleted',
  'token.created',
  'token.updated',
  'token.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'market.created',
  'market.updated',
  'market.deleted',
  'purchase.granted',
  'purchase.revoked',
  'purchase.restored',
  'purchase.extended',
  'purchase.updated',
  'session.created',
  'settings.updated',
  ...SERVICE_EVENT_TYPES,
] as const satisfies readonly `${EventResource}.${string}`[];
export type EventType = (typeof EVENT_TYPES)[number];

/** All types of events that begin alike: `license.*` for those that begin with `license.`. */
export const EVENT_GROUPS = [
  'product.*',
  'license.*',
  'customer.*',
  'blacklist.*',
  'token.*',
  'webhook.*',
  'market.*',
  'purchase.*',
  'session.*',
  'settings.*',
  'mail.*',
] as const satisfies readonly `${EventResource}.*`[];

/** A type of events, or a group of them, that a webhook asks for. */
export type WebhookType = EventType | (typeof EVENT_GROUPS)[number];

/** The forms in which a webhook sends events: Standard Webhooks, or messages for a channel of Discord (8). */
export const WEBHOOK_FORMATS = ['standard', 'discord'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** The type of the message of a test; no event has it (8). */
export const PING_TYPE = 'ping';

/** The states of a delivery. A pending one has another attempt before it (8). */
export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'FAILED'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The markets that sell keys (9). `dynamic` is any shop that asks for a key and waits. */
export const MARKET_KINDS = [
  'builtbybit',
  'voxel',
  'dynamic',
  'tebex',
  'stripe',
  'paynow',
] as const;
export type MarketKind = (typeof MARKET_KINDS)[number];

/** The effect of a refund in full, and of a dispute, on the license (9). */
export const REFUND_ACTIONS = ['deactivate', 'keep'] as const;
export type RefundAction = (typeof REFUND_ACTIONS)[number];
export const DISPUTE_ACTIONS = ['deactivate', 'wait', 'keep'] as const;
export type DisputeAction = (typeof DISPUTE_ACTIONS)[number];

/** The meaning of a quantity: so many licenses, or one license with its limits multiplied (9). */
export const QUANTITY_MEANINGS = ['licenses', 'limits'] as const;
export type QuantityMeaning = (typeof QUANTITY_MEANINGS)[number];

/** The states of a purchase. An unmatched one waits for a product (9). */
export const PURCHASE_STATES = ['GRANTED', 'REVOKED', 'UNMATCHED'] as const;
export type PurchaseState = (typeof PURCHASE_STATES)[number];

/**
 * The states of a market (9): by its settings, and by the last request that arrived. A market that needs something, and one
 * that fails, waits for a person.
 */
export const MARKET_STATES = [
  'OFF',
  'NEEDS_SECRET',
  'FAILING',
  'NEEDS_PRODUCT',
  'WAITING',
  'WORKS',
] as const;
export type MarketState = (typeof MARKET_STATES)[number];

/** The effect of a request of a market: a purchase or a license changed, nothing was to do, or a person is needed (9). */
export const NOTICE_EFFECTS = ['CHANGED', 'NOTHING', 'NEEDS_PERSON'] as const;
export type NoticeEffect = (typeof NOTICE_EFFECTS)[number];

/** The kinds of items of an import, in their order: later ones refer to earlier ones. */
export const IMPORT_KINDS = ['products', 'customers', 'licenses', 'blacklists'] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

/** The outcomes of an item of an import. */
export const IMPORT_OUTCOMES = ['created', 'unchanged', 'kept', 'refused'] as const;

/** The senders without a token, of which events can be listed alone. */
export const EVENT_ACTORS = ['service', 'customer', 'program'] as const;
