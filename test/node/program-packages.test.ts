import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { REPOSITORY } from '../../console/src/screens/program/packages.ts';
import { readmeOf } from '../../scripts/packages/project.ts';
import { CONSUMERS, tryPackage } from './program-packages.ts';

/** The package for Node. The others are in the long form, with their tools. */

tryPackage('npm', CONSUMERS.npm);

it('each link in the README of a package leads to a section of it or of a file in the repository', () => {
  const anchorsOf = (text: string) =>
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, name = '']) =>
      name.toLowerCase().replaceAll(' ', '-'),
    );
  const readme = readmeOf('licet.mjs', 'Node');
  const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(5);
  for (const link of links) {
    const [address = '', anchor] = link.split('#');
    const [, file] = /\/blob\/v[\d.]+\/(.+)/.exec(address) ?? [];
    if (!file) expect(['', REPOSITORY], link).toContain(address);
    if (anchor)
      expect(anchorsOf(file ? readFileSync(file, 'utf8') : readme), link).toContain(anchor);
  }
});
