import { parseObject, secondsAt, textAt } from '../json.ts';
import type { Accepted, Adapter, Grant, Incoming } from '../notice.ts';
import { isSecret } from '../signature.ts';

/**
 * BuiltByBit: the placeholder "External license key", a form at each download whose response goes into the file, and
 * the webhook of a purchase, whose body the seller writes after our template. Neither is signed; both hold a secret.
 */

type Fields = Readonly<Record<string, unknown>>;

/** BuiltByBit sends `"0"`, `"none"` or nothing for an id that there is not. */
function idAt(fields: Fields, name: string): string | null {
  const id = textAt(fields, name);
  return id === '0' || id === 'none' || id === 'null' ? null : id;
}

async function fieldsOf({ bytes, text, headers }: Incoming): Promise<Fields | undefined> {
  const type = headers.get('Content-Type') ?? '';
  if (!/^\s*(multipart\/form-data|application\/x-www-form-urlencoded)/i.test(type)) {
    return parseObject(text) ?? (text.includes('=') ? fromQuery(text) : undefined);
  }
  if (!/multipart/i.test(type)) return fromQuery(text);
  try {
    const form = await new Response(bytes, { headers: { 'Content-Type': type } }).formData();
    return Object.fromEntries(form);
  } catch {
    return undefined;
  }
}

const fromQuery = (text: string): Fields => Object.fromEntries(new URLSearchParams(text));

export const builtbybit: Adapter = async (incoming, { secrets }) => {
  const fields = await fieldsOf(incoming);
  if (!fields) return { status: 400, why: 'The body is neither a form nor JSON' };
  const secret = textAt(fields, 'secret');
  if (secret === null) return { status: 401, why: 'The body has no secret' };
  if (!(await isSecret(secrets, secret))) return { status: 401, why: 'The secret is wrong' };

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
};
