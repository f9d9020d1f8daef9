import { createHash, createHmac } from 'node:crypto';
import type { MarketKind } from '@licet/contract/enums';
import { DOCTOR_HEADER } from '@licet/contract/license-key';

/** The samples that `npm run doctor -- --market KIND` sends: as the market does, and without an effect. */

interface Sample {
  headers: Record<string, string>;
  body: string;
}

const hmac = (text: string, secret: string, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHmac('sha256', secret).update(text).digest(encoding);

/** Requests with this header are not listed under What arrived. */
const OF_DOCTOR = { [DOCTOR_HEADER]: '1' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** A sample with a signature by a secret. None of them is a purchase. */
const SAMPLES: Readonly<Record<MarketKind, (secret: string, now: number) => Sample>> = {
  // Without a buyer, a download gets no key.
  builtbybit: (secret) => ({
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams({ builtbybit: 'true', resource_id: '1', secret })),
  }),
  voxel(secret, now) {
    const body = JSON.stringify({ event: 'ping', time: Math.floor(now / 1000), nonce: 'doctor' });
    return { headers: { ...JSON_TYPE, 'X-Polymart-Signature': hmac(body, secret) }, body };
  },
  // The samples of SellAuth, Sell.app and Shoppex in one, without an order.
  dynamic(secret, now) {
    const [time, id] = [String(Math.floor(now / 1000)), 'doctor'];
    const headers = {
      ...JSON_TYPE,
      'X-Signature': hmac('{}', secret),
      Signature: hmac('{}', secret),
      'X-Shoppex-Timestamp': time,
      'X-Shoppex-Delivery-Id': id,
      'X-Shoppex-Signature-V2': `v1,t=${time},h=${hmac(`${id}.${time}.{}`, secret)}`,
    };
    return { headers, body: '{}' };
  },
  tebex(secret) {
    const body = JSON.stringify({ id: 'doctor', type: 'validation.webhook', subject: {} });
    const digest = createHash('sha256').update(body).digest('hex');
    return { headers: { ...JSON_TYPE, 'X-Signature': hmac(digest, secret) }, body };
  },
  stripe(secret, now) {
    const time = Math.floor(now / 1000);
    const body = JSON.stringify({ id: 'doctor', object: 'event', type: 'licet.doctor' });
    const signature = `t=${time},v1=${hmac(`${time}.${body}`, secret)}`;
    return { headers: { ...JSON_TYPE, 'Stripe-Signature': signature }, body };
  },
  paynow(secret, now) {
    const body = JSON.stringify({ event_type: 'LICET_DOCTOR', event_id: 'doctor', body: {} });
    const headers = {
      ...JSON_TYPE,
      'PayNow-Timestamp': String(now),
      'PayNow-Signature': hmac(`${now}.${body}`, secret, 'base64'),
    };
    return { headers, body };
  },
};

const LARGE_BYTES = 100 * 1024;
const WRONG_SECRET = 'licet-doctor-has-no-secret';

interface Answer {
  status: number;
  text: string;
}

/** Markets whose requests may have 16 KB only. */
const SENDS_LITTLE: readonly MarketKind[] = ['builtbybit'];

/** A rejection by Licet: a sentence, and no page. */
const isRejected = ({ status, text }: Answer): boolean =>
  status === 401 && /^(The|This) [\w' -]+(is|has|are) [\w' -]+(: [\w' -]+)?$/.test(text);

/** A sample that arrived with a right signature. Some are incomplete on purpose. */
const isTaken = ({ status, text }: Answer): boolean =>
  status === 200 || (status === 400 && text.startsWith('The body has no '));

/** Markets whose settings say how they sign: the doctor does not know them. */
const SIGNS_AS_SET: readonly MarketKind[] = ['dynamic'];

const WHO = 'the market: purchases and refunds do not arrive';
const STORE_SECRET = 'Store the secret that the market has, without blanks, in Licet.';
const CANNOT_BE_CHECKED =
  'At SellAuth, Sell.app and Shoppex: store the secret that the shop has, without blanks, in Licet. With settings of ' +
  'your own, the secret cannot be checked from here: make an order that costs nothing.';
const IS_ADDRESS =
  'Copy the address of the market in the console again. It must be switched on, and have a secret.';

/**
 * The probes of a market.
 *
 * @param path of the market's address
 * @param secret undefined if only the way to the service is tried
 */
export function marketProbes(kind: MarketKind, path: string, secret: string | undefined) {
  const now = Date.now();
  const common = { who: WHO, method: 'POST' as const, path, change: IS_ADDRESS };
  const sampleWith = (by: string): Sample => {
    const { headers, body } = SAMPLES[kind](by, now);
    return { headers: { ...headers, ...OF_DOCTOR }, body };
  };
  const wrong = sampleWith(WRONG_SECRET);
  return [
    {
      ...common,
      ...wrong,
      what: 'A request of the market, without the right secret',
      isRight: isRejected,
    },
    ...(SENDS_LITTLE.includes(kind)
      ? []
      : [
          {
            ...common,
            headers: wrong.headers,
            body: wrong.body + ' '.repeat(LARGE_BYTES),
            what: 'A request of 100 KB',
            isRight: ({ status }: Answer) => status === 401 || status === 400,
            change:
              'Let requests of 256 KB through: client_max_body_size of nginx, or a rule of the firewall.',
          },
        ]),
    ...(secret === undefined
      ? []
      : [
          {
            ...common,
            ...sampleWith(secret),
            what: 'A request of the market, with the secret',
            isRight: isTaken,
            change: SIGNS_AS_SET.includes(kind) ? CANNOT_BE_CHECKED : STORE_SECRET,
            ...(SIGNS_AS_SET.includes(kind) && { isMinor: true as const }),
          },
        ]),
  ];
}
