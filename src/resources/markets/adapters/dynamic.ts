import type { DynamicSettings } from '@licet/contract/dynamic-market';
import { parseObject, quantityAt, textOf, valueAt } from '../json.ts';
import type { Accepted, Adapter, Incoming } from '../notice.ts';
import { isRecent, isSecret, isSigned } from '../signature.ts';

/** Any shop that asks for a key and waits: SellAuth, Sell.app, Shoppex, and others, as the settings say. */

/** The first value that is there, of alternatives separated by `|`. */
function firstAt(body: unknown, paths: string | null): unknown {
  for (const path of paths?.split('|') ?? []) {
    const value = valueAt(body, path);
    if (textOf(value) !== null) return value;
  }
  return undefined;
}

/** The texts of paths that are joined by `+`. The first is required; the others, such as a variant, may be missing. */
function joinedAt(body: unknown, paths: string): string | null {
  const [first = null, ...others] = paths.split('+').map((path) => textOf(firstAt(body, path)));
  return first === null ? null : [first, ...others.filter((one) => one !== null)].join(':');
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

/** Why a request is not from the shop; undefined if it is. */
async function faultOf(
  { bytes, headers, now }: Incoming,
  body: unknown,
  signature: DynamicSettings['signature'],
  secrets: readonly string[],
): Promise<string | undefined> {
  if (signature.kind === 'secret') {
    const sent = signature.header ? headers.get(signature.header) : firstAt(body, signature.field);
    const secret = textOf(sent);
    if (secret === null) return 'The request has no secret';
    return (await isSecret(secrets, secret)) ? undefined : 'The secret is wrong';
  }
  const header = headers.get(signature.header)?.trim() ?? '';
  if (header === '') return `The header ${signature.header} is missing`;
  const time = signature.timeHeader ? (headers.get(signature.timeHeader)?.trim() ?? '') : '';
  const id = signature.idHeader ? (headers.get(signature.idHeader)?.trim() ?? '') : '';
  const parts = messageOf(signature, bytes, time, id);
  if (!(await isSigned(secrets, [signatureIn(header, signature)], signature.encoding, parts))) {
    return 'The signature is wrong';
  }
  // A time that is not signed proves nothing.
  if (signature.message.includes('{time}') && !isRecent(time, now)) {
    return 'The time of the request is more than five minutes off';
  }
  return undefined;
}

/** The keys in a template of JSON, each with the escapes of JSON. */
function fillTemplate(template: string, keys: readonly string[]): string {
  const text = JSON.stringify(keys.join('\n')).slice(1, -1);
  return template.replaceAll('"{count}"', String(keys.length)).replaceAll('{keys}', () => text);
}

export const dynamic: Adapter = async (incoming, { secrets, settings }) => {
  if (!settings) return { status: 400, why: 'The market has no settings' };
  const { signature, deliverOn, response } = settings;
  const body = parseObject(incoming.text);
  const fault = await faultOf(incoming, body, signature, secrets);
  if (fault !== undefined) return { status: 401, why: fault };
  if (!body) return { status: 400, why: 'The body is not JSON' };

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
  const line = joinedAt(body, settings.line);
  if (item === null) return { status: 400, why: `The body has no ${settings.item}` };
  if (line === null) return { status: 400, why: `The body has no ${settings.line}` };
  return {
    ...accepted,
    eventId: line,
    notices: [
      {
        do: 'grant',
        item,
        reference: line,
        order: textOf(firstAt(body, settings.order)),
        buyer: {
          id: textOf(firstAt(body, settings.buyer)),
          name: textOf(firstAt(body, settings.buyerName)),
          email: textOf(firstAt(body, settings.email)),
        },
        quantity: quantityAt({ value: firstAt(body, settings.quantity) }, 'value'),
        isTest: false,
        boughtAt: null,
        paidUntil: null,
      },
    ],
    needsKey: true,
    respond: (keys) =>
      response === null
        ? { body: keys.join('\n'), contentType: 'text/plain; charset=utf-8' }
        : { body: fillTemplate(response, keys), contentType: 'application/json' },
  };
};
