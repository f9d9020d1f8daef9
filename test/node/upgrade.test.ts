import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseFile } from '../../scripts/local/database.ts';
import { ownFolder } from './own.ts';
import { argsOfScript, type RunningService, startService, watch } from './service.ts';

/**
 * Data survives each upgrade. `upgrade/` has a database that an older commit filled (`upgrade/fill.ts`), and the responses
 * of that commit. Only additions may make today's responses differ.
 */

const OLD = '19e23b59';
/** When the old database was filled, in seconds since 1970. */
const FILLED_AT = Date.parse('2026-11-26T15:00:00Z') / 1000;
/** The secret of the markets in the old database. */
const SECRET = 'whsec_dGVzdHNlY3JldHRlc3RzZWNyZXR0ZXN0';

/** A time that has not come yet. */
const LATER = Date.parse('2099-01-01T00:00:00Z');

/** Lets a service of today send nothing to the receivers of that time, and keep what is kept for a month. */
function holdBack(data: string): void {
  const database = new DatabaseSync(databaseFile(data));
  database.exec(
    `update webhooks set paused_until = ${LATER};
    update markets set comparison_due_at = ${LATER};
    update market_orders set expires_at = ${LATER} where expires_at is not null`,
  );
  database.close();
}

interface OldResponse {
  status: number;
  total: string | null;
  body: unknown;
}

const unpacked = (name: string): Buffer =>
  gunzipSync(readFileSync(new URL(`upgrade/${OLD}.${name}.gz`, import.meta.url)));
const before: Record<string, OldResponse> = JSON.parse(String(unpacked('json')));

const folder = ownFolder();
let service: RunningService;
let licet: Licet;

beforeAll(async () => {
  const file = join(folder, 'old.sqlite');
  writeFileSync(file, unpacked('sqlite'));
  const data = join(folder, 'data');
  const restoring = spawn(process.execPath, [
    ...argsOfScript('restore'),
    ...[file, '--persist-to', data],
  ]);
  const { code, output } = await watch(restoring).ended;
  expect(code, output).toBe(0);
  holdBack(data);
  // Rows that are old by the clock of today are removed in a service of today, too.
  const keepAll = ['--var', 'REQUEST_RETENTION_DAYS:0', '--var', 'EVENT_RETENTION_DAYS:0'];
  service = await startService(data, [...keepAll, '--var', 'PLATFORM_LABELS:PLATFORM_A=Tebex']);
  licet = new Licet({ url: service.address, token: readRootToken() });
});
afterAll(() => service.stop());

async function get(path: string): Promise<OldResponse> {
  const headers = { TOKEN: readRootToken() ?? '' };
  const response = await fetch(`${service.address}/api/v2${path}`, { headers });
  const total = response.headers.get('X-Total-Count');
  return { status: response.status, total, body: await response.json() };
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** The counts of validations in statistics, which have other figures of today. */
function countsOf(body: unknown): unknown {
  const { series, gaps, products } = Object(body);
  const counted = products.map(({ productId, validations }: Fields) => [productId, validations]);
  return { series, gaps, products: Object.fromEntries(counted) };
}

/** An old object as it has to read today: licenses expire, and addresses name the host that is asked. */
function asToday(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asToday);
  if (typeof value === 'string') {
    return value.replace('http://localhost:41050', service.address);
  }
  if (!isFields(value)) return value;
  const today = Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, asToday(field)]),
  );
  const { licenseStatus, expiryDate } = today;
  if (licenseStatus === 'ACTIVE' && Date.parse(String(expiryDate)) <= Date.now()) {
    today.licenseStatus = 'EXPIRED';
  }
  return today;
}

describe(`a database of ${OLD}`, () => {
  // Events of today come first.
  const paths = Object.keys(before).filter((path) => !path.startsWith('/events'));

  it.each(paths)('GET %s responds as before the upgrade', async (path) => {
    const { status, total, body } = await get(path);
    const old = before[path];
    expect({ status, total }).toEqual({ status: old?.status, total: old?.total });
    if (path.startsWith('/statistics')) expect(countsOf(body)).toEqual(countsOf(old?.body));
    else expect(body).toMatchObject(Object(asToday(old?.body)));
  });

  it('an upgraded database has all its events', async () => {
    const now: Fields[] = Object(await get('/events?limit=1000')).body;
    const old: Fields[] = Object(before['/events?limit=1000']?.body);
    const byId = new Map(now.map((event) => [event.id, event]));
    expect(old.map(({ id }) => byId.get(id))).toMatchObject(old);
  });

  it('validates bound servers, and refuses others', async () => {
    const license = await licet.licenses.get(3);
    const validate = (ip: string, hwid: string) =>
      licet.validate({ licenseKey: license.licenseKey, productId: 1, ip, hwid });
    const [ip = ''] = license.ips;
    const [hwid = ''] = license.hwids;
    expect(license.ips).toHaveLength(license.maxIPs);
    expect(await validate(ip, hwid)).toMatchObject({ valid: true });
    expect(await validate('203.0.77.1', hwid)).toMatchObject({ message: 'Max IPs reached' });
  });
});

describe('purchases from before the upgrade', () => {
  const hex = (message: string): string =>
    createHmac('sha256', SECRET).update(message).digest('hex');

  async function send(market: string, body: string, headers: Record<string, string>) {
    const markets = await licet.markets.list();
    const [address = ''] = markets.find(({ name }) => name === market)?.addresses ?? [];
    const path = new URL(address).pathname;
    const response = await fetch(`${service.address}${path}`, { method: 'POST', body, headers });
    return { status: response.status, text: await response.text() };
  }

  const toStripe = (type: string, object: object, created = Math.floor(Date.now() / 1000)) => {
    const seconds = Math.floor(Date.now() / 1000);
    const event = { id: 'evt_upgrade', object: 'event', type, created, livemode: true };
    const body = JSON.stringify({ ...event, data: { object } });
    const signature = `t=${seconds},v1=${hex(`${seconds}.${body}`)}`;
    return send('Stripe', body, { 'Stripe-Signature': signature });
  };

  const licenseOf = async (reference: string) => {
    const purchases = await licet.purchases.list();
    const found = purchases.find((one) => one.reference === reference);
    return licet.licenses.get(found?.licenseId ?? 0);
  };

  it('a refund revokes', async () => {
    expect(await licenseOf('cs_1')).toMatchObject({ licenseStatus: 'ACTIVE' });
    const charge = { id: 'ch_1', object: 'charge', amount: 900, amount_refunded: 900 };
    await toStripe('charge.refunded', { ...charge, payment_intent: 'pi_1' });
    expect(await licenseOf('cs_1')).toMatchObject({ licenseStatus: 'DEACTIVATED' });
  });

  it('a won dispute restores', async () => {
    expect(await licenseOf('cs_3')).toMatchObject({ licenseStatus: 'DEACTIVATED' });
    const dispute = { id: 'dp_3', object: 'dispute', status: 'won', payment_intent: 'pi_3' };
    await toStripe('charge.dispute.closed', dispute);
    expect(await licenseOf('cs_3')).toMatchObject({ licenseStatus: 'ACTIVE' });
  });

  it('a refund that came first revokes the purchase that comes now', async () => {
    const session = {
      ...{ id: 'cs_5', object: 'checkout.session', payment_status: 'paid', mode: 'payment' },
      ...{ metadata: { licet_product: 'guard' }, payment_intent: 'pi_5' },
    };
    await toStripe('checkout.session.completed', session, FILLED_AT - 3_600);
    expect(await licenseOf('cs_5')).toMatchObject({ licenseStatus: 'DEACTIVATED' });
  });

  it('another delivery of the same line has the same keys', async () => {
    const item = { id: 'line-1', quantity: 2, product: { id: '501' } };
    const event = { event: 'INVOICE.ITEM.DELIVER-DYNAMIC', unique_id: 'inv-1', item };
    const body = JSON.stringify(event);
    const { status, text } = await send('SellAuth', body, { 'X-Signature': hex(body) });
    expect(status).toBe(200);
    const purchases = (await licet.purchases.list()).filter((one) => one.reference === 'line-1');
    const licenses = await Promise.all(
      purchases.map(({ licenseId }) => licet.licenses.get(licenseId ?? 0)),
    );
    expect(text.split('\n').sort()).toEqual(licenses.map(({ licenseKey }) => licenseKey).sort());
  });

  it('a line of two parts keeps its purchase', async () => {
    const sold = await licenseOf('A:1:2');
    const body = JSON.stringify({ product_id: '1', order_id: 'A:1', variant_id: '2' });
    const { text } = await send('Closed', body, { Signature: hex(body) });
    expect(text).toBe(sold.licenseKey);
  });
});
