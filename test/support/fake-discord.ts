import { env } from 'cloudflare:workers';
import { type Isolate, newIsolate, type TestBindings } from './app.ts';
import { call, type ReadResponse } from './client.ts';

/** A Discord of our own: it signs interactions, keeps roles, and misbehaves on request. */

export const APPLICATION = '1100000000000000001';
export const GUILD = '1100000000000000002';
export const ADMIN_ROLE = '1100000000000000003';
export const ADA = { id: '2200000000000000001', username: 'ada' };
export const EVE = { id: '2200000000000000002', username: 'eve' };

const EDIT = new RegExp(`/webhooks/${APPLICATION}/interaction-token-(\\w+)/messages/@original$`);
const DEFERRED = 5;

const encoder = new TextEncoder();
let interactions = 0;

interface Member {
  user?: { id: string; username: string };
  roles?: string[];
  permissions?: string;
}

interface Sent {
  type?: number;
  name?: string;
  /** Of a button. */
  customId?: string;
  options?: Record<string, string | number>;
  /** For a command with subcommands. */
  subcommand?: string;
  focused?: string;
  member?: Member;
  id?: string;
  guild?: string | null;
  application?: string;
}

export interface Answer {
  status: number;
  /** The response itself, where `content` and `json` have the message of a later edit. */
  first: object;
  type: number | undefined;
  content: string;
  json: {
    data?: {
      content?: string;
      components?: { components: { url?: string; custom_id?: string }[] }[];
      flags?: number;
      choices?: { name: string; value: string }[];
    };
  };
}

/** The messages into which deferred responses were edited, by the ids of their interactions: an isolate can be another's. */
const editedMessages = new Map<string, Answer['json']['data']>();

export class FakeDiscord {
  readonly isolate: Isolate;
  readonly roles = new Map<string, Set<string>>();
  /** Apart from the edits of deferred responses: a command on a busy machine is deferred. */
  readonly requests: { method: string; url: string; authorization: string | null; body: string }[] =
    [];
  /** Responds in the place of Discord. */
  fault: (() => Response | Promise<Response>) | undefined;
  #keys: CryptoKeyPair | undefined;
  readonly #bindings: TestBindings;

  constructor(bindings: TestBindings = {}) {
    this.#bindings = {
      OUTBOUND: { fetch: (...sent) => this.#receive(new Request(...sent)) },
      ...bindings,
    };
    this.isolate = newIsolate({ ...env, ...this.#bindings });
  }

  newIsolate(): Isolate {
    return newIsolate({ ...env, ...this.#bindings });
  }

  async #receive(request: Request): Promise<Response> {
    const { method, url, headers } = request;
    const body = await request.text();
    const [, edited] = EDIT.exec(url) ?? [];
    if (method === 'PATCH' && edited !== undefined) {
      editedMessages.set(edited, JSON.parse(body));
      return new Response(null, { status: 204 });
    }
    this.requests.push({ method, url, authorization: headers.get('Authorization'), body });
    if (this.fault) return this.fault();
    const [, user = '', role = ''] = /members\/(\d+)\/roles\/(\d+)$/.exec(url) ?? [];
    const held = this.roles.get(user) ?? new Set();
    this.roles.set(user, held);
    if (method === 'PUT') held.add(role);
    if (method === 'DELETE') held.delete(role);
    return new Response(null, { status: 204 });
  }

  async publicKey(): Promise<string> {
    const raw = await crypto.subtle.exportKey('raw', (await this.#pair()).publicKey);
    if (!(raw instanceof ArrayBuffer)) throw new Error('The key is not raw');
    return new Uint8Array(raw).toHex();
  }

  async #pair(): Promise<CryptoKeyPair> {
    if (this.#keys) return this.#keys;
    const keys = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    if (!('privateKey' in keys)) throw new Error('Ed25519 has pairs of keys');
    this.#keys = keys;
    return keys;
  }

  /** Enters the settings at the service. */
  async setUp(fields: object = {}): Promise<void> {
    const body = {
      applicationId: APPLICATION,
      publicKey: await this.publicKey(),
      guildId: GUILD,
      adminRoleId: ADMIN_ROLE,
      botToken: null,
      ...fields,
    };
    const { status, text } = await call('PUT', '/api/v2/settings/discord', { body });
    if (status !== 200) throw new Error(text);
  }

  async sign(timestamp: string, body: string): Promise<string> {
    const message = encoder.encode(timestamp + body);
    const signature = await crypto.subtle.sign('Ed25519', (await this.#pair()).privateKey, message);
    return new Uint8Array(signature).toHex();
  }

  /** Sends a body with its signature. */
  async post(
    body: string,
    headers: Record<string, string> = {},
    isolate = this.isolate,
  ): Promise<ReadResponse> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    return isolate.call('POST', '/discord/interactions', {
      body,
      token: null,
      headers: {
        'Content-Type': 'application/json',
        'X-Signature-Timestamp': timestamp,
        'X-Signature-Ed25519': await this.sign(headers['X-Signature-Timestamp'] ?? timestamp, body),
        ...headers,
      },
    });
  }

  body({
    type = 2,
    name,
    customId,
    options = {},
    subcommand,
    focused,
    member = {},
    id = String(++interactions),
    guild = GUILD,
    application = APPLICATION,
  }: Sent): string {
    const { user = ADA, roles = [], permissions = '0' } = member;
    const given = Object.entries(options).map(([key, value]) => ({
      name: key,
      type: 3,
      value,
      ...(focused === key && { focused: true }),
    }));
    const shown = subcommand ? [{ name: subcommand, type: 1, options: given }] : given;
    return JSON.stringify({
      id,
      application_id: application,
      type,
      token: `interaction-token-${id}`,
      version: 1,
      ...(guild === null ? { user } : { guild_id: guild, member: { user, roles, permissions } }),
      data: customId
        ? { custom_id: customId, component_type: 2 }
        : { id: '1', name, type: 1, options: shown },
    });
  }

  /**
   * Sends a command, a button or an autocomplete.
   *
   * @returns the response, with the message into which it was edited if it was deferred
   */
  async send(
    { id = String(++interactions), ...sent }: Sent,
    isolate = this.isolate,
  ): Promise<Answer> {
    const { status, json } = await this.post(this.body({ ...sent, id }), {}, isolate);
    const response: Answer['json'] & { type?: number } = Object(json);
    // A call ends with all that follows its response.
    const data = response.type === DEFERRED ? editedMessages.get(id) : response.data;
    return {
      status,
      type: response.type,
      content: data?.content ?? '',
      json: { ...response, ...(data && { data }) },
      first: response,
    };
  }
}
