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
import { fetchJson } from '../outgoing.ts';
import { isRecent, isSigned, WRONG_SIGNATURE } from '../signature.ts';

/**
 * Voxel Shop, formerly Polymart: the placeholder "External API", whose response is the key as JSON, and the webhooks of
 * a product. All are signed over the raw body; each webhook of a product, and the placeholder, has a secret of its own.
 */

/** The events of a refund or chargeback. Only the first is in the documents. */
const REMOVALS = ['product.user.purchaseRemoved', 'product.user.refund'];

const UNNAMED =
  'The removal names no product or no user: find the purchase, and deactivate its license by hand';
const UNREADABLE: Rejection = { status: 400, why: 'The body is not JSON' };

async function authenticate(
  incoming: Incoming,
  { secrets }: MarketSettings,
): Promise<Rejection | undefined> {
  const { bytes, headers, now } = incoming;
  const signature = headers.get('X-Polymart-Signature')?.trim() ?? '';
  if (signature === '') return { status: 401, why: 'The header X-Polymart-Signature is missing' };
  if (!(await isSigned(secrets, [signature], 'hex', [bytes]))) {
    return { status: 401, why: WRONG_SIGNATURE };
  }
  const { json: body } = incoming;
  if (!body) return { ...UNREADABLE, isFromMarket: true };
  const seconds = numberAt(body, 'time');
  if (seconds === null || !isRecent(String(Math.floor(seconds)), now)) {
    return {
      status: 401,
      why: 'The time of the request is more than five minutes off',
      isFromMarket: true,
    };
  }
  return undefined;
}

async function read({ json: body, now }: Incoming): Promise<Accepted | Rejection> {
  if (!body) return UNREADABLE;
  const event = textAt(body, 'event');
  const accepted: Accepted = {
    eventId: textAt(body, 'nonce'),
    type: event ?? 'placeholder',
    notices: [],
  };
  const isDownload = event === null;
  const time = secondsAt(body, 'time');
  const item = textAt(body, isDownload ? 'product' : 'payload.product.id');
  const buyerId = textAt(body, isDownload ? 'user' : 'payload.user.id');
  if (isDownload || event === 'product.user.purchase') {
    if (item === null) return { status: 400, why: 'The body has no product' };
    if (buyerId === null) return { status: 400, why: 'The body has no user' };
    const grant: Grant = {
      do: 'grant',
      item,
      reference: buyerId,
      order: null,
      buyer: { id: buyerId, name: null, email: null },
      quantity: 1,
      isTest: valueAt(body, 'test') === true,
      facts: isDownload || time === null ? {} : { boughtAt: time },
      ...(!isDownload && { renews: true }),
      about: [],
    };
    const granting = { ...accepted, notices: [grant] };
    if (!isDownload) return granting;
    return {
      ...granting,
      needsKey: true,
      respond: ([value = '']) => ({
        body: JSON.stringify({ value }),
        contentType: 'application/json',
      }),
    };
  }
  if (REMOVALS.includes(event)) {
    if (item === null || buyerId === null) {
      return { ...accepted, ignored: UNNAMED, needsPerson: true };
    }
    const facts = { removed: time ?? now };
    const purchase = { item, reference: buyerId, order: null, facts };
    return { ...accepted, notices: [{ do: 'report', about: [], purchase }] };
  }
  return { ...accepted, ignored: 'This event changes no purchase' };
}

/** The buyers at Voxel Shop: whether each purchase is valid. */
async function list({ outbound, token, items, maxPages }: Listing): Promise<ListedPurchases> {
  const listed = new Map<string, boolean>();
  let requests = 0;
  for (const item of items) {
    let start: string | null = '0';
    while (start !== null) {
      if (++requests > maxPages) throw new Error(LISTS_TOO_MANY);
      const body = String(new URLSearchParams({ api_key: token, resource_id: item, start }));
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const url = 'https://api.voxel.shop/v1/listBuyers';
      const json: Json = await fetchJson(outbound, url, { method: 'POST', headers, body });
      for (const one of listAt(json, 'response.buyers')) {
        const buyer = textAt(one, 'userID');
        if (buyer !== null) listed.set(listedKey(item, buyer), valueAt(one, 'valid') !== false);
      }
      start = valueAt(json, 'response.more') === true ? textAt(json, 'response.next_start') : null;
    }
  }
  return listed;
}

export const voxel: Adapter = {
  names: ['voxel shop', 'voxel', 'polymart'],
  mailsKey: false,
  authenticate,
  read,
  list,
};
