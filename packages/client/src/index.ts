import type { Call, CallOptions, Check, CreateOptions, LicetOptions } from './connection.ts';
import { Connection, hasId, isObject, LicetError } from './connection.ts';
import type { SignedClaims, SigningKey } from './signatures.ts';
import { newNonce, pinKey, verifyResponse } from './signatures.ts';
import type {
  InvalidResponse,
  LicensePlatform,
  Operations,
  ValidationRequest,
  ValidResponse,
} from './types.ts';

export type { CallOptions, CreateOptions, LicetOptions } from './connection.ts';
export { LicetError } from './connection.ts';
export type { SignedClaims, SigningKey } from './signatures.ts';
export type * from './types.ts';

/** 250 licenses take the 10 ms of CPU time that the Free plan gives a request. */
const PAGE_SIZE = 250;
const MAX_CHANGE_ATTEMPTS = 5;

export interface UpdateOptions extends CallOptions {
  /** The `etag` of a `read`: the update fails with 412 if the item was changed since. */
  ifMatch?: string | undefined;
}

export interface ValidateOptions extends CallOptions {
  /**
   * Public keys of the service. With them a response counts only if one of them signed it, for this request. The
   * service is asked for the first one, and for the next if it no longer has that.
   */
  signingKeys?: readonly SigningKey[] | undefined;
}

/** The decision on a license. Without `signingKeys` it has no claims, whatever the server sends. */
export type Validation = (ValidResponse | InvalidResponse) & {
  [Name in keyof SignedClaims]: SignedClaims[Name] | undefined;
};

const UNSIGNED = { entitlements: undefined, checkAfter: undefined };

/** A part of a list. */
export interface Page<Item> {
  items: Item[];
  /** The `after` of the next page, if there is one. */
  after: number | undefined;
  /** The number of all items, if the service counted them. */
  total: number | undefined;
}

/** An item, and the tag of its version. */
export interface Tagged<Item> {
  item: Item;
  etag: string | undefined;
}

const isList: Check = (body) => Array.isArray(body) && body.every(hasId);

/** An object with a list under a name. */
const hasList =
  (name: string): Check =>
  (body) =>
    isObject(body) &&
    Object.entries(body).some(([key, value]) => key === name && Array.isArray(value));

const areLabels: Check = (body) =>
  Array.isArray(body) &&
  body.every((each) => isObject(each) && 'label' in each && typeof each.label === 'string');

/** The types of an operation; never for an unknown one. */
type ResponseOf<Key extends string> = Key extends keyof Operations
  ? Operations[Key]['response']
  : never;
type BodyOf<Key extends string> = Key extends keyof Operations ? Operations[Key]['body'] : never;
type ParametersOf<Key extends string> = Key extends keyof Operations
  ? Operations[Key]['query']
  : never;

type ItemOf<Key extends string> = ResponseOf<Key> extends (infer Item)[] ? Item : never;

/** The `after` of the next page. The rest of the link is ignored: behind a proxy, its host may be wrong. */
function nextAfter(link: string | null): number | undefined {
  const [, next] = /<([^>]*)>; *rel="next"/.exec(link ?? '') ?? [];
  const after = next === undefined ? null : new URL(next, 'http://licet').searchParams.get('after');
  return after === null ? undefined : Number(after);
}

type QueryOf<Key extends string> = ParametersOf<Key> & { limit?: number | undefined };

/** A resource with a list, by the key of its operation. */
class List<Key extends string> {
  protected readonly connection: Connection;
  protected readonly path: string;
  readonly #pageQuery: object;

  /** @param pageQuery parameters that `iterate` adds to the query */
  constructor(connection: Connection, path: string, pageQuery: object = {}) {
    this.connection = connection;
    this.path = path;
    this.#pageQuery = pageQuery;
  }

  /** Returns all items, or with `limit` a page. The history and the events return at most 1,000. */
  list(query?: QueryOf<Key>, { signal }: CallOptions = {}): Promise<ItemOf<Key>[]> {
    return this.connection.read('GET', this.path, { query, signal }, isList);
  }

  /** Returns a page, of 250 items by default. */
  async page(query?: QueryOf<Key>, { signal }: CallOptions = {}): Promise<Page<ItemOf<Key>>> {
    const part = { ...query, limit: query?.limit ?? PAGE_SIZE };
    const response = await this.connection.send('GET', this.path, { query: part, signal });
    const total = response.headers.get('X-Total-Count');
    return {
      items: this.connection.parse<ItemOf<Key>[]>(response, isList),
      after: nextAfter(response.headers.get('Link')),
      total: total === null ? undefined : Number(total),
    };
  }

  /**
   * Yields all items, and holds one page at a time. `limit` is the size of a page, by default 250. Items
   * that are created meanwhile may be missing.
   */
  async *iterate(
    query?: QueryOf<Key>,
    { signal }: CallOptions = {},
  ): AsyncGenerator<ItemOf<Key>, void, undefined> {
    let part: object = { ...query, ...this.#pageQuery, limit: query?.limit ?? PAGE_SIZE };
    for (;;) {
      const response = await this.connection.send('GET', this.path, { query: part, signal });
      yield* this.connection.parse<ItemOf<Key>[]>(response, isList);
      const after = nextAfter(response.headers.get('Link'));
      if (after === undefined) return;
      part = { ...part, after };
    }
  }
}

/**
 * Encodes a value as one segment of a path.
 *
 * @throws TypeError for an empty value, and for one or two dots, which would change the path
 */
function segmentOf(value: string | number): string {
  if (/^\.{0,2}$/.test(String(value)))
    throw new TypeError(`${JSON.stringify(value)} names nothing`);
  return encodeURIComponent(value);
}

/** A resource whose items have ids. */
class Collection<Path extends string> extends List<`GET ${Path}`> {
  get(id: number, { signal }: CallOptions = {}): Promise<ResponseOf<`GET ${Path}/{id}`>> {
    return this.connection.read('GET', `${this.path}/${segmentOf(id)}`, { signal });
  }
}

type ChangesOf<Path extends string> = BodyOf<`PUT ${Path}/{id}`>;

/** A resource whose items can be created, changed and deleted. */
class Managed<Path extends string> extends Collection<Path> {
  /** Gets an item with its tag, for an `update` that overwrites no other change. */
  async read(
    id: number,
    { signal }: CallOptions = {},
  ): Promise<Tagged<ResponseOf<`GET ${Path}/{id}`>>> {
    const response = await this.connection.send('GET', `${this.path}/${segmentOf(id)}`, { signal });
    const item = this.connection.parse<ResponseOf<`GET ${Path}/{id}`>>(response, hasId);
    return { item, etag: response.headers.get('ETag') ?? undefined };
  }

  /** Changes the given fields. Use `change` if the new values depend on the current ones. */
  update(
    id: number,
    changes: BodyOf<`PUT ${Path}/{id}`>,
    { signal, ifMatch }: UpdateOptions = {},
  ): Promise<ResponseOf<`PUT ${Path}/{id}`>> {
    const call = { body: changes, ifMatch, signal };
    return this.connection.read('PUT', `${this.path}/${segmentOf(id)}`, call);
  }

  /**
   * Changes an item depending on its current values: reads it, computes the changes, and writes them if it
   * was not changed since (`If-Match`). Otherwise it starts again, at most five times. Without changes,
   * undefined, it writes nothing.
   *
   * @throws LicetError 412 if the item was changed during each attempt
   */
  async change(
    id: number,
    changesOf: (
      current: ResponseOf<`GET ${Path}/{id}`>,
    ) => ChangesOf<Path> | undefined | Promise<ChangesOf<Path> | undefined>,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`GET ${Path}/{id}` | `PUT ${Path}/{id}`>> {
    const path = `${this.path}/${segmentOf(id)}`;
    for (let attempt = 1; ; attempt++) {
      const { item, etag: ifMatch } = await this.read(id, { signal });
      const body = await changesOf(item);
      if (body === undefined) return item;
      try {
        return await this.connection.read('PUT', path, { body, ifMatch, signal });
      } catch (error) {
        const isOvertaken = error instanceof LicetError && error.status === 412;
        if (!isOvertaken || attempt === MAX_CHANGE_ATTEMPTS) throw error;
      }
    }
  }

  /** Creates an item once, also if the request has to be sent again. */
  create(
    body: BodyOf<`POST ${Path}`>,
    { signal, idempotencyKey }: CreateOptions = {},
  ): Promise<ResponseOf<`POST ${Path}`>> {
    return this.connection.create(this.path, { body, signal, idempotencyKey });
  }

  delete(id: number, { signal }: CallOptions = {}): Promise<void> {
    return this.remove(id, { signal });
  }

  protected async remove(id: number, call: Call): Promise<void> {
    const path = `${this.path}/${segmentOf(id)}`;
    const response = await this.connection.send('DELETE', path, call);
    if (response.status !== 204) throw this.connection.notLicet(response);
  }
}

const PRODUCTS = '/api/v2/products';

class Products extends Managed<typeof PRODUCTS> {
  /** Deletes a product. One that a market sells is deleted only with `evenIfSold`. */
  override delete(
    id: number,
    { signal, ...query }: CallOptions & ParametersOf<`DELETE ${typeof PRODUCTS}/{id}`> = {},
  ): Promise<void> {
    return this.remove(id, { signal, query });
  }
}

const TOKENS = '/api/v2/tokens';

class Tokens extends Managed<typeof TOKENS> {
  /** The token of this client: its name and permissions. */
  self({ signal }: CallOptions = {}): Promise<ResponseOf<`GET ${typeof TOKENS}/self`>> {
    return this.connection.read('GET', `${this.path}/self`, { signal }, hasList('intents'));
  }
}

const WEBHOOKS = '/api/v2/webhooks';

class Webhooks extends Managed<typeof WEBHOOKS> {
  /** Gives a webhook a new secret. Both sign for 24 hours. Another call makes another secret: it is not repeated. */
  rotateSecret(
    id: number,
    { signal, ifMatch }: UpdateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof WEBHOOKS}/{id}/rotate-secret`>> {
    const path = `${this.path}/${segmentOf(id)}/rotate-secret`;
    return this.connection.read('POST', path, { body: {}, signal, ifMatch });
  }

  /** Sends a test, and returns its outcome after at most about twenty seconds. */
  test(
    id: number,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`POST ${typeof WEBHOOKS}/{id}/test`>> {
    return this.connection.read('POST', `${this.path}/${segmentOf(id)}/test`, { body: {}, signal });
  }

  /** The deliveries to a webhook, newest first, to `list` or `iterate`. */
  deliveries(id: number) {
    return new List<`GET ${typeof WEBHOOKS}/{id}/deliveries`>(
      this.connection,
      `${this.path}/${segmentOf(id)}/deliveries`,
    );
  }

  /** Sends a delivery again, and returns its outcome like `test`. */
  resend(
    id: number,
    deliveryId: number,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`POST ${typeof WEBHOOKS}/{id}/deliveries/{deliveryId}/resend`>> {
    const path = `${this.path}/${segmentOf(id)}/deliveries/${segmentOf(deliveryId)}/resend`;
    return this.connection.read('POST', path, { body: {}, signal });
  }
}

const MARKETS = '/api/v2/markets';

class Markets extends Managed<typeof MARKETS> {
  /** The requests of a market, newest first, to `list` or `iterate`. */
  deliveries(id: number) {
    return new List<`GET ${typeof MARKETS}/{id}/deliveries`>(
      this.connection,
      `${this.path}/${segmentOf(id)}/deliveries`,
    );
  }
}

const PURCHASES = '/api/v2/purchases';

class Purchases extends Collection<typeof PURCHASES> {
  /** Enters a purchase from before, with its license. */
  create(
    body: BodyOf<`POST ${typeof PURCHASES}`>,
    { signal, idempotencyKey }: CreateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof PURCHASES}`>> {
    return this.connection.create(this.path, { body, signal, idempotencyKey });
  }

  /** Stores whether a purchase that waits for a product needs no license. */
  ignore(
    id: number,
    body: BodyOf<`POST ${typeof PURCHASES}/{id}/ignore`> = {},
    { signal, ifMatch }: UpdateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof PURCHASES}/{id}/ignore`>> {
    const path = `${this.path}/${segmentOf(id)}/ignore`;
    return this.connection.read('POST', path, { body, signal, ifMatch });
  }

  /** The sales of a period: the last 24 hours without one. */
  statistics(
    query: ParametersOf<`GET ${typeof PURCHASES}/statistics`> = {},
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`GET ${typeof PURCHASES}/statistics`>> {
    const areSales: Check = (body) => isObject(body) && 'sold' in body;
    return this.connection.read('GET', `${this.path}/statistics`, { query, signal }, areSales);
  }

  /** Gives a purchase a license: a new one of a product, or an existing one. */
  grant(
    id: number,
    body: BodyOf<`POST ${typeof PURCHASES}/{id}/grant`>,
    { signal, ifMatch }: UpdateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof PURCHASES}/{id}/grant`>> {
    const path = `${this.path}/${segmentOf(id)}/grant`;
    return this.connection.read('POST', path, { body, signal, ifMatch });
  }
}

const SETTINGS = '/api/v2/settings';

/** The settings of a name: read, or changed in part. */
class Settings<Path extends string> {
  readonly connection: Connection;
  readonly path: Path;
  /** Tells the settings from the response of another server. */
  readonly #areSettings: Check;

  /** @param field a field that these settings have */
  constructor(connection: Connection, path: Path, field: string) {
    this.connection = connection;
    this.path = path;
    this.#areSettings = (body) => isObject(body) && field in body;
  }

  get({ signal }: CallOptions = {}): Promise<ResponseOf<`GET ${Path}`>> {
    return this.connection.read('GET', this.path, { signal }, this.#areSettings);
  }

  /** Gets the settings with their tag, so that an `update` with `ifMatch` overwrites no other change. */
  async read({ signal }: CallOptions = {}): Promise<Tagged<ResponseOf<`GET ${Path}`>>> {
    const response = await this.connection.send('GET', this.path, { signal });
    const item = this.connection.parse<ResponseOf<`GET ${Path}`>>(response, this.#areSettings);
    return { item, etag: response.headers.get('ETag') ?? undefined };
  }

  /** Changes the given fields. */
  update(
    body: BodyOf<`PUT ${Path}`>,
    { signal, ifMatch }: UpdateOptions = {},
  ): Promise<ResponseOf<`PUT ${Path}`>> {
    return this.connection.read('PUT', this.path, { body, ifMatch, signal }, this.#areSettings);
  }
}

const DISCORD_SETTINGS = '/api/v2/settings/discord';

class DiscordSettings extends Settings<typeof DISCORD_SETTINGS> {
  /** Tests whether the bot can give the roles of the products. */
  test({ signal }: CallOptions = {}): Promise<ResponseOf<`POST ${typeof DISCORD_SETTINGS}/test`>> {
    const isTest: Check = (body) => isObject(body) && 'faults' in body;
    return this.connection.read('POST', `${DISCORD_SETTINGS}/test`, { signal }, isTest);
  }
}

const MAIL_SETTINGS = '/api/v2/settings/mail';

class MailSettings extends Settings<typeof MAIL_SETTINGS> {
  /** Composes a mail with made-up values, and sends nothing. Without `text` it has the stored texts. */
  preview(
    body: BodyOf<`POST ${typeof MAIL_SETTINGS}/preview`>,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`POST ${typeof MAIL_SETTINGS}/preview`>> {
    const isPreview: Check = (preview) => isObject(preview) && 'html' in preview;
    return this.connection.read('POST', `${MAIL_SETTINGS}/preview`, { body, signal }, isPreview);
  }
}

const MAILS = '/api/v2/mails';

class Mails extends List<`GET ${typeof MAILS}`> {
  /** Sends a test to an address, and returns its outcome. */
  test(
    body: BodyOf<`POST ${typeof MAILS}/test`>,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`POST ${typeof MAILS}/test`>> {
    return this.connection.read('POST', `${this.path}/test`, { body, signal });
  }

  /** Sends a mail again, once also if the request has to be repeated. */
  resend(
    id: number,
    { signal, idempotencyKey }: CreateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof MAILS}/{id}/resend`>> {
    const path = `${this.path}/${segmentOf(id)}/resend`;
    return this.connection.create(path, { body: {}, signal, idempotencyKey });
  }
}

const CUSTOMERS = '/api/v2/customers';

class Customers extends Managed<typeof CUSTOMERS> {
  /** All that is stored about a person. `cut` names the lists that are too long for it. */
  export(
    id: number,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`GET ${typeof CUSTOMERS}/{id}/export`>> {
    const path = `${this.path}/${segmentOf(id)}/export`;
    return this.connection.read('GET', path, { signal }, hasList('cut'));
  }
}

const LICENSES = '/api/v2/licenses';
/** Counting the total reads a row for each license. */
const WITHOUT_TOTAL = { total: false };

class Licenses extends Managed<typeof LICENSES> {
  /** Creates several licenses with the same fields, each with a key of its own: all of them or none. */
  createBatch(
    body: BodyOf<`POST ${typeof LICENSES}/batch`>,
    { signal, idempotencyKey }: CreateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof LICENSES}/batch`>> {
    return this.connection.create(`${this.path}/batch`, { body, signal, idempotencyKey }, isList);
  }

  /** Gives a license a new key once, also if the request has to be sent again. The replaced key is unknown from then on. */
  rotate(
    id: number,
    { signal, idempotencyKey, ifMatch }: CreateOptions & UpdateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof LICENSES}/{id}/rotate`>> {
    const call = { body: {}, signal, idempotencyKey, ifMatch };
    return this.connection.create(this.#pathOf(id, 'rotate'), call);
  }

  /** Gives a license another owner, free slots and a new key, once like `rotate`. */
  transfer(
    id: number,
    owner: BodyOf<`POST ${typeof LICENSES}/{id}/transfer`>,
    { signal, idempotencyKey, ifMatch }: CreateOptions & UpdateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof LICENSES}/{id}/transfer`>> {
    const call = { body: owner, signal, idempotencyKey, ifMatch };
    return this.connection.create(this.#pathOf(id, 'transfer'), call);
  }

  /** Sends the key to the owner's e-mail, once like `rotate`. Returns the mail, which may still wait. */
  sendKey(
    id: number,
    { signal, idempotencyKey }: CreateOptions = {},
  ): Promise<ResponseOf<`POST ${typeof LICENSES}/{id}/send-key`>> {
    return this.connection.create(this.#pathOf(id, 'send-key'), {
      body: {},
      signal,
      idempotencyKey,
    });
  }

  /** Finds the license with a key, ignoring case. @throws LicetError 404 if there is none, and for a replaced key */
  findByKey(
    licenseKey: string,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`GET ${typeof LICENSES}/by-license-key/{licenseKey}`>> {
    return this.connection.read('GET', this.#pathOf('by-license-key', licenseKey), { signal });
  }

  /** The installations of a license, the most recently seen first, to `list` or `iterate`. */
  installations(id: number) {
    return new List<`GET ${typeof LICENSES}/{id}/installations`>(
      this.connection,
      this.#pathOf(id, 'installations'),
    );
  }

  /** The bound values of a license in the order in which they were bound, each with its last use. */
  slots(
    id: number,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<`GET ${typeof LICENSES}/{id}/slots`>> {
    const areSlots: Check = (body) =>
      Array.isArray(body) && body.every((each) => isObject(each) && 'lastUsed' in each);
    return this.connection.read('GET', this.#pathOf(id, 'slots'), { signal }, areSlots);
  }

  /** The licenses of the customer with an e-mail, to `list` or `iterate`. */
  byCustomerEmail(email: string) {
    return this.#by<`GET ${typeof LICENSES}/by-customer-email/{email}`>('by-customer-email', email);
  }

  /** The licenses of an owner on a platform, to `list` or `iterate`. */
  byPlatform(platform: LicensePlatform, platformId: string) {
    return this.#by<`GET ${typeof LICENSES}/by-platform/{platform}/{platformId}`>(
      'by-platform',
      platform,
      platformId,
    );
  }

  /** The licenses of a customer, to `list` or `iterate`. */
  byCustomerId(id: number) {
    return this.#by<`GET ${typeof LICENSES}/by-customer-id/{customerId}`>('by-customer-id', id);
  }

  /** The licenses for a product, to `list` or `iterate`. */
  byProductId(id: number) {
    return this.#by<`GET ${typeof LICENSES}/by-product-id/{productId}`>('by-product-id', id);
  }

  /** The licenses of an owner at Discord, to `list` or `iterate`. */
  byChatId(chatId: string) {
    return this.#by<`GET ${typeof LICENSES}/by-chat-id/{chatId}`>('by-chat-id', chatId);
  }

  #by<Key extends string>(...parts: (string | number)[]): List<Key> {
    return new List<Key>(this.connection, this.#pathOf(...parts), WITHOUT_TOTAL);
  }

  #pathOf(...parts: (string | number)[]): string {
    return [this.path, ...parts.map(segmentOf)].join('/');
  }
}

/**
 * A client of a Licet service. Each resource has `list`, `iterate` and `get`, and where the service supports
 * them `create`, `update`, `change` and `delete`. Only `create`, `change` and the like send a request again. A rejected
 * request, a missing response, and a response that is not from Licet throw `LicetError`.
 */
export class Licet {
  readonly products: Products;
  readonly licenses: Licenses;
  readonly blacklists: Managed<'/api/v2/blacklists'>;
  readonly requests: Collection<'/api/v2/requests'>;
  /** `delete` forgets a customer. */
  readonly customers: Customers;
  readonly tokens: Tokens;
  readonly webhooks: Webhooks;
  readonly markets: Markets;
  readonly purchases: Purchases;
  /** How the customer's page shows the seller. */
  readonly portalSettings: Settings<`${typeof SETTINGS}/portal`>;
  /** The application at Discord. */
  readonly discordSettings: DiscordSettings;
  /** The texts, switches and sender of mails to customers. */
  readonly mailSettings: MailSettings;
  /** Mails to customers. */
  readonly mails: Mails;
  /** Has only `list` and `iterate`. */
  readonly events: List<'GET /api/v2/events'>;
  readonly #connection: Connection;

  /** @throws TypeError for an invalid url or token */
  constructor(options: LicetOptions) {
    const connection = new Connection(options);
    this.#connection = connection;
    this.products = new Products(connection, PRODUCTS);
    this.licenses = new Licenses(connection, LICENSES, WITHOUT_TOTAL);
    this.blacklists = new Managed(connection, '/api/v2/blacklists');
    this.requests = new Collection(connection, '/api/v2/requests');
    this.customers = new Customers(connection, CUSTOMERS);
    this.tokens = new Tokens(connection, TOKENS);
    this.webhooks = new Webhooks(connection, WEBHOOKS);
    this.markets = new Markets(connection, MARKETS);
    this.purchases = new Purchases(connection, PURCHASES);
    this.portalSettings = new Settings(connection, `${SETTINGS}/portal`, 'contact');
    this.discordSettings = new DiscordSettings(connection, DISCORD_SETTINGS, 'hasBotToken');
    this.mailSettings = new MailSettings(connection, MAIL_SETTINGS, 'kinds');
    this.mails = new Mails(connection, MAILS);
    this.events = new List(connection, '/api/v2/events');
  }

  /** Makes a link that opens the page of a customer once, within `validMinutes`: a day by default. */
  portalLink(
    body: BodyOf<'POST /api/v2/portal-links'>,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<'POST /api/v2/portal-links'>> {
    const isLink: Check = (link) => isObject(link) && 'url' in link;
    return this.#connection.read('POST', '/api/v2/portal-links', { body, signal }, isLink);
  }

  /**
   * Validates a license like a program, without the token. Returns a rejection; throws if nothing was decided
   * (429, 503, no response), and with `signingKeys` also if the response is not signed for this request.
   * `takeOver` in the request moves the license here, if a person asks for it.
   */
  validate(
    request: ValidationRequest,
    { signal, signingKeys }: ValidateOptions = {},
  ): Promise<Validation> {
    const call = { isGuarded: false, signal };
    return this.#validate('/api/v1/validate', request, call, signingKeys);
  }

  /** The same with the token: needs `LICENSE_VALIDATE` or `ALL_READ_WRITE`. */
  validateWithToken(
    request: ValidationRequest,
    { signal, signingKeys }: ValidateOptions = {},
  ): Promise<Validation> {
    return this.#validate('/api/v2/validate', request, { signal }, signingKeys);
  }

  async #validate(
    path: string,
    request: ValidationRequest,
    call: Call,
    signingKeys: readonly SigningKey[] | undefined,
  ): Promise<Validation> {
    if (!signingKeys) {
      const { response, body } = await this.#ask(path, { ...call, body: request });
      // The request was invalid: that is no decision on the license.
      if (response.headers.has('Error-Code')) this.#connection.fail(response);
      return { ...body, ...UNSIGNED };
    }
    if (crypto.subtle === undefined) throw new TypeError('signingKeys needs a page of https');
    const keys = signingKeys.map(pinKey);
    for (const [index, key] of keys.entries()) {
      const nonce = newNonce();
      const signedCall = { ...call, body: { ...request, nonce, kid: key.kid } };
      const { response, body } = await this.#ask(path, signedCall);
      try {
        return { ...body, ...(await verifyResponse(body, request, nonce, key)) };
      } catch (cause) {
        // The service may no longer have this key: that response is unsigned.
        const mayBeRetired = response.status === 400 && body.signed === undefined;
        if (!mayBeRetired || index === keys.length - 1) {
          throw this.#connection.notSigned(response, key, cause, body.message);
        }
      }
    }
    throw new TypeError('signingKeys has no key');
  }

  async #ask(path: string, call: Call) {
    // A second validation of a program binds nothing more.
    const response = await this.#connection.exchange('POST', path, { ...call, isRepeatable: true });
    if (![200, 400].includes(response.status)) this.#connection.fail(response);
    const isValid = response.status === 200;
    // A response from another server must not make a license valid.
    const isDue: Check = (body) => isObject(body) && 'valid' in body && body.valid === isValid;
    return {
      response,
      body: this.#connection.parse<ValidResponse | InvalidResponse>(response, isDue),
    };
  }

  /** Counts validations, licenses and installations; without a query those of the last 24 hours. */
  statistics(
    query?: ParametersOf<'GET /api/v2/statistics'>,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<'GET /api/v2/statistics'>> {
    const call = { query, signal };
    return this.#connection.read('GET', '/api/v2/statistics', call, hasList('series'));
  }

  /** Imports up to 200 items of another service. Existing items are not overwritten. */
  importItems(
    request: BodyOf<'POST /api/v2/import'>,
    { signal }: CallOptions = {},
  ): Promise<ResponseOf<'POST /api/v2/import'>> {
    const call = { body: request, signal };
    return this.#connection.read('POST', '/api/v2/import', call, hasList('results'));
  }

  /** The public keys of signed responses. Needs no token. A program has them built in instead. */
  signingKeys({ signal }: CallOptions = {}): Promise<ResponseOf<'GET /.well-known/jwks.json'>> {
    const call = { isGuarded: false, signal };
    return this.#connection.read('GET', '/.well-known/jwks.json', call, hasList('keys'));
  }

  /** The number of installations that ask for each signing key. */
  signingKeyUses({ signal }: CallOptions = {}): Promise<ResponseOf<'GET /api/v2/signing-keys'>> {
    const isUses: Check = (body) =>
      Array.isArray(body) && body.every((each) => isObject(each) && 'kid' in each);
    return this.#connection.read('GET', '/api/v2/signing-keys', { signal }, isUses);
  }

  /** Succeeds if the service responds. Needs no token. */
  async healthy({ signal }: CallOptions = {}): Promise<void> {
    await this.#expect('/api/v2/healthy', 'healthy', { isGuarded: false, signal });
  }

  /** Succeeds if the token is valid. */
  async ping({ signal }: CallOptions = {}): Promise<void> {
    await this.#expect('/api/v2/ping', 'pong', { signal });
  }

  /** The metrics for Prometheus, in its text format. */
  async metrics({ signal }: CallOptions = {}): Promise<string> {
    const response = await this.#connection.send('GET', '/metrics', { signal });
    if (!response.text.startsWith('# HELP ')) throw this.#connection.notLicet(response);
    return response.text;
  }

  /** The platforms that can have a label for people (`PLATFORM_LABELS`), with it or with their name. */
  platforms({ signal }: CallOptions = {}): Promise<ResponseOf<'GET /api/v2/platforms'>> {
    return this.#connection.read('GET', '/api/v2/platforms', { signal }, areLabels);
  }

  /** Gets the address of the service for others. `isPublic` is false if only its machine or network can open it. */
  address({ signal }: CallOptions = {}): Promise<ResponseOf<'GET /api/v2/address'>> {
    const isAddress: Check = (body) => isObject(body) && 'url' in body;
    return this.#connection.read('GET', '/api/v2/address', { signal }, isAddress);
  }

  async #expect(path: string, text: string, call: Call): Promise<void> {
    const response = await this.#connection.send('GET', path, call);
    if (response.text !== text) throw this.#connection.notLicet(response);
  }
}
