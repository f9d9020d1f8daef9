import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Marked, Renderer, type Tokens } from 'marked';

/**
 * The documents as pages under `/docs`, for a reader who has the service and not this folder, and as Markdown for agents
 * (12).
 */

const PAGES = 'public/docs';
const GUIDES = 'guides';
/** The page that the Worker serves where no document is. */
const NOT_FOUND = '404';

/** The documents by subject. */
export const SUBJECTS = {
  'In your program': [
    'docs/packages.md',
    'docs/coding-agents.md',
    'examples/README.md',
    'docs/signing.md',
    'docs/entitlements.md',
    'docs/drm.md',
    'docs/webhooks.md',
    'docs/portal.md',
    'docs/mail.md',
    'docs/discord.md',
    'packages/client/README.md',
  ],
  'Run the shop': [
    'docs/console.md',
    'docs/assistants.md',
    'docs/import.md',
    'packages/cli/README.md',
    'docs/markets/builtbybit.md',
    'docs/markets/voxel.md',
    'docs/markets/dynamic.md',
    'docs/markets/tebex.md',
    'docs/markets/stripe.md',
    'docs/markets/paynow.md',
  ],
  'Run the service': [
    'docs/one-machine.md',
    'docs/deploy.md',
    'docs/configuration.md',
    'docs/operations.md',
    'docs/cost.md',
  ],
  'How it works': [
    'docs/interface.md',
    'docs/decisions.md',
    'docs/cache.md',
    'docs/history.md',
    'docs/publishing.md',
  ],
} as const;

const documents = Object.values(SUBJECTS).flat();

/** The name of a document's page: `signing` for `docs/signing.md`, `examples` for `examples/README.md`. */
const nameOf = (file: string): string => /([\w-]+)(?:\/README)?\.md$/.exec(file)?.[1] ?? '';

/** The files that a page links to, by their addresses. */
const FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(documents.map((file) => [file, `/docs/${nameOf(file)}`])),
  ...Object.fromEntries(
    examples().map((name) => [join('examples', name), `/docs/examples/${name}`]),
  ),
  'docs/openapi.json': '/openapi.json',
};

function examples(): string[] {
  return readdirSync('examples').filter((name) => name !== 'README.md');
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** The fragment of a heading, as GitHub makes it. */
const fragmentOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

/** The address that a link of a document leads to; undefined for a file that the service does not have. */
function addressOf(link: string, document: string): string | undefined {
  if (/^(https?:|#)/.test(link)) return link;
  const [path = '', fragment] = link.split('#');
  const address = FILES[join(dirname(document), path)];
  return address && (fragment === undefined ? address : `${address}#${fragment}`);
}

function render(document: string, text: string): string {
  const plain = new Renderer();
  let regions = 0;
  /** A part of the page that is scrolled by itself, because a phone is narrow. Its label has to be its own. */
  const scrolled = (kind: string, content: string): string =>
    `<div class="wide" role="region" aria-label="${kind} ${++regions}" tabindex="0">${content}</div>\n`;
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading): string {
        const content = this.parser.parseInline(tokens);
        // `#4.6` leads to a section, whatever its title.
        const [, section] = /^(\d+(?:\.\d+)*)\.? /.exec(text) ?? [];
        const anchor = section === undefined ? '' : `<span id="${section}"></span>`;
        return `<h${depth} id="${fragmentOf(text)}">${anchor}${content}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const content = this.parser.parseInline(tokens);
        const address = addressOf(href, document);
        return address === undefined ? content : `<a href="${escaped(address)}">${content}</a>`;
      },
      table(token: Tokens.Table): string {
        plain.parser = this.parser;
        const table = plain.table(token);
        const hasHead = token.header.some(({ text }) => text !== '');
        return scrolled('Table', hasHead ? table : table.replace(/<thead>.*<\/thead>\n/s, ''));
      },
      codespan({ text }: Tokens.Codespan): string {
        // The hyphens of an option are no place for a line break.
        return `<code>${escaped(text).replaceAll(/(?<= |^)-[\w-]{1,24}/g, '<span>$&</span>')}</code>`;
      },
      code({ text, lang }: Tokens.Code): string {
        // A diagram for GitHub, which draws it; here it would be its source. The text says the same.
        if (lang === 'mermaid') return '';
        return scrolled('Code', `<pre><code>${escaped(text)}</code></pre>`);
      },
    },
  });
  return marked.parse(text, { async: false });
}

interface Document {
  file: string;
  name: string;
  title: string;
  /** Its first sentence. */
  summary: string;
  content: string;
  /** The document as it is, with links to files that the service has. */
  markdown: string;
}

/** A document for agents. Its links to other documents lead to their Markdown. */
function markdownOf(file: string, text: string): string {
  return text.replaceAll(/(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g, (_, label: string, link: string) => {
    const address = addressOf(link, file);
    if (address === undefined) return label;
    const [path = '', fragment] = address.split('#');
    const isGuide = documents.some((one) => `/docs/${nameOf(one)}` === path);
    const target = isGuide ? `${path}.md` : path;
    return `[${label}](${fragment === undefined ? target : `${target}#${fragment}`})`;
  });
}

function readDocument(file: string): Document {
  const text = readFileSync(file, 'utf8');
  const content = render(file, text);
  const [, title = ''] = /<h1[^>]*>(.*?)<\/h1>/.exec(content) ?? [];
  const [, summary = ''] = /<p>(.*?[.:])(?:\s|<\/p>)/s.exec(content) ?? [];
  return {
    file,
    name: nameOf(file),
    title,
    summary: summary.replace(/:$/, '.'),
    content,
    markdown: markdownOf(file, text),
  };
}

const menu = (documents: readonly Document[], name: string): string =>
  Object.entries(SUBJECTS)
    .map(([subject, files]) => {
      const items = files.flatMap((file) => documents.filter((document) => document.file === file));
      const links = items.map(
        (item) =>
          `<li><a href="/docs/${item.name}"${item.name === name ? ' aria-current="page"' : ''}>${item.title}</a></li>`,
      );
      return `<h2>${subject}</h2>\n<ul>\n${links.join('\n')}\n</ul>`;
    })
    .join('\n');

const overview = (documents: readonly Document[]): string =>
  `<h1>Guides</h1>\n${Object.entries(SUBJECTS)
    .map(([subject, files]) => {
      const items = files.flatMap((file) => documents.filter((document) => document.file === file));
      const entries = items.map(
        ({ name, title, summary }) =>
          `<dt><a href="/docs/${name}">${title}</a></dt>\n<dd>${summary}</dd>`,
      );
      return `<h2>${subject}</h2>\n<dl>\n${entries.join('\n')}\n</dl>`;
    })
    .join('\n')}`;

const page = (title: string, menu: string, content: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title} · Licet</title>
    <link rel="icon" href="/docs/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/docs/frame.css" />
    <link rel="stylesheet" href="/docs/pages.css" />
  </head>
  <body>
    <header>
      <a class="home" href="/docs/${GUIDES}"><img src="/docs/icon.svg" alt="" width="28" height="28" />Guides</a>
      <a href="/docs">API reference</a>
      <a href="/console">Console</a>
    </header>
    <div class="columns">
      <nav aria-label="Guides">
${menu}
      </nav>
      <main>
${content}
      </main>
    </div>
  </body>
</html>
`;

const NO_DOCUMENT = `<h1>There is no such document</h1>
<p>Choose one on <a href="/docs/${GUIDES}">the page of all guides</a>.</p>`;

/** The text of a piece of a page. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');

const AGENTS = 'llms.txt';
const ALL_FOR_AGENTS = 'llms-full.txt';

/** The list of the guides for agents (https://llmstxt.org). */
const listForAgents = (all: readonly Document[]): string =>
  `# Licet

> A license service for sellers of plugins, mods, bots and software. Programs ask it whether a license key is valid. Sellers manage licenses in a console, over REST, at the command line, and with assistants (MCP, at /mcp).

All guides in one file: [${ALL_FOR_AGENTS}](/${ALL_FOR_AGENTS}). The interface as OpenAPI: [openapi.json](/openapi.json).
${Object.entries(SUBJECTS)
  .map(([subject, files]) => {
    const items = files.flatMap((file) => all.filter((document) => document.file === file));
    const lines = items.map(
      ({ name, title, summary }) => `- [${textOf(title)}](/docs/${name}.md): ${textOf(summary)}\n`,
    );
    return `\n## ${subject}\n\n${lines.join('')}`;
  })
  .join('')}`;

/** Writes a file unless it is there: `npm run dev` would reload the service. */
export function writeChanged(file: string, content: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== content) writeFileSync(file, content);
}

/** Removes the files of an earlier build: pages of removed documents, or removed examples. */
function removeOthers(folder: string, ending: string, names: readonly string[]): void {
  const others = readdirSync(folder).filter((name) => name.endsWith(ending));
  for (const name of others) if (!names.includes(name)) rmSync(join(folder, name));
}

/** Makes the pages, and puts the examples beside them. */
export function buildDocuments(): void {
  const all = documents.map(readDocument);
  for (const { name, title, content, markdown } of all) {
    writeChanged(join(PAGES, `${name}.html`), page(title, menu(all, name), content));
    writeChanged(join(PAGES, `${name}.md`), `All guides: [/${AGENTS}](/${AGENTS})\n\n${markdown}`);
  }
  writeChanged(join(PAGES, `${GUIDES}.html`), page('Guides', menu(all, GUIDES), overview(all)));
  writeChanged(join(PAGES, `${NOT_FOUND}.html`), page('Not found', menu(all, ''), NO_DOCUMENT));
  writeChanged(join('public', AGENTS), listForAgents(all));
  writeChanged(
    join('public', ALL_FOR_AGENTS),
    all.map(({ name, markdown }) => `Source: /docs/${name}.md\n\n${markdown}`).join('\n'),
  );
  mkdirSync(join(PAGES, 'examples'), { recursive: true });
  for (const name of examples()) {
    const [from, to] = [join('examples', name), join(PAGES, 'examples', name)];
    if (!existsSync(to) || !readFileSync(from).equals(readFileSync(to))) copyFileSync(from, to);
  }
  removeOthers(
    PAGES,
    '.html',
    [GUIDES, NOT_FOUND, ...all.map(({ name }) => name)].map((name) => `${name}.html`),
  );
  removeOthers(
    PAGES,
    '.md',
    all.map(({ name }) => `${name}.md`),
  );
  removeOthers(join(PAGES, 'examples'), '', examples());
}
