/** @module-tag long */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../../console/src/screens/program/packages.ts';
import { readmeOf } from '../../scripts/packages/project.ts';
import { ownFolder } from './own.ts';
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

describe('npm run packages', () => {
  /** Runs the script where only Node is in the PATH. */
  function runScript(...args: string[]) {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/packages.ts', ...args], {
      encoding: 'utf8',
      env: { PATH: dirname(process.execPath), NO_COLOR: '1' },
      timeout: 60_000,
    });
    return { status, stderr };
  }

  it('a missing tool is named', () => {
    expect(runScript('--out', ownFolder(), 'maven')).toEqual({
      status: 1,
      stderr:
        '✗ The package maven cannot be made: javac is not in the PATH. docs/packages.md has the tools; ' +
        'name other packages to make them without it.\n',
    });
  });

  it.each(['package.json', 'package.json/packages', '/proc/packages'])(
    'the folder %s is refused with the option to choose another',
    (folder) => {
      const { status, stderr } = runScript('--out', folder, 'luarocks');
      expect(status).toBe(1);
      expect(stderr).toMatch(
        /^✗ The folder \S+ cannot be used: .+\. Choose another with --out DIR\.\n$/,
      );
    },
  );

  it('an unknown name is refused with the known ones', () => {
    const { status, stderr } = runScript('java');
    expect(status).toBe(2);
    expect(stderr).toContain('There is no package java.');
    expect(stderr).toContain('maven, npm, pypi, composer, nuget, luarocks, go');
  });
});
