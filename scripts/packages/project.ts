import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { LINES } from '../../console/src/screens/program/lines.ts';
import {
  BUILD_LINES,
  type PackagedFile,
  REPOSITORY,
} from '../../console/src/screens/program/packages.ts';

/** The parts of the project that all the packages take: its version, its examples and its documents. */

const { version, license }: { version: string; license: string } = JSON.parse(
  readFileSync('package.json', 'utf8'),
);

export { license, version };

/** The files of this version in the repository. */
const TREE = `${REPOSITORY}/blob/v${version}`;

export const LICENSE_TEXT = readFileSync('LICENSE', 'utf8');
export const AUTHORS = 'The Licet authors';
export const SUMMARY = 'Asks Licet, a license service, whether a license key may run here';

/** The first line of the part that tries an example out: it is no part of a program. */
const TRY_OUT = /^.*\b(?:tries it out|is tried out)\b.*$/im;
/** Lua's file returns its functions before that part, if a program has loaded it. */
const LUA_RETURN = /^if not \(arg .* then (return \w+) end .*$/m;

/** An example without the part that tries it out. */
export function exampleOf(file: PackagedFile | 'LicetGuard.java'): string {
  const source = readFileSync(`examples/${file}`, 'utf8').replace(LUA_RETURN, '$1');
  const end = source.search(TRY_OUT);
  return `${source.slice(0, end === -1 ? undefined : end).trimEnd()}\n`;
}

/**
 * The sections of the examples' README. Links to the sections before them, and to other files, lead into the repository:
 * a package has neither.
 */
function sections(): string {
  const readme = readFileSync('examples/README.md', 'utf8');
  const text = readme.slice(readme.indexOf('\n## Behaviour'));
  const anchors = new Set(
    [...text.matchAll(/^## (.+)$/gm)].map(
      ([, heading = '']) => `#${heading.toLowerCase().replaceAll(' ', '-')}`,
    ),
  );
  return text.replaceAll(/(?<=\]\()(?!https?:)[^)]+/g, (link) => {
    if (anchors.has(link)) return link;
    return `${TREE}/${link.startsWith('#') ? `examples/README.md${link}` : posix.join('examples', link)}`;
  });
}

/** The code in the README of a package: for no service yet. */
const SAMPLE = {
  url: 'https://license.example.com',
  productId: 602,
  publicKeys: 'KID:KEY KID:KEY',
};

/** The README of a package: how it is added and called, and all that the examples' README says about its behaviour. */
export function readmeOf(file: PackagedFile, language: string): string {
  const fence = '```';
  return `# Licet for ${language}

Asks [Licet](${REPOSITORY}), a license service that sellers run themselves, whether a license key may run here. No
dependencies. ${BUILD_LINES[file](version).includes('(') ? 'In the build file' : 'To add it'}:

${fence}
${BUILD_LINES[file](version)}
${fence}

In your program, with the URL, the product id and the public keys of your service, as *In your program* of its console
shows them:

${fence}${file.split('.').at(-1)}
${LINES[file](SAMPLE, true)}
${fence}

The rest is for all languages. Import the names that you use from there; in Go, write \`licet.\` before them.
${sections()}`;
}
