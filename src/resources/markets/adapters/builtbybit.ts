import type { Incoming } from '../incoming.ts';
import { type Json, secondsAt, textAt } from '../json.ts';
import type { Accepted, Adapter, Grant, MarketSettings, Rejection } from '../notice.ts';
import { isSecret } from '../signature.ts';

/**
 * BuiltByBit: the placeholder "External license key", a form at each download whose response goes into the file, and
 * the webhook of a purchase, whose body the seller writes after our template. Neither is signed; both hold a secret.
 */

/** BuiltByBit sends 15 short fields. Anybody can guess the old address, and the secret is a field of the body. */
const MAX_BYTES = 16 * 1024;

const UNREADABLE: Rejection = { status: 400, why: 'The body is neither a form nor JSON' };

/** BuiltByBit sends `"0"`, `"none"` or nothing for an id that there is not. */
function idAt(fields: Json, name: string): string | null {
  const id = textAt(fields, name);
  return id === '0' || id === 'none' || id === 'null' ? null : id;
}

async function authenticate(
  incoming: Incoming,
  { secrets }: MarketSettings,
): Promise<Rejection | undefined> {
  const fields = await incoming.fields();
  if (!fields) return UNREADABLE;
  const secret = textAt(fields, 'secret');
  if (secret === null) return { status: 401, why: 'The body has no secret' };
  return (await isSecret(secrets, secret))
    ? undefined
    : { status: 401, why: 'The secret is wrong' };
}

async function read(incoming: Incoming): Promise<Accepted | Rejection> {
  const fields = await incoming.fields();
  if (!fields) return UNREADABLE;
  const isDownload = textAt(fields, 'builtbybit') !== null;
  const type = isDownload ? 'placeholder' : 'purchase';
  const resource = idAt(fields, 'resource_id');
  const addon = idAt(fields, 'addon_id');
  const item = addon === null ? resource : `addon-${addon}`;
  const buyerId = idAt(fields, 'user_id');
  if (item === null) return { status: 400, why: 'The body has no resource_id' };
  if (buyerId === null) return { status: 400, why: 'The body has no user_id' };
  const grant: Grant = {
    do: 'grant',
    item,
    reference: buyerId,
    order: null,
    buyer: { id: buyerId, name: textAt(fields, 'username'), email: null },
    quantity: 1,
    isTest: false,
    boughtAt: isDownload ? null : secondsAt(fields, 'purchase_date'),
    paidUntil: null,
    ...(!isDownload && { renews: true }),
  };
  const accepted: Accepted = { eventId: null, type, notices: [grant] };
  if (!isDownload) return accepted;
  return {
    ...accepted,
    needsKey: true,
    respond: (keys) => ({ body: keys.join('\n'), contentType: 'text/plain; charset=utf-8' }),
  };
}

export const builtbybit: Adapter = { maxBytes: MAX_BYTES, authenticate, read };
