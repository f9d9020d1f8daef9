import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { SUBJECTS } from '../../../scripts/console/documents.ts';
import { sharedService } from '../shared-service.ts';
import { accessibilityFindings, describeInBrowser, newPage, PHONE } from './console.ts';

/** The documents as pages of the service. */

let address: string;
beforeAll(async () => {
  address = await sharedService();
});

const get = (path: string) => fetch(`${address}${path}`, { redirect: 'manual' });

const linksOf = (html: string): string[] =>
  [...html.matchAll(/<(?:a|link|img)\b[^>]* (?:href|src)="([^"]*)"/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  );

it('every document of docs/ is served', () => {
  const served: readonly string[] = Object.values(SUBJECTS).flat();
  const missing = readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .filter((name) => !served.includes(`docs/${name}`));
  expect(missing).toEqual([]);
});

it('a browser at a document that is not there gets a page that leads to the guides', async () => {
  const ask = (accept: string) => fetch(`${address}/docs/nope`, { headers: { Accept: accept } });
  const page = await ask('text/html,application/xhtml+xml');
  expect(page.status).toBe(404);
  const html = await page.text();
  // The frame of the guides: their menu, their style and their head.
  const guides = await (await get('/docs/guides')).text();
  const menu = guides.slice(guides.indexOf('<header>'), guides.indexOf('<main>'));
  expect(linksOf(html)).toEqual([
    ...linksOf(guides.slice(0, guides.indexOf('<header>'))),
    ...linksOf(menu),
    '/docs/guides',
  ]);
  expect(await (await ask('*/*')).json()).toMatchObject({ message: 'Path not found' });
});

it('every link of the documents leads to a page, a file or a heading of the service [4.27]', async () => {
  const pages = new Map<string, string>();
  const files = new Set<string>();
  const fragments: [link: string, from: string][] = [];
  const waiting = ['/docs/guides'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path) || files.has(path)) continue;
    const response = await get(path);
    expect(response.status, path).toBe(200);
    const isPage = /^\/docs\/[\w-]+$/.test(path);
    expect(response.headers.get('Content-Type') === 'text/html; charset=utf-8', path).toBe(
      isPage || path === '/docs' || path === '/console',
    );
    const text = await response.text();
    if (!isPage) {
      files.add(path);
      continue;
    }
    pages.set(path, text);
    for (const link of linksOf(text).filter((link) => !/^https?:/.test(link))) {
      expect(link, path).toMatch(/^[/#]/);
      const [target = '', fragment] = link.split('#');
      if (fragment !== undefined) fragments.push([`${target || path}#${fragment}`, path]);
      if (target) waiting.push(target);
    }
  }
  const dead = fragments.filter(([link]) => {
    const [path = '', fragment = ''] = link.split('#');
    return !pages.get(path)?.includes(` id="${fragment}"`);
  });
  expect(dead).toEqual([]);
  expect(fragments.length).toBeGreaterThan(20);
  const documents = Object.values(SUBJECTS).flat();
  expect(pages.size).toBe(documents.length + 1);
  const examples = readdirSync('examples').filter((name) => name !== 'README.md');
  expect([...files]).toEqual(
    expect.arrayContaining([
      '/docs',
      '/console',
      ...examples.map((name) => `/docs/examples/${name}`),
    ]),
  );
});

it('every section that the interface names is a link to its place in the document [3.1.5]', async () => {
  const document = await (await get('/openapi.json')).text();
  const links = [...document.matchAll(/\]\((\/docs\/\w+)(?:#([\d.]+))?\)/g)];
  const pages = new Map<string, string>();
  for (const [, path = '', section] of links) {
    const page = pages.get(path) ?? (await (await get(path)).text());
    pages.set(path, page);
    expect(page).toContain(section === undefined ? '<h1' : ` id="${section}"`);
  }
  expect([...pages.keys()]).toEqual(
    expect.arrayContaining(['/docs/interface', '/docs/signing', '/docs/import']),
  );
  expect(document).not.toMatch(/\[\d(\.\d)?\](?!\()|docs\/\w+\.md/);
});

it('an example is served byte for byte', async () => {
  const response = await get('/docs/examples/licet.py');
  expect(await response.text()).toBe(readFileSync('examples/licet.py', 'utf8'));
});

it.each(['/docs/nowhere', '/docs/adr', '/docs/sign.md', '/docs/examples/README.md'])(
  'a path under /docs without a file is not found: %s [4.27]',
  async (path) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    expect(response.headers.get('Content-Type')).toBe('application/json');
  },
);

describeInBrowser('the documents in a browser', () => {
  it.each(['/docs/guides', '/docs/examples', '/docs/decisions'])(
    'a document can be read on a phone, by everybody, under the strict policy: %s',
    { tags: 'long' },
    async (path) => {
      const page = await newPage({ viewport: PHONE });
      const response = await page.goto(path);
      expect(await response?.headerValue('Content-Security-Policy')).toContain(
        "default-src 'none'",
      );
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
      expect(await page.evaluate('getComputedStyle(document.body).marginTop')).toBe('0px');
      expect(await accessibilityFindings(page)).toEqual([]);
    },
  );
});
