import type { Event } from '@licet/client';
import { isObject } from '@licet/client/connection';
import { isGlobal } from '@licet/contract/addresses';
import { connection, hasStatus } from '../../api.ts';
import type { Right } from '../../session.ts';

/** Restoring what an event has changed. */

const MAX_ATTEMPTS = 5;
/** An event shortens longer text, and keeps no more values of a list. */
const MAX_TEXT_LENGTH = 500;
const MAX_VALUES = 100;

const PATHS = {
  product: 'products',
  license: 'licenses',
  customer: 'customers',
  blacklist: 'blacklists',
  token: 'tokens',
  webhook: 'webhooks',
  market: 'markets',
  purchase: undefined,
  session: undefined,
  settings: undefined,
  mail: undefined,
} as const;

const RIGHTS: Readonly<Record<Event['resourceType'], Right>> = {
  product: 'writeProducts',
  license: 'writeLicenses',
  customer: 'everything',
  blacklist: 'writeBlacklists',
  token: 'everything',
  webhook: 'everything',
  market: 'everything',
  purchase: 'writePurchases',
  session: 'everything',
  settings: 'everything',
  mail: 'everything',
};

/** The right to restore the object of an event. */
export const rightTo = ({ resourceType }: Event): Right => RIGHTS[resourceType];

type Change = NonNullable<Event['changes']>[string];

/** Whether an event has a value as a whole. */
const isWhole = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length <= MAX_VALUES && value.every(isWhole)
    : typeof value !== 'string' || value.length <= MAX_TEXT_LENGTH;

/** Whether a value is the address of a channel, which is shown without its token. */
const isMasked = (value: unknown): boolean => typeof value === 'string' && value.endsWith('/***');

/** Whether the values before an event can be restored. */
export function isRestorable({ type, resourceType, resourceId, changes }: Event): boolean {
  if (resourceId === null || changes === null || !PATHS[resourceType]) return false;
  if (type === 'blacklist.created') return true;
  const isChange = /\.(?:updated|slots_freed|redeemed)$/.test(type) || type === 'license.deleted';
  if (!isChange && type !== 'blacklist.deleted') return false;
  // Neither value was kept of a secret, and of a person who was forgotten.
  return Object.values(changes).every(
    ({ before, after }) =>
      isWhole(before) && !isMasked(before) && (before !== null || after !== null),
  );
}

/** A field that somebody has changed since an event. */
export interface Overtaken {
  field: string;
  value: unknown;
}

/** The value of a field, as events have it. */
function storedValue(item: object, field: string): unknown {
  const values = new Map<string, unknown>(Object.entries(item));
  if (field === 'customerId') {
    const customer = values.get('customer');
    return isObject(customer) && 'id' in customer ? customer.id : null;
  }
  const value = values.get(field) ?? null;
  // An event has no value for metadata without a name.
  return field === 'metadata' && value !== null && Object.keys(value).length === 0 ? null : value;
}

/** A value as an event has it: longer text is cut. */
const shortened = (value: unknown): unknown =>
  isWhole(value) || typeof value !== 'string'
    ? value
    : `${value.slice(0, MAX_TEXT_LENGTH)}…`.toWellFormed();

/** Whether a stored value is that of an event. In the database an expired license is an active one. */
const isSame = (stored: unknown, known: unknown): boolean =>
  JSON.stringify(shortened(stored)) === JSON.stringify(known) ||
  [stored, known].every((value) => value === 'ACTIVE' || value === 'EXPIRED');

/** The bound values of a license. Others can have been bound since, and the event of a long list does not have them. */
const SLOTS = ['ips', 'hwids'];

/** Whether the values of a field that were added since an event stay. */
export const isKept = (field: string): boolean => SLOTS.includes(field);

/** The values to restore: those before the event, and of slots also those that were bound since. */
function restored(field: string, { before, after }: Change, now: unknown): unknown {
  if (!isKept(field) || !Array.isArray(before) || !Array.isArray(now)) return before;
  const known = [...before, ...(Array.isArray(after) ? after : [])];
  // The service binds no new address that identifies no machine.
  const bindable = before.filter(
    (value) => field !== 'ips' || now.includes(value) || isGlobal(String(value)),
  );
  return [...bindable, ...now.filter((value) => !known.includes(value))];
}

const tagOf = ({ headers }: { headers: Headers }): string | undefined =>
  headers.get('ETag') ?? undefined;

/** The outcome of a restoration. */
interface Restoration {
  /** The fields that somebody has changed since the event: then nothing was put back. */
  overtaken: readonly Overtaken[];
  /** The fields that have other values now. */
  values: Readonly<Record<string, unknown>>;
  /** Undoes it, unless somebody has changed the object since. */
  undo: () => Promise<unknown>;
}

/** Puts the values before an event back, unless somebody has changed its fields since. */
export async function putBack(
  { type, resourceType, resourceId, changes }: Event,
  { isForced = false } = {},
): Promise<Restoration> {
  const collection = `/api/v2/${PATHS[resourceType]}`;
  const path = `${collection}/${resourceId}`;
  const fields = Object.entries(changes ?? {});
  const valuesOf = (side: 'before' | 'after') =>
    Object.fromEntries(fields.map(([field, change]) => [field, change[side]]));
  /** Creates an entry of the blacklist; its undo deletes it. */
  const create = async (values: Record<string, unknown>): Promise<Restoration> => {
    const isForAllProducts = values.isForAllProducts ?? values.productId == null;
    const body = { ...values, isForAllProducts };
    const { id } = await connection.create<{ id: number }>(collection, { body });
    const made = `${collection}/${id}`;
    const ifMatch = tagOf(await connection.send('GET', made));
    const undo = () => connection.send('DELETE', made, { ifMatch });
    return { overtaken: [], values: { data: values.data }, undo };
  };
  if (type === 'blacklist.deleted') return create(valuesOf('before'));
  for (let attempt = 1; ; attempt++) {
    const response = await connection.send('GET', path);
    const item = connection.parse<object>(response, isObject);
    const ifMatch = tagOf(response);
    const overtaken = fields.flatMap(([field, { after }]) => {
      const value = storedValue(item, field);
      return isSame(value, after ?? null) ? [] : [{ field, value }];
    });
    if (overtaken.length > 0 && !isForced) return { overtaken, values: {}, undo: async () => {} };
    try {
      if (type === 'blacklist.created') {
        await connection.send('DELETE', path, { ifMatch });
        const values = { data: storedValue(item, 'data') };
        return { overtaken: [], values, undo: () => create(valuesOf('after')) };
      }
      const values = Object.fromEntries(
        fields.map(([field, change]) => [field, restored(field, change, storedValue(item, field))]),
      );
      const old = fields.map(([field]) => {
        const value = storedValue(item, field);
        return [field, value === 'EXPIRED' ? 'ACTIVE' : value];
      });
      const written = tagOf(await connection.send('PUT', path, { body: values, ifMatch }));
      const body = Object.fromEntries(old);
      const undo = () => connection.send('PUT', path, { body, ifMatch: written });
      return { overtaken: [], values, undo };
    } catch (error) {
      if (!hasStatus(error, 412) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
