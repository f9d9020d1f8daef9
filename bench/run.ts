import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { fail, run } from '../scripts/terminal.ts';
import { load, type Measured } from './load.ts';

/**
 * `npm run bench`: hot validations by the built bundle in workerd, beside a bare Worker in the same
 * run, on direct sockets. What counts is the ratio: both share this machine with their load.
 */

const COMPATIBILITY_DATE = '2026-09-01';
const LICENSES = 1_000;
const CONNECTIONS = [1, 16, 64];
const WARM_UP = 500;
const RESULT_FILE = 'bench/result.json';

const folder = mkdtempSync(join(tmpdir(), 'licet-bench-'));

/** The bundle that a deployment would send. */
async function build(name: string, entry: string): Promise<string> {
  const outdir = join(folder, name);
  const options = ['--name', name, '--compatibility-date', COMPATIBILITY_DATE, '--outdir', outdir];
  const { ok, output } = await run('wrangler', ['deploy', entry, '--dry-run', ...options]);
  if (!ok) fail(output);
  const script = readdirSync(outdir).find((file) => file.endsWith('.js')) ?? fail(output);
  return readFileSync(join(outdir, script), 'utf8');
}

const worker = (name: string, script: string) => ({
  name,
  script,
  modules: true,
  compatibilityDate: COMPATIBILITY_DATE,
  unsafeDirectSockets: [{}],
});

const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    workers: [
      {
        ...worker('licet', await build('licet', 'src/index.ts')),
        d1Databases: { DB: 'DB' },
        bindings: { ROOT_TOKEN: '', REQUIRE_HWID: 'false', REQUEST_RETENTION_DAYS: '0' },
      },
      worker('bare', await build('bare', 'bench/bare-worker.ts')),
    ],
  }),
);

const db = await miniflare.getD1Database('DB', 'licet');
for (const file of readdirSync('drizzle')
  .filter((name) => name.endsWith('.sql'))
  .sort()) {
  const statements = readFileSync(join('drizzle', file), 'utf8').split('--> statement-breakpoint');
  await db.batch(statements.map((statement) => db.prepare(statement)));
}
await db.batch([
  db.prepare(`insert into products (name, product_type, default_max_ips, default_max_hwids,
    created_at, updated_at) values ('Bench', 'OTHER', 5, 5, 0, 0)`),
  db.prepare(`with recursive n(i) as (select 0 union all select i + 1 from n where i < ${LICENSES - 1})
    insert into licenses (license_key, license_key_folded, product_id, license_type, max_ips,
      max_hwids, created_at, updated_at)
    select 'KEY-' || i, 'KEY-' || i, 1, 'PERMANENT', 2, 2, 0, 0 from n`),
  db.prepare(`insert into bindings (license_id, kind, value)
    select id, kind, kind || '-' || id || '-' || slot from licenses,
      (select 'HWID' as kind union select 'IP'), (select 1 as slot union select 2)
    where kind = 'HWID'
    union all
    select id, 'IP', '10.' || slot || '.' || (id / 256) || '.' || (id % 256) from licenses,
      (select 1 as slot union select 2)`),
]);

/** The licenses have the ids 1 to 1,000, and the request is bound to a slot of each. */
function bodyOf(index: number): string {
  const id = (index % LICENSES) + 1;
  const slot = (index % 2) + 1;
  return JSON.stringify({
    licenseKey: `KEY-${id - 1}`,
    productId: 1,
    ip: `10.${slot}.${Math.floor(id / 256)}.${id % 256}`,
    hwid: `HWID-${id}-${slot}`,
    productVersion: '1.0.0',
    operatingSystem: 'Linux',
    javaVersion: '17.0.9',
  });
}

const urlOf = async (name: string) =>
  new URL('/api/v1/validate', await miniflare.unsafeGetDirectURL(name));
const urls = { bare: await urlOf('bare'), licet: await urlOf('licet') };

let validations = 0;
async function measure(
  name: 'bare' | 'licet',
  connections: number,
  count: number,
): Promise<Measured> {
  if (name === 'licet') validations += count;
  return load(urls[name], bodyOf, connections, count);
}

const rows = [];
for (const connections of CONNECTIONS) {
  await measure('bare', connections, WARM_UP);
  await measure('licet', connections, WARM_UP);
  const count = connections === 1 ? 1_000 : 4_000;
  const bare = await measure('bare', connections, count * 3);
  const licet = await measure('licet', connections, count);
  rows.push({ connections, bare, licet, ratio: licet.requestsPerSecond / bare.requestsPerSecond });
}

const countOf = async (sql: string) => (await db.prepare(sql).first<{ n: number }>())?.n ?? 0;
let stored = 0;
const deadline = Date.now() + 30_000;
while (stored < validations && Date.now() < deadline) {
  stored = await countOf('select count(*) as n from requests');
}
const totals = await countOf('select sum(total_requests) as n from licenses');
await miniflare.dispose();
rmSync(folder, { recursive: true });

const round = (value: number) => Math.round(value * 100) / 100;
console.table(
  rows.map(({ connections, bare, licet, ratio }) => ({
    connections,
    'bare req/s': Math.round(bare.requestsPerSecond),
    'licet req/s': Math.round(licet.requestsPerSecond),
    ratio: round(ratio),
    'bare p99 ms': round(bare.p99Ms),
    'licet p50 ms': round(licet.p50Ms),
    'licet p99 ms': round(licet.p99Ms),
    refused: licet.failed,
  })),
);
console.log(`${validations} validations, ${stored} records, ${totals} counted`);
writeFileSync(RESULT_FILE, `${JSON.stringify({ rows, validations, stored, totals }, null, 2)}\n`);
if (
  stored !== validations ||
  totals !== validations ||
  rows.some(({ licet }) => licet.failed > 0)
) {
  fail('A validation was refused, lost or counted twice.');
}
