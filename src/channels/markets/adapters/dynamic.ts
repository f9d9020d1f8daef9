import type { DynamicSettings } from '@licet/contract/dynamic-market';
import type { Incoming } from '../incoming.ts';
import { emailOf, quantityAt, textOf, valueAt } from '../json.ts';
import type { Accepted, Adapter, Grant, MarketSettings, Rejection } from '../notice.ts';
import { isRecent, isSecret, isSigned, WRONG_SECRET, WRONG_SIGNATURE } from '../signature.ts';

/** Any shop that asks for a key and waits: SellAuth, Sell.app, Shoppex, and others, as the settings say. */

/** The first value that is there, of alternatives separated by `|`. */
function firstAt(body: unknown, paths: string | null): unknown {
  for (const path of paths?.split('|') ?? []) {
    const value = valueAt(body, path);
    if (textOf(value) !== null) return value;
  }
  return undefined;
}

/**
 * The reference of an order line, by paths that are joined by `+`. The first is required; the others, such as a variant,
 * may be missing. Several are stored as JSON: with a separator, a buyer who chooses an id could choose that of another
 * line.
 */
function lineAt(
  body: unknown,
  paths: string,
): Pick<Grant, 'reference' | 'otherReferences'> | undefined {
  const texts = paths.split('+').map((path) => textOf(firstAt(body, path)));
  const [first = null, ...others] = texts;
  if (first === null) return undefined;
  if (others.length === 0) return { reference: first };
  const reference = JSON.stringify(texts);
  // An earlier version joined the texts. A text that can be the JSON of another line is no such reference.
  const joined = texts.filter((one) => one !== null).join(':');
  return joined.startsWith('[') ? { reference } : { reference, otherReferences: [joined] };
}

type Hmac = Extract<DynamicSettings['signature'], { kind: 'hmac' }>;

/** The signature in a header: the whole after its prefix, or one of its parts. */
function signatureIn(header: string, { part, prefix }: Hmac): string {
  const found =
    part === null
      ? header
      : (header
          .split(/[,;]/)
          .map((one) => one.trim())
          .find((one) => one.startsWith(`${part}=`))
          ?.slice(part.length + 1) ?? '');
  return found.startsWith(prefix) ? found.slice(prefix.length).trim() : '';
}

/** The signed message: the bytes of the body in the place of `{body}`. */
function messageOf({ message }: Hmac, bytes: Uint8Array, time: string, id: string) {
  const fill = (text: string) => text.replaceAll('{time}', time).replaceAll('{id}', id);
  const [before = '', ...after] = message.split('{body}');
  return [fill(before), bytes, fill(after.join('{body}'))];
}

const unproved = (why: string): Rejection => ({ status: 401, why });

/** The rejection of a request that is not from the shop, or is too old; undefined for any other. */
async function rejectionOf(
  incoming: Incoming,
  signature: DynamicSettings['signature'],
  secrets: readonly string[],
): Promise<Rejection | undefined> {
  const { bytes, headers, now } = incoming;
  if (signature.kind === 'secret') {
    const sent = signature.header
      ? headers.get(signature.header)
      : firstAt(incoming.json, signature.field);
    const secret = textOf(sent);
    if (secret === null) return unproved('The request has no secret');
    return (await isSecret(secrets, secret)) ? undefined : unproved(WRONG_SECRET);
  }
  const header = headers.get(signature.header)?.trim() ?? '';
  if (header === '') return unproved(`The header ${signature.header} is missing`);
  const time = signature.timeHeader ? (headers.get(signature.timeHeader)?.trim() ?? '') : '';
  const id = signature.idHeader ? (headers.get(signature.idHeader)?.trim() ?? '') : '';
  const parts = messageOf(signature, bytes, time, id);
  if (!(await isSigned(secrets, [signatureIn(header, signature)], signature.encoding, parts))) {
    return unproved(WRONG_SIGNATURE);
  }
  // A time that is not signed proves nothing.
  if (signature.message.includes('{time}') && !isRecent(time, now)) {
    return {
      ...unproved('The time of the request is more than five minutes off'),
      isFromMarket: true,
    };
  }
  return undefined;
}

/** The keys in a template of JSON, each with the escapes of JSON. */
function fillTemplate(template: string, keys: readonly string[]): string {
  const text = JSON.stringify(keys.join('\n')).slice(1, -1);
  return template.replaceAll('"{count}"', String(keys.length)).replaceAll('{keys}', () => text);
}

const NO_SETTINGS: Rejection = { status: 400, why: 'The market has no settings' };

async function authenticate(
  incoming: Incoming,
  { secrets, settings }: MarketSettings,
): Promise<Rejection | undefined> {
  if (!settings) return NO_SETTINGS;
  return rejectionOf(incoming, settings.signature, secrets);
}

async function read(
  { json: body }: Incoming,
  { settings }: MarketSettings,
): Promise<Accepted | Rejection> {
  if (!settings) return NO_SETTINGS;
  if (!body) return { status: 400, why: 'The body is not JSON' };
  const { deliverOn, response } = settings;

  const type = textOf(firstAt(body, settings.event));
  const accepted: Accepted = {
    eventId: null,
    type,
    notices: [],
  };
  if (deliverOn.length > 0 && !deliverOn.includes(type ?? '')) {
    return { ...accepted, ignored: 'This event asks for no key' };
  }
  const item = textOf(firstAt(body, settings.item));
  const line = lineAt(body, settings.line);
  if (item === null) return { status: 400, why: `The body has no ${settings.item}` };
  if (!line) return { status: 400, why: `The body has no ${settings.line}` };
  return {
    ...accepted,
    eventId: line.reference,
    notices: [
      {
        do: 'grant',
        item,
        ...line,
        order: textOf(firstAt(body, settings.order)),
        buyer: {
          id: textOf(firstAt(body, settings.buyer)),
          name: textOf(firstAt(body, settings.buyerName)),
          email: emailOf(firstAt(body, settings.email)),
        },
        quantity: quantityAt({ value: firstAt(body, settings.quantity) }, 'value'),
        isTest: false,
        facts: {},
        about: [],
      },
    ],
    needsKey: true,
    respond: (keys) =>
      response === null
        ? { body: keys.join('\n'), contentType: 'text/plain; charset=utf-8' }
        : { body: fillTemplate(response, keys), contentType: 'application/json' },
  };
}

export const dynamic: Adapter = { names: [], mailsKey: false, authenticate, read };
