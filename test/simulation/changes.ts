import { EXPIRES_LATER } from '../../src/resources/licenses/rules.ts';
import { blockedName, SELF_RESETS } from './truth.ts';

/** The changes that administrators make, as a table. */

/** Numbers in it are modulo the length of the list. */
export const at = <Item>(items: readonly Item[], number: number): Item | undefined =>
  items[number % items.length];

/** Resources that were created, the oldest first. */
export interface Item {
  id: number;
  /** A license key or a token. */
  secret: string;
  productId: number | null;
  /** The field of the blacklist's state. */
  blockedName: string;
}
export type Items = Record<'products' | 'licenses' | 'tokens' | 'blacklists', Item[]>;

/** A request, and the fields that it sets in the state of its subject: see `AdminTask`. */
export interface AdminRequest {
  method: 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: object;
  subject: string | null;
  wanted: Readonly<Record<string, unknown>>;
}

/** @returns undefined if there is nothing to change */
export type MakeRequest = (
  items: Items,
  target: number,
  value: number,
  now: number,
) => AdminRequest | undefined;

const LIMITS = [-1, 0, 1, 1, 2, 2, 3];
const LIVES_SECONDS = [0, 20, 70, 200];
/** Limits of new licenses, for addresses and hardware IDs. */
const KINDS = [
  [1, 1],
  [2, -1],
  [3, -1],
  [0, 2],
] as const;
/** The first two block the first two addresses. */
const BLOCKED = [
  ['IP', '192.0.2.1'],
  ['IP', '192.0.2.0/24'],
  ['IP', '198.51.100.0/24'],
  ['IP', '2001:db8::/32'],
  ['HWID', 'HW-A'],
  ['HWID', 'HW-B'],
] as const;

type Change = Pick<AdminRequest, 'body' | 'wanted'>;

/** A PUT of the license or token with a number. */
const put =
  (kind: 'license' | 'token', change: (value: number, now: number) => Change): MakeRequest =>
  (items, target, value, now) => {
    const item = at(items[`${kind}s`], target);
    if (!item) return undefined;
    const [subject, path] = [`${kind} ${item.id}`, `/${kind}s/${item.id}`];
    return { method: 'PUT', path, subject, ...change(value, now) };
  };

/** A body whose fields are those of the state. */
const same = (fields: Change['wanted']): Change => ({ body: fields, wanted: fields });

const remove =
  (kind: 'license' | 'token', wanted: Change['wanted']): MakeRequest =>
  (items, target) => {
    const item = at(items[`${kind}s`], target);
    if (!item) return undefined;
    const [subject, path] = [`${kind} ${item.id}`, `/${kind}s/${item.id}`];
    return { method: 'DELETE', path, subject, wanted };
  };

const create = (path: string, body: object): AdminRequest => ({
  method: 'POST',
  path,
  body,
  subject: null,
  wanted: {},
});

export const CHANGES = {
  'create a product': (_, target) => {
    const body = { name: `Product ${target}`, productType: 'OTHER' };
    // The slots of one product can be idle.
    const idleDays = target === 1 ? 1 : null;
    const idle = { ipIdleDays: idleDays, hwidIdleDays: idleDays };
    const limits = { defaultMaxIPs: 2, defaultMaxHWIDs: 2, selfResets: SELF_RESETS };
    return create('/products', { ...body, ...idle, ...limits });
  },
  'create a license': ({ products }, target, value) => {
    const [maxIPs, maxHWIDs] = at(KINDS, value) ?? [];
    const productId = at(products, target)?.id;
    return create('/licenses', { productId, licenseType: 'PERMANENT', maxIPs, maxHWIDs });
  },
  activate: put('license', () => ({
    body: { licenseStatus: 'ACTIVE' },
    wanted: { state: 'ACTIVE' },
  })),
  deactivate: put('license', () => ({
    body: { licenseStatus: 'DEACTIVATED' },
    wanted: { state: 'DEACTIVATED' },
  })),
  /** The license becomes active and permanent, for up to three addresses. */
  restore: put('license', () => ({
    body: { licenseStatus: 'ACTIVE', licenseType: 'PERMANENT', maxIPs: 3 },
    wanted: { state: 'ACTIVE', expiresAt: null, expiresAfterDays: null, maxIPs: 3 },
  })),
  expire: put('license', (value, now) => {
    const expiresAt = now + 1_000 * (at(LIVES_SECONDS, value) ?? 0);
    const expiryDate = new Date(expiresAt).toISOString();
    const wanted = { expiresAt, expiresAfterDays: null };
    return { body: { licenseType: 'TEMPORARY', expiryDate }, wanted };
  }),
  'expire later': put('license', () => ({
    body: { licenseType: 'TEMPORARY', expiresAfterDays: 1 },
    wanted: { expiresAt: EXPIRES_LATER, expiresAfterDays: 1 },
  })),
  'limit IPs': put('license', (value) => same({ maxIPs: at(LIMITS, value) })),
  'limit HWIDs': put('license', (value) => same({ maxHWIDs: at(LIMITS, value) })),
  'free IPs': put('license', () => same({ ips: [] })),
  'free HWIDs': put('license', () => same({ hwids: [] })),
  'delete a license': remove('license', { state: 'DELETED' }),
  block: ({ products }, target, value) => {
    const [licenseDataType, data] = at(BLOCKED, value) ?? BLOCKED[0];
    // For all products, or for one.
    const productId = at([null, null, ...products.map(({ id }) => id)], target) ?? null;
    const body = { licenseDataType, data, productId, isForAllProducts: productId === null };
    const wanted = { [blockedName(licenseDataType, data, productId)]: true };
    const request = create('/blacklists', { ...body, reason: 'Leaked' });
    return { ...request, subject: 'blacklist', wanted };
  },
  unblock: ({ blacklists }, target) => {
    const entry = at(blacklists, target);
    if (!entry) return undefined;
    const wanted = { [entry.blockedName]: undefined };
    return { method: 'DELETE', path: `/blacklists/${entry.id}`, subject: 'blacklist', wanted };
  },
  'create a token': () => create('/tokens', { name: 'Panel', intents: ['LICENSE_VALIDATE'] }),
  'change a token': put('token', (value) =>
    same({ intents: [value % 2 === 0 ? 'LICENSE_VALIDATE' : 'PRODUCTS_READ'] }),
  ),
  'revoke a token': remove('token', { isRevoked: true }),
} satisfies Record<string, MakeRequest>;

export type ChangeName = keyof typeof CHANGES;
