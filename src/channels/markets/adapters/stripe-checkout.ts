import { emailAt, listAt, quantityAt, textAt, valueAt } from '../json.ts';
import type { Grant, MarketInterface } from '../notice.ts';
import { fetchJson, isRefusedBy } from '../outgoing.ts';
import { minorPrice } from '../price.ts';
import { countIn, type Event, idAt, link, type Read } from './stripe-event.ts';

/** Checkout sessions of Stripe, those of Payment Links included, and their lines. */

/** The name of a product that neither the metadata nor a Payment Link names. */
const UNNAMED = 'checkout';
const MAX_LINES = 100;
const UNCOUNTED =
  'Stripe does not say how many were bought: store a restricted key as API token, or look at the order';

/** A Checkout session, of a Payment Link too: the purchases of its lines. */
export function readSession({ object, at, isTest }: Event): Read {
  if (textAt(object, 'mode') === 'setup')
    return { ignored: 'The session saves a card, and sells nothing' };
  const status = textAt(object, 'payment_status');
  if (status !== 'paid' && status !== 'no_payment_required') {
    return { ignored: 'The session is not paid yet: the license comes with the payment' };
  }
  const id = textAt(object, 'id');
  if (id === null)
    return { ignored: 'The session has no id: make the license by hand', needsPerson: true };
  const [subscription, invoice] = [idAt(object, 'subscription'), idAt(object, 'invoice')];
  const paymentLink = idAt(object, 'payment_link');
  const counted = countIn(valueAt(object, 'metadata'));
  const grant: Grant = {
    do: 'grant',
    item: textAt(object, 'metadata.licet_product') ?? paymentLink ?? UNNAMED,
    ...(paymentLink !== null && { otherItems: [paymentLink] }),
    reference: id,
    isLine: true,
    order: subscription ?? idAt(object, 'payment_intent') ?? invoice ?? id,
    onlyOf: 'order',
    buyer: {
      id: idAt(object, 'customer') ?? textAt(object, 'client_reference_id'),
      name: textAt(object, 'customer_details.name'),
      email: emailAt(object, 'customer_details.email') ?? emailAt(object, 'customer_email'),
    },
    quantity: counted ?? 1,
    isTest,
    facts: {
      boughtAt: at,
      ...(counted !== null && { counted: 1, stated: counted }),
      // A buyer may have added them. The event has no lines.
      ...(listAt(object, 'optional_items').length > 0 && { unclear: 1 }),
      ...minorPrice(object, { amount: 'amount_total', currency: 'currency' }, at),
    },
    about: link(invoice, subscription),
    // The first invoice of a subscription has the quantity.
    ...(counted === null && subscription === null && { caveat: UNCOUNTED }),
  };
  return withLines(grant, listAt(object, 'line_items.data'));
}

/** The purchases of the lines of a session: as the event names it, or one for each of several products. */
function withLines(grant: Grant, lines: readonly unknown[]): Grant[] {
  const sold = lines
    .map((line) => ({
      id: textAt(line, 'id') ?? '',
      quantity: quantityAt(line, 'quantity'),
      paid: minorPrice(
        line,
        { amount: 'amount_total', currency: 'currency' },
        grant.facts.boughtAt ?? 0,
      ),
      items: [
        textAt(line, 'price.metadata.licet_product'),
        textAt(line, 'price.product.metadata.licet_product'),
        idAt(line, 'price.product'),
        idAt(line, 'price'),
      ].filter((item) => item !== null),
    }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const [first, ...others] = sold;
  if (!first) return [grant];
  const {
    onlyOf,
    caveat: _,
    ...counted
  } = {
    ...grant,
    facts: { ...grant.facts, counted: 1 },
  };
  if (others.length === 0) {
    const { stated = first.quantity } = grant.facts;
    return [
      {
        ...counted,
        ...(onlyOf && { onlyOf }),
        facts: { ...counted.facts, quantity: first.quantity },
        otherItems: [...(grant.otherItems ?? []), ...first.items],
        quantity: stated,
      },
    ];
  }
  const { stated: _stated, price: _price, ...facts } = counted.facts;
  return sold.map(({ id, quantity, paid, items: [item = UNNAMED, ...otherItems] }, index) => ({
    ...counted,
    // The first invoice may have come before, and waits for the lines.
    ...(index === 0 && onlyOf && { onlyOf }),
    facts: { ...facts, ...paid },
    item,
    otherItems,
    reference: index === 0 ? grant.reference : `${grant.reference}:${id}`,
    quantity,
  }));
}

/** Reads the lines of a session, with a restricted key. */
export async function readLines(
  grant: Grant,
  { outbound, token }: MarketInterface,
): Promise<Grant[]> {
  if (!grant.reference.startsWith('cs_') || grant.onlyOf !== 'order') return [grant];
  const id = encodeURIComponent(grant.reference);
  try {
    const json = await fetchJson(
      outbound,
      `https://api.stripe.com/v1/checkout/sessions/${id}/line_items?limit=${MAX_LINES}`,
      { method: 'GET', headers: { Authorization: `Bearer ${token}` } },
    );
    return withLines(grant, listAt(json, 'data'));
  } catch (error) {
    // Stripe repeats the event; a wrong key stays wrong.
    if (!isRefusedBy(error)) throw error;
    return [{ ...grant, facts: { ...grant.facts, unclear: 1 } }];
  }
}
