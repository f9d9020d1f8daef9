import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { D1Database } from '@cloudflare/workers-types';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterAll, describe, expect, it } from 'vitest';
import { unstable_readConfig, unstable_splitSqlQuery } from 'wrangler';
import { newFolder } from './service.ts';
import { misunderstanding } from './wrangler-commands.ts';

/** What docs/deploy.md tells people to type: the pinned wrangler knows it, and where it can be run, it is. */

const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true }));

const document = readFileSync('docs/deploy.md', 'utf8');
const toml = readFileSync('wrangler.toml', 'utf8');
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

const blocks = (kind: string): string[] =>
  [...document.matchAll(new RegExp(`\`\`\`${kind}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, text = '']) => text,
  );
const inline = [...document.matchAll(/`((?:npx|npm|openssl) [^`]+)`/g)].map(
  ([, text = '']) => text,
);
const commands = [...blocks('sh').flatMap((block) => block.trim().split('\n')), ...inline].flatMap(
  (line) => line.split(' && '),
);

describe('docs/deploy.md', () => {
  it.each([...new Set(commands)])('%s', (command) => {
    const [program, ...args] = command.split(' ');
    if (program === 'npx') {
      expect(args.shift()).toBe('wrangler');
      expect(misunderstanding(args)).toBeUndefined();
    } else if (program === 'npm' && args[0] === 'run') {
      expect(Object.keys(scripts)).toContain(args[1]);
    } else if (program !== 'sed') {
      expect(['git pull', 'npm ci', 'openssl rand -hex 32']).toContain(command);
    }
  });

  it('has settings for a domain that wrangler reads as they are meant', () => {
    const [snippet = ''] = blocks('toml');
    writeFileSync(join(folder, 'wrangler.toml'), snippet + toml);
    const read = unstable_readConfig({ config: join(folder, 'wrangler.toml') });
    expect(read).toMatchObject({
      name: 'licet',
      workers_dev: true,
      routes: [{ pattern: 'license.example.com', custom_domain: true }],
    });
  });
});

/** Rows of a table as text: a number above 2^53 is none that JavaScript reads. */
async function contentOf(database: D1Database): Promise<Map<string, string>> {
  const { results: schema } = await database
    .prepare("select type, name, sql from sqlite_master where name not like '\\_cf%' escape '\\'")
    .all<{ type: string; name: string; sql: string | null }>();
  const content = new Map(
    schema.map(({ name, sql }) => [name, sql?.replace('IF NOT EXISTS ', '') ?? '']),
  );
  for (const { name } of schema.filter(({ type }) => type === 'table')) {
    const { results } = await database.prepare(`select * from "${name}" order by 1`).all();
    content.set(`rows of ${name}`, JSON.stringify(results));
  }
  return content;
}

it('an export can be restored as docs/deploy.md tells', async () => {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      d1Databases: { BEFORE: 'before', AFTER: 'after' },
    }),
  );
  try {
    const before = await miniflare.getD1Database('BEFORE');
    const after = await miniflare.getD1Database('AFTER');
    const run = (database: D1Database, sql: string) =>
      database.batch(unstable_splitSqlQuery(sql).map((statement) => database.prepare(statement)));

    for (const name of globSync('drizzle/*.sql').toSorted())
      await run(before, readFileSync(name, 'utf8'));
    await run(
      before,
      `create table "d1_migrations" (\nid integer primary key autoincrement\n);
      insert into products values (7, 'a; it''s', '', 'OTHER', '', 1, 1, null, null, null, null, 1, 1, 1);
      insert into licenses (product_id, license_key, license_key_normalized, license_type, max_ips,
        max_hwids, notes, created_at, updated_at) values (7, 'K1', 'K1', 'PERMANENT', 1, 1, 'two
);
lines', 1, 1), (7, 'K2', 'K2', 'PERMANENT', 1, 1, '', 1, 1);
      update licenses set state = 'DEACTIVATED', revision = revision + 1 where id = 1;
      delete from licenses where id = 2;
      insert into bindings (license_id, kind, value) values (1, 'IP', '192.0.2.1');
      insert into requests (id, nonce, request_type, response_type)
        values (243752361521183, 'n', 'V1_VALIDATE', 'VALID');
      insert into request_blocks values (243752361521183, 243752361521183, 1, 0, 0);
      insert into request_terms values (243752361521183 * 64 + 7, '[]'), (243752361521183 * 64 + 9, '[]')`,
    );

    // As src/d1/export.ts of wrangler writes it.
    const dump = await before
      .prepare('PRAGMA miniflare_d1_export(?,?,?);')
      .bind(false, false)
      .raw();
    writeFileSync(join(folder, 'backup.sql'), (dump[0] ?? []).join('\n'));
    const [reorder = ''] = blocks('sh').filter((block) => block.startsWith('sed'));
    const seds = reorder.split('\n').filter((line) => line.startsWith('sed '));
    execFileSync('bash', ['-e', '-c', seds.join('\n')], { cwd: folder });
    // As src/d1/execute.ts runs a file.
    await run(after, readFileSync(join(folder, 'restore.sql'), 'utf8'));

    const expected = await contentOf(before);
    for (const name of ['late_requests', 'request_blocks', 'request_terms']) {
      expected.set(`rows of ${name}`, '[]');
    }
    expect(await contentOf(after)).toEqual(expected);
  } finally {
    await miniflare.dispose();
  }
});
