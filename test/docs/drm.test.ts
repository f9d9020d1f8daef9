import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { checkLicense } from '../../examples/licet.ts';
import { listen, ownFolder } from '../node/own.ts';

/** The expectations of docs/drm.md. */

const folder = ownFolder();
const guide = readFileSync('docs/drm.md', 'utf8');

const rows = guide.split('\n').filter((line) => / › /.test(line));

it('each expectation of docs/drm.md names a test that exists', () => {
  const missing = rows.filter((row) => {
    const [, file = '', title = ''] = /`([\w./-]+\.ts)` › (.+) \|$/.exec(row) ?? [];
    const source = file && readFileSync(`test/${file}`, 'utf8');
    // A title ends with its tags or with its quotation mark.
    return title === '' || ![`'${title}'`, `'${title} [`].some((text) => source.includes(text));
  });
  expect(missing).toEqual([]);
  expect(rows.length).toBeGreaterThan(10);
});

it('a program sends what docs/drm.md says, and nothing else about the customer', async () => {
  const sent: object[] = [];
  const url = await listen(async (request, response) => {
    sent.push(Object(await json(request)));
    response.writeHead(400).end('{"valid":false,"message":"License has expired"}');
  });
  const own = { url, productId: 1, productVersion: '1', licenseKey: 'KEY' };
  await checkLicense({ ...own, markFile: join(folder, 'licet.mark') });
  const [, list = ''] = /Say so in the description of your product: ([^.]+)\./.exec(guide) ?? [];
  const named = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  const [first = {}] = sent;
  expect(Object.keys(first).filter((name) => !named.includes(name))).toEqual([]);
  expect(named.filter((name) => name !== undefined && !(name in first))).toEqual(['javaVersion']);
});
