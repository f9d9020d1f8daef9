import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * Fills a running service of an older commit with a bit of everything, for `upgrade.test.ts`: products, licenses, bindings,
 * history, purchases at each market in each state, webhooks, accounts at Discord. In a checkout of that commit, run:
 *
 *   npm start -- --port 41050 --persist-to DIR --var PLATFORM_LABELS:PLATFORM_A=Tebex \
 *     --var REFUSED_LIMITER:100000 --var VALIDATION_LIMITER:100000
 *   node fill.ts http://localhost:41050 ROOT_TOKEN
 *   npm run demo -- --url http://localhost:41050 --persist-to DIR
 *   npm run backup -- COMMIT.sqlite --persist-to DIR
 *
 * Then save the responses to the paths that the test asks for, and compress both files with `gzip -9 -n`.
 */

const [base = '', token = ''] = process.argv.slice(2);

/** The fields of created objects that are used below. */
interface Made {
  id: number;
  licenseKey: string;
  productId: number;
  token: string;
  addresses: string[];
  url: string;
  customer: { id: number };
}

interface Reply {
  status: number;
  json: Made;
  text: string;
}

async function ask(method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { TOKEN: token, 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('Content-Type')?.includes('json');
  return { status: response.status, json: isJson ? JSON.parse(text) : {}, text };
}

async function make(path: string, body: unknown, headers = {}): Promise<Made> {
  const { status, json, text } = await ask('POST', `/api/v2${path}`, body, headers);
  if (status >= 300) throw new Error(`POST ${path} ${JSON.stringify(body)}: ${status} ${text}`);
  return json;
}
async function put(path: string, body: unknown): Promise<Made> {
  const { status, json, text } = await ask('PUT', `/api/v2${path}`, body);
  if (status >= 300) throw new Error(`PUT ${path}: ${status} ${text}`);
  return json;
}

// Products.
const guard = await make('/products', {
  name: 'Chunk Guard',
  description: 'Keeps chunks',
  productType: 'GAME_JAVA_PLUGIN',
  defaultMaxIPs: 2,
  defaultMaxHWIDs: 3,
  selfResets: 3,
  offlineDays: 7,
  roleId: '3300000000000000001',
  purchaseRoleId: '3300000000000000002',
  url: 'https://shop.example/guard',
});
const bot = await make('/products', {
  name: 'Ä bot',
  productType: 'OTHER',
  productTypeOther: 'Bot',
  defaultExpiresAfterDays: 30,
  ipIdleDays: 30,
  hwidIdleDays: 60,
});
const suite = await make('/products', {
  name: 'Suite',
  productType: 'DESKTOP_APPLICATION',
  defaultMaxIPs: -1,
  defaultMaxHWIDs: 0,
});
const gone = await make('/products', { name: 'Gone', productType: 'WEB_APPLICATION' });
await ask('DELETE', `/api/v2/products/${gone.id}`);

// Licenses of every kind.
const permanent = await make('/licenses', {
  productId: guard.id,
  licenseType: 'PERMANENT',
  notes: 'First\nsecond line',
  customerEmail: 'ada@example.com',
});
const byChat = await make('/licenses', {
  productId: guard.id,
  licenseType: 'PERMANENT',
  ownerChatId: '2200000000000000001',
  ownerChatUsername: 'ada',
});
const byPlatform = await make('/licenses', {
  productId: guard.id,
  licenseType: 'TEMPORARY',
  expiryDate: '2099-12-31T23:59:59.999Z',
  licensePlatform: 'PLATFORM_A',
  ownerPlatformId: '4711',
  maxIPs: 1,
});
const expired = await make('/licenses', {
  productId: bot.id,
  licenseType: 'TEMPORARY',
  expiryDate: '2026-01-01',
  licensePlatform: 'OTHER',
  licensePlatformOther: 'Forum',
  ownerPlatformId: 'forum-1',
});
const firstUse = await make('/licenses', {
  productId: bot.id,
  licenseType: 'TEMPORARY',
  expiresAfterDays: 3650,
});
await make('/licenses', {
  productId: bot.id,
  licenseType: 'TEMPORARY',
  expiresAfterDays: 90,
});
const off = await make('/licenses', { productId: suite.id, licenseType: 'PERMANENT' });
await put(`/licenses/${off.id}`, { licenseStatus: 'DEACTIVATED', notes: 'Charged back' });
const deleted = await make('/licenses', { productId: suite.id, licenseType: 'PERMANENT' });
await ask('DELETE', `/api/v2/licenses/${deleted.id}`);
const rotated = await make('/licenses', {
  productId: suite.id,
  licenseType: 'PERMANENT',
  customerEmail: 'bea@example.com',
});
await make(`/licenses/${rotated.id}/rotate`, {});
const moved = await make('/licenses', {
  productId: suite.id,
  licenseType: 'PERMANENT',
  customerEmail: 'old@example.com',
});
await make(`/licenses/${moved.id}/transfer`, { customerEmail: 'new@example.com' });
await make(
  '/licenses/batch',
  { count: 40, productId: guard.id, licenseType: 'PERMANENT', notes: 'For the shop' },
  { 'Idempotency-Key': 'batch-1' },
);
const bound = await make('/licenses', {
  productId: guard.id,
  licenseType: 'PERMANENT',
  maxIPs: 5,
  maxHWIDs: 5,
});
await put(`/licenses/${bound.id}`, {
  ips: ['203.0.113.9', '2001:db8::1', '10.0.0.5'],
  hwids: ['HW-1', 'Häardware 2'],
});
const forgotten = await make('/customers', { email: 'forgotten@example.com' });
await ask('DELETE', `/api/v2/customers/${forgotten.id}`);
await make('/customers', {
  email: 'Shop@Example.com',
  firstName: 'Shop',
  phoneNumber: '+43 1',
  chatId: '2200000000000000005',
});

// Blacklists, tokens.
await make('/blacklists', {
  licenseDataType: 'IP',
  data: '203.0.200.0/24',
  isForAllProducts: true,
  reason: 'Leaked keys',
});
await make('/blacklists', {
  licenseDataType: 'HWID',
  data: 'BAD-HW',
  isForAllProducts: false,
  productId: guard.id,
  reason: '',
});
await make('/tokens', { name: 'Shop', intents: ['LICENSES_READ_WRITE', 'CUSTOMERS_READ'] });
const validator = await make('/tokens', {
  name: 'Validator',
  intents: ['LICENSE_VALIDATE'],
  expiresAt: '2099-01-01',
});
const revoked = await make('/tokens', { name: 'Old', intents: ['ALL_READ'] });
await ask('DELETE', `/api/v2/tokens/${revoked.id}`);

// A webhook that nobody answers, one at Discord, one that is off.
await make('/webhooks', {
  url: 'https://receiver.invalid/licet?token=secret',
  types: ['license.*', 'purchase.*'],
  description: 'Shop',
});
await make('/webhooks', {
  url: 'https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz012345',
  format: 'discord',
  types: [],
});
await make('/webhooks', {
  url: 'https://off.invalid/',
  types: ['product.created'],
  enabled: false,
});

// Validations.
const validate = (fields: object, headers = {}, path = '/api/v1/validate') =>
  ask('POST', path, fields, headers);
for (let round = 0; round < 3; round++) {
  for (const [index, license] of [
    permanent,
    byChat,
    byPlatform,
    expired,
    firstUse,
    off,
    deleted,
    bound,
  ].entries()) {
    for (let server = 0; server < 3; server++) {
      await validate({
        licenseKey: license.licenseKey,
        productId: license.productId,
        ip: `203.0.${index}.${server + 1}`,
        hwid: `HWID-${index}-${server}`,
        productVersion: `1.${round}`,
        operatingSystem: 'Linux',
        osVersion: '6.1',
        javaVersion: '17.0.9',
      });
    }
  }
}
await validate({ licenseKey: rotated.licenseKey, productId: suite.id });
await validate({ licenseKey: 'NOPE', productId: guard.id, ip: '192.0.2.1' });
await validate({ licenseKey: permanent.licenseKey, productId: bot.id, ip: '192.0.2.1' });
await validate({ licenseKey: permanent.licenseKey, productId: guard.id, ip: '203.0.200.7' });
await validate({
  licenseKey: permanent.licenseKey,
  productId: guard.id,
  hwid: 'BAD-HW',
  ip: '203.0.0.1',
});
await validate({ licenseKey: '%%__LICENSE__%%', productId: guard.id });
await validate({ productId: guard.id });
await validate(
  { licenseKey: permanent.licenseKey, productId: guard.id, ip: '203.0.0.1', hwid: 'HWID-0-0' },
  { TOKEN: validator.token },
  '/api/v2/validate',
);

// Markets: each with granted, revoked, unmatched purchases.
const SECRET = 'whsec_dGVzdHNlY3JldHRlc3RzZWNyZXR0ZXN0';
const hex = (message: string): string => createHmac('sha256', SECRET).update(message).digest('hex');
const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const pathOf = (market: Made): string => new URL(market.addresses[0] ?? '').pathname;
async function send(path: string, body: string, headers: Record<string, string>) {
  const reply = await fetch(base + path, { method: 'POST', body, headers });
  console.error(path.slice(0, 16), reply.status, (await reply.text()).slice(0, 60));
}
const seconds = () => Math.floor(Date.now() / 1000);

const stripe = await make('/markets', {
  kind: 'stripe',
  name: 'Stripe',
  secrets: [SECRET],
  products: [
    { item: 'guard', productId: guard.id },
    { item: 'monthly', productId: bot.id, licenseType: 'TEMPORARY', expiresAfterDays: 31 },
  ],
});
async function toStripe(type: string, object: object, created = seconds()) {
  const body = JSON.stringify({
    id: `evt_${Math.random()}`,
    object: 'event',
    type,
    created,
    livemode: true,
    data: { object },
  });
  const t = seconds();
  await send(pathOf(stripe), body, { 'Stripe-Signature': `t=${t},v1=${hex(`${t}.${body}`)}` });
}
const session = (id: string, product: string | undefined, more: object) => ({
  id,
  object: 'checkout.session',
  payment_status: 'paid',
  mode: 'payment',
  metadata: product ? { licet_product: product } : {},
  customer: `cus_${id}`,
  customer_details: { email: `${id}@example.com`, name: `Buyer ${id}` },
  ...more,
});
await toStripe('checkout.session.completed', session('cs_1', 'guard', { payment_intent: 'pi_1' }));
await toStripe('checkout.session.completed', session('cs_2', 'guard', { payment_intent: 'pi_2' }));
await toStripe('charge.refunded', {
  id: 'ch_2',
  object: 'charge',
  amount: 900,
  amount_refunded: 900,
  payment_intent: 'pi_2',
});
await toStripe('checkout.session.completed', session('cs_3', 'guard', { payment_intent: 'pi_3' }));
await toStripe('charge.dispute.created', {
  id: 'dp_3',
  object: 'dispute',
  status: 'needs_response',
  payment_intent: 'pi_3',
});
await toStripe('checkout.session.completed', session('cs_4', 'guard', { payment_intent: 'pi_4' }));
await toStripe('charge.dispute.created', {
  id: 'dp_4',
  object: 'dispute',
  status: 'needs_response',
  payment_intent: 'pi_4',
});
await toStripe('charge.dispute.closed', {
  id: 'dp_4',
  object: 'dispute',
  status: 'won',
  payment_intent: 'pi_4',
});
await toStripe('charge.refunded', {
  id: 'ch_5',
  object: 'charge',
  amount: 900,
  amount_refunded: 900,
  payment_intent: 'pi_5',
});
await toStripe('checkout.session.completed', session('cs_6', 'ghost', { payment_intent: 'pi_6' }));
await toStripe(
  'checkout.session.completed',
  session('cs_7', 'monthly', { mode: 'subscription', subscription: 'sub_7', invoice: 'in_7' }),
);
await toStripe('invoice.paid', {
  id: 'in_7',
  object: 'invoice',
  amount_paid: 500,
  parent: { subscription_details: { subscription: 'sub_7' } },
  lines: { data: [{ period: { end: 4070908800 } }] },
});
await toStripe(
  'checkout.session.completed',
  session('cs_8', 'monthly', { mode: 'subscription', subscription: 'sub_8' }),
);
await toStripe('invoice.paid', {
  id: 'in_8',
  object: 'invoice',
  subscription: 'sub_8',
  lines: { data: [{ period: { end: seconds() + 2_592_000 } }] },
});
await toStripe('customer.subscription.deleted', {
  id: 'sub_8',
  object: 'subscription',
  status: 'canceled',
});

const tebex = await make('/markets', {
  kind: 'tebex',
  name: 'Tebex',
  secrets: [SECRET],
  onDispute: 'wait',
  products: [
    { item: '11', productId: guard.id, quantity: 'limits' },
    { item: '12', productId: suite.id },
  ],
});
async function toTebex(type: string, subject: object) {
  const body = JSON.stringify({
    id: `tbx-${Math.random()}`,
    type,
    date: new Date().toISOString(),
    subject,
  });
  await send(pathOf(tebex), body, { 'X-Signature': hex(sha(body)) });
}
const payment = (id: string, products: object[], more = {}) => ({
  transaction_id: id,
  created_at: new Date().toISOString(),
  payment_method: { name: 'Card' },
  customer: { email: `${id}@example.com`, username: { id: `u-${id}`, username: `name-${id}` } },
  products,
  ...more,
});
await toTebex(
  'payment.completed',
  payment('tbx-1', [
    { id: 11, quantity: 3 },
    { id: 12, quantity: 2 },
  ]),
);
await toTebex(
  'payment.completed',
  payment('tbx-2', [
    { id: 12, quantity: 1 },
    { id: 99, quantity: 1 },
  ]),
);
await toTebex('payment.refunded', payment('tbx-2', []));
await toTebex(
  'payment.completed',
  payment('tbx-3', [{ id: 12, quantity: 1 }], { payment_method: { name: 'Test Payments' } }),
);
await toTebex(
  'payment.completed',
  payment('tbx-4', [{ id: 11, quantity: 1, expires_at: '2099-05-01T00:00:00Z' }], {
    recurring_payment_reference: 'tbx-r-4',
  }),
);
await toTebex('payment.dispute.opened', payment('tbx-1', []));

const paynow = await make('/markets', {
  kind: 'paynow',
  name: 'PayNow',
  secrets: [SECRET],
  products: [{ item: 'prod-1', productId: guard.id }],
});
async function toPaynow(type: string, body: object) {
  const text = JSON.stringify({ event_type: type, event_id: `${Math.random()}`, body });
  const t = String(Date.now());
  const signature = createHmac('sha256', SECRET).update(`${t}.${text}`).digest('base64');
  await send(pathOf(paynow), text, { 'PayNow-Signature': signature, 'PayNow-Timestamp': t });
}
const item = (id: string, order: string, more = {}) => ({
  id,
  order_id: order,
  product_id: 'prod-1',
  customer: { id: 'c-1', name: 'Cleo' },
  added_at: new Date().toISOString(),
  ...more,
});
await toPaynow('ON_DELIVERY_ITEM_ADDED', item('di-1', 'or-1'));
await toPaynow('ON_DELIVERY_ITEM_ADDED', item('di-2', 'or-2'));
await toPaynow(
  'ON_DELIVERY_ITEM_REVOKED',
  item('di-2', 'or-2', { revoked_at: new Date().toISOString() }),
);
await toPaynow('ON_CHARGEBACK', {
  id: 'cb-1',
  order_id: 'or-1',
  chargeback_at: new Date().toISOString(),
});

const voxel = await make('/markets', {
  kind: 'voxel',
  name: 'Voxel Shop',
  secrets: [SECRET],
  products: [{ item: '77', productId: guard.id }],
});
async function toVoxel(sent: object) {
  const body = JSON.stringify({ time: seconds(), nonce: Math.random().toString(36), ...sent });
  await send(pathOf(voxel), body, { 'X-Polymart-Signature': hex(body) });
}
await toVoxel({ product: '77', user: '5001' });
await toVoxel({
  event: 'product.user.purchase',
  payload: { product: { id: '77' }, user: { id: '5001' } },
});
await toVoxel({
  event: 'product.user.purchaseRemoved',
  payload: { product: { id: '77' }, user: { id: '5002' } },
});
await toVoxel({
  event: 'product.user.purchase',
  payload: { product: { id: '77' }, user: { id: '5003' } },
});

const bbb = await make('/markets', {
  kind: 'builtbybit',
  name: 'BuiltByBit',
  secrets: ['a-long-secret-of-the-seller'],
  apiToken: 'bbb-api-token',
  products: [
    { item: '88', productId: guard.id },
    { item: 'addon-9', productId: suite.id },
  ],
});
const form = (fields: Record<string, string>) =>
  send(
    pathOf(bbb),
    String(new URLSearchParams({ secret: 'a-long-secret-of-the-seller', ...fields })),
    { 'Content-Type': 'application/x-www-form-urlencoded' },
  );
await form({ builtbybit: 'true', user_id: '9001', resource_id: '88', version_number: '1' });
await form({
  user_id: '9002',
  username: 'Nine',
  resource_id: '88',
  purchase_date: String(seconds()),
});
await form({
  user_id: '9002',
  username: 'Nine',
  resource_id: '88',
  addon_id: '9',
  purchase_date: String(seconds()),
});
await form({
  user_id: '9003',
  username: 'Ten',
  resource_id: '66',
  purchase_date: String(seconds()),
});

const { DYNAMIC_PRESETS } = await import(
  `${process.cwd()}/packages/contract/src/dynamic-presets.ts`
);
const sellauth = await make('/markets', {
  kind: 'dynamic',
  name: 'SellAuth',
  secrets: [SECRET],
  settings: DYNAMIC_PRESETS.sellauth.settings,
  products: [{ item: '501', productId: suite.id }],
});
async function toSellauth(sent: object) {
  const body = JSON.stringify({ event: 'INVOICE.ITEM.DELIVER-DYNAMIC', ...sent });
  await send(pathOf(sellauth), body, { 'X-Signature': hex(body) });
}
await toSellauth({
  unique_id: 'inv-1',
  email: 'sell@example.com',
  shop_customer_id: 'sc-1',
  item: { id: 'line-1', quantity: 2, product: { id: '501' } },
});
await toSellauth({
  unique_id: 'inv-2',
  email: 'sell2@example.com',
  item: { id: 'line-2', quantity: 1, product: { id: '502' } },
});

const dying = await make('/markets', {
  kind: 'dynamic',
  name: 'Closed',
  secrets: [SECRET],
  settings: DYNAMIC_PRESETS.sellapp.settings,
  products: [{ item: '1', productId: suite.id }],
});
{
  const body = JSON.stringify({
    product_id: '1',
    order_id: 'A:1',
    variant_id: '2',
    customer_email: 'colon@example.com',
  });
  await send(pathOf(dying), body, { Signature: hex(body) });
}
await make('/purchases', {
  marketId: stripe.id,
  item: 'guard',
  reference: 'by-hand-1',
  order: 'pi_hand',
  buyerName: 'Hand',
  licenseId: permanent.id,
});

// Discord and the customers' page.
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
await put('/settings/discord', {
  applicationId: '1100000000000000001',
  guildId: '1100000000000000002',
  adminRoleId: '1100000000000000003',
  botToken: 'a-bot-token-of-nobody',
  publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
});
await put('/settings/portal', {
  name: 'Chunk shop',
  contact: 'mailto:help@example.com',
  colour: '#336699',
});
async function discord(
  name: string,
  options: Record<string, string>,
  user: { id: string; username: string },
) {
  const body = JSON.stringify({
    id: String(Date.now() * 1_000_000 + Math.floor(Math.random() * 1e6)),
    application_id: '1100000000000000001',
    guild_id: '1100000000000000002',
    token: 'interaction-token',
    type: 2,
    member: { user, roles: [], permissions: '0' },
    data: {
      name,
      options: Object.entries(options).map(([key, value]) => ({ name: key, type: 3, value })),
    },
  });
  const t = String(seconds());
  const signature = sign(null, Buffer.from(t + body), privateKey).toString('hex');
  const reply = await fetch(`${base}/discord/interactions`, {
    method: 'POST',
    body,
    headers: { 'X-Signature-Ed25519': signature, 'X-Signature-Timestamp': t },
  });
  console.error('discord', name, reply.status, (await reply.text()).slice(0, 120));
}
await discord('redeem', { key: bound.licenseKey }, { id: '2200000000000000009', username: 'nina' });
await discord(
  'redeem',
  { key: permanent.licenseKey },
  { id: '2200000000000000008', username: 'adam' },
);
await discord(
  'reset',
  { license: `#${byChat.id}` },
  { id: '2200000000000000001', username: 'ada' },
);
const link = await make('/portal-links', { customerId: byChat.customer.id });
const [, code] = link.url.split('#code=');
const opened = await fetch(`${base}/my/session`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Origin: base, 'Sec-Fetch-Site': 'same-origin' },
  body: JSON.stringify({ code }),
});
console.error('my', opened.status);
await put(`/licenses/${byChat.id}`, { notes: 'After the reset' });
// The history is stored after the responses.
await wait(2_500);
