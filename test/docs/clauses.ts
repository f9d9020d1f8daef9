import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * The clauses of the interface and of the decisions, and the tests that prove them. A title names its clauses in
 * brackets at its end, such as [1.4.7] or [1.2.8, interface 4.7].
 */

export const CLAUSES_FILE = 'test/conformance/README.md';
/** The interface says that there are no events. */
const WITHOUT_TESTS = new Set(['interface 6']);

interface Clause {
  tag: string;
  /** Its beginning, as a reminder. */
  text: string;
}

interface Section {
  heading: string;
  clauses: Clause[];
}

const MAX_TEXT_LENGTH = 90;

function shortened(text: string): string {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  return `${text.slice(0, text.lastIndexOf(' ', MAX_TEXT_LENGTH))} …`;
}

const plain = (text: string): string => text.replaceAll(/[`*|]/g, '');

/** Splits a document at its headings of the second and third level, without what is before the first. */
function sectionsOf(file: string): { number: string; title: string; body: string }[] {
  const parts = readFileSync(file, 'utf8').split(/^#{2,3} (?=\d)/m);
  return parts.slice(1).map((part) => {
    const [, number = '', title = '', body = ''] =
      /^([\d.]+?)\.? ([^\n]*)\n(.*)$/s.exec(part) ?? [];
    return { number, title, body };
  });
}

/** Each section is a clause, because the text of the interface is fixed and has no tags. */
function interfaceSections(): Section[] {
  const clauses = sectionsOf('docs/interface.md').map(({ number, title }) => ({
    tag: `interface ${number}`,
    text: title,
  }));
  return [{ heading: 'The interface', clauses }];
}

/** Each bullet is a clause, and each section without bullets and parts. A heading of further bullets needs no tag. */
function decisionSections(): Section[] {
  const sections = sectionsOf('docs/decisions.md');
  return sections.map(({ number, title, body }) => {
    const bullets = [...body.matchAll(/^ *- (?:\[([\d.]+)\] )?(.*)$/gm)]
      .filter(([, tag, text = '']) => tag !== undefined || !text.endsWith(':'))
      .map(([, tag = '', text = '']) => ({ tag, text: shortened(plain(text)) }));
    const isWhole = !sections.some((other) => other.number.startsWith(`${number}.`));
    const own = bullets.length === 0 && isWhole ? [{ tag: number, text: title }] : [];
    return { heading: `${number} ${title}`, clauses: [...bullets, ...own] };
  });
}

const TAGS = String.raw`(?:interface )?\d[\d.]*`;
const TAGGED_TITLE = new RegExp(
  String.raw`(['"\`])((?:(?!\1)[^\\\n]|\\.)*) \[(${TAGS}(?:, ${TAGS})*)\]\1`,
  'g',
);

/** The tests of each tag, as the table names them. */
function testsByTag(): Map<string, string[]> {
  const tests = new Map<string, string[]>();
  for (const file of globSync('test/**/*.ts').sort()) {
    for (const [, , title = '', tags = ''] of readFileSync(file, 'utf8').matchAll(TAGGED_TITLE)) {
      const text = title.replaceAll(/\\(.)/g, '$1').replaceAll('|', '\\|');
      const test = `\`${relative('test', file)}\` › ${text}`;
      for (const tag of tags.split(', ')) tests.set(tag, [...(tests.get(tag) ?? []), test]);
    }
  }
  return tests;
}

const INTRODUCTION = `# Conformance

Made by \`npm run clauses\` of the tags in brackets: those of the [decisions](../../docs/decisions.md), and those at
the end of the titles of tests. \`npx vitest run -t '1\\.4\\.7\\b'\` runs the tests of one clause. A section of the
[interface](../../docs/interface.md) has the tag \`interface\` with its number.
`;

/** @returns the table, the clauses that no test names, and the tags of no clause or of several */
export function readClauses(): { table: string; unproved: Clause[]; faults: string[] } {
  const sections = [...interfaceSections(), ...decisionSections()];
  const tests = testsByTag();
  const clauses = sections.flatMap((section) => section.clauses);
  const tags = clauses.map(({ tag }) => tag);
  const row = ({ tag, text }: Clause): string =>
    `| ${tag} | ${text} | ${tests.get(tag)?.join('<br>') ?? ''} |\n`;
  const tables = sections
    .filter((section) => section.clauses.length > 0)
    .map(
      ({ heading, clauses }) => `
## ${heading}

| Clause | Begins with | Tests |
|---|---|---|
${clauses.map(row).join('')}`,
    );
  return {
    table: `${INTRODUCTION}${tables.join('')}`,
    unproved: clauses.filter(({ tag }) => !tests.has(tag) && !WITHOUT_TESTS.has(tag)),
    faults: [
      ...[...tests.keys()].filter((tag) => !tags.includes(tag)),
      ...tags.filter((tag, index) => tags.indexOf(tag) !== index),
    ],
  };
}
