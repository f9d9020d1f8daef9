import type { Incoming } from '../incoming.ts';
import { type Json, listAt, numberAt, secondsAt, textAt, valueAt } from '../json.ts';
import {
  type Accepted,
  type Adapter,
  type Grant,
  LISTS_TOO_MANY,
  type ListedPurchases,
  type Listing,
  listedKey,
  type MarketSettings,
  type Rejection,
} from '../notice.ts';
import { fetchJson, isWrongToken } from '../outgoing.ts';
import { decimalPrice } from '../price.ts';
import { isSecret, WRONG_SECRET } from '../signature.ts';

/**
 * BuiltByBit: the placeholder "External license key", and the webhook of a purchase. The placeholder sends a form at each
 * download, and the response goes into the file. The seller writes the body of the webhook after the template of the guide.
 * Neither is signed; both hold a secret.
 */

/** BuiltByBit sends 15 short fields. Anybody can guess the old address, and the secret is a field of the body. */
const MAX_BYTES = 16 * 1024;

const UNREADABLE: Rejection = { status: 400, why: 'The body is neither a form nor JSON' };

/** A field that BuiltByBit did not fill in: its test sends the template as it is. */
const isUnfilled = (text: string | null): boolean => /^\{\w+\}$/.test(text ?? '');
const IS_TEST = 'A test, whose fields are not filled in: it changes no purchase';

/** An id. BuiltByBit sends `"0"`, `"none"` or nothing for a missing one. */
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
  return (await isSecret(secrets, secret)) ? undefined : { status: 401, why: WRONG_SECRET };
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
  if (!isDownload && [resource, addon, buyerId].some(isUnfilled)) {
    return { eventId: null, type: 'test', notices: [], ignored: IS_TEST };
  }
  if (item === null) return { status: 400, why: 'The body has no resource_id' };
  if (buyerId === null) return { status: 400, why: 'The body has no user_id' };
  const boughtAt = secondsAt(fields, 'purchase_date');
  const grant: Grant = {
    do: 'grant',
    item,
    reference: buyerId,
    order: null,
    buyer: { id: buyerId, name: textAt(fields, 'username'), email: null },
    quantity: 1,
    isTest: false,
    facts:
      isDownload || boughtAt === null
        ? {}
        : {
            boughtAt,
            ...decimalPrice(fields, { amount: 'final_price', currency: 'currency' }, boughtAt),
          },
    ...(!isDownload && { renews: true }),
    about: [],
  };
  const accepted: Accepted = { eventId: null, type, notices: [grant] };
  if (!isDownload) return accepted;
  return {
    ...accepted,
    needsKey: true,
    respond: (keys) => ({ body: keys.join('\n'), contentType: 'text/plain; charset=utf-8' }),
  };
}

const PAGE_ROWS = 100;

/** The licenses at BuiltByBit. Add-ons have ids of their own, and are not listed. */
async function list({ outbound, token, items, now, maxPages }: Listing): Promise<ListedPurchases> {
  const listed = new Map<string, boolean>();
  const ids = items.join(',');
  // BuiltByBit accepts one of two words before a token.
  const readPage = (word: string, url: string) =>
    fetchJson(outbound, url, { method: 'GET', headers: { Authorization: `${word} ${token}` } });
  let word = 'Token';
  for (let page = 1; page <= maxPages; page++) {
    const url = `https://api.builtbybit.com/v2/resources/creator/licenses?resource_ids=${ids}&page=${page}&per_page=${PAGE_ROWS}`;
    const json: Json = await readPage(word, url).catch((error) => {
      if (!isWrongToken(error) || page > 1) throw error;
      word = 'Private';
      return readPage(word, url);
    });
    if (textAt(json, 'result') !== 'success') {
      throw new Error(`BuiltByBit: ${textAt(json, 'error.code') ?? 'no result'}`);
    }
    for (const one of listAt(json, 'data.licenses')) {
      const [item, buyer] = [textAt(one, 'content_id'), textAt(one, 'buyer_id')];
      if (item === null || buyer === null || textAt(one, 'content_type') === 'addon') continue;
      const end = numberAt(one, 'end_date') ?? 0;
      const isActive =
        valueAt(one, 'permanent') === false
          ? end === 0 || end * 1000 > now
          : valueAt(one, 'active') !== false;
      const key = listedKey(item, buyer);
      listed.set(key, isActive || listed.get(key) === true);
    }
    if (page >= (numberAt(json, 'data.stats.max_page') ?? 1)) return listed;
  }
  throw new Error(LISTS_TOO_MANY);
}

export const builtbybit: Adapter = {
  names: ['builtbybit'],
  mailsKey: false,
  oldPath: (productId) => `/api/v1/bbb/${productId}`,
  maxBytes: MAX_BYTES,
  authenticate,
  read,
  list,
};
