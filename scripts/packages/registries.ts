import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  COMPOSER_NAME,
  GO_MODULE,
  NAME,
  NPM_NAME,
  NUGET_NAME,
  REPOSITORY,
} from '../../console/src/screens/program/packages.ts';
import { type Files, tarGz, zip } from './archive.ts';
import { maven } from './maven.ts';
import {
  AUTHORS,
  exampleOf,
  LICENSE_TEXT,
  license,
  readmeOf,
  SUMMARY,
  version,
} from './project.ts';

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The declarations of the functions that `licet.ts` exports. */
function declarations(): string {
  const folder = mkdtempSync(join(tmpdir(), 'licet-npm-'));
  try {
    writeFileSync(join(folder, 'package.json'), json({ type: 'module' }));
    writeFileSync(join(folder, 'licet.ts'), exampleOf('licet.ts'));
    const types = ['--types', 'node', '--typeRoots', resolve('node_modules/@types')];
    const options = ['--declaration', '--emitDeclarationOnly', '--module', 'nodenext', ...types];
    execFileSync('tsc', [...options, 'licet.ts'], { cwd: folder, stdio: 'inherit' });
    return readFileSync(join(folder, 'licet.d.ts'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function npm(): Files {
  const files: Files = {
    'package.json': json({
      name: NPM_NAME,
      version,
      description: SUMMARY,
      license,
      repository: { type: 'git', url: `git+${REPOSITORY}.git` },
      type: 'module',
      engines: { node: '>=18' },
      exports: { '.': { types: './licet.d.ts', default: './licet.mjs' } },
      types: './licet.d.ts',
      sideEffects: false,
    }),
    'README.md': readmeOf('licet.mjs', 'Node'),
    LICENSE: LICENSE_TEXT,
    'licet.mjs': exampleOf('licet.mjs'),
    'licet.d.ts': declarations(),
  };
  return { [`licet-program-${version}.tgz`]: tarGz('package', files) };
}

/** The metadata of a wheel and of a source distribution. */
const pythonMetadata = (): string => `Metadata-Version: 2.1
Name: ${NAME}
Version: ${version}
Summary: ${SUMMARY}
Home-page: ${REPOSITORY}
Author: ${AUTHORS}
License: ${license}
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.8
Description-Content-Type: text/markdown

${readmeOf('licet.py', 'Python')}`;

function pypi(): Files {
  const module = { 'licet/__init__.py': exampleOf('licet.py'), 'licet/py.typed': '' };
  const info = `${NAME}-${version}.dist-info`;
  const wheel: Files = {
    ...module,
    [`${info}/LICENSE`]: LICENSE_TEXT,
    [`${info}/METADATA`]: pythonMetadata(),
    [`${info}/WHEEL`]:
      'Wheel-Version: 1.0\nGenerator: licet\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  };
  const record = Object.entries(wheel).map(([name, content]) => {
    const hash = createHash('sha256').update(content).digest('base64url');
    return `${name},sha256=${hash},${Buffer.byteLength(content)}\n`;
  });
  const source: Files = {
    'PKG-INFO': pythonMetadata(),
    'pyproject.toml': `[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "${NAME}"
version = "${version}"
description = "${SUMMARY}"
readme = "README.md"
license = { text = "${license}" }
authors = [{ name = "${AUTHORS}" }]
requires-python = ">=3.8"
classifiers = ["Programming Language :: Python :: 3", "Typing :: Typed"]
urls = { Homepage = "${REPOSITORY}" }

[tool.setuptools.package-data]
licet = ["py.typed"]
`,
    'README.md': readmeOf('licet.py', 'Python'),
    LICENSE: LICENSE_TEXT,
    ...Object.fromEntries(
      Object.entries(module).map(([name, content]) => [`src/${name}`, content]),
    ),
  };
  return {
    [`${NAME}-${version}-py3-none-any.whl`]: zip({
      ...wheel,
      [`${info}/RECORD`]: `${record.join('')}${info}/RECORD,,\n`,
    }),
    [`${NAME}-${version}.tar.gz`]: tarGz(`${NAME}-${version}`, source),
  };
}

function composer(): Files {
  const files: Files = {
    'composer.json': json({
      name: COMPOSER_NAME,
      description: SUMMARY,
      version,
      type: 'library',
      license,
      homepage: REPOSITORY,
      require: { php: '>=8.0', 'ext-curl': '*', 'ext-openssl': '*' },
      autoload: { classmap: ['licet.php'] },
    }),
    'README.md': readmeOf('licet.php', 'PHP'),
    LICENSE: LICENSE_TEXT,
    'licet.php': exampleOf('licet.php'),
  };
  return { [`licet-php-${version}.zip`]: zip(files) };
}

/** A package of source: programs for .NET, Mono and Unity compile it with their own. */
function nuget(): Files {
  const source = exampleOf('Licet.cs');
  const files: Files = {
    [`${NUGET_NAME}.nuspec`]: `<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>${NUGET_NAME}</id>
    <version>${version}</version>
    <authors>${AUTHORS}</authors>
    <description>${SUMMARY}.</description>
    <license type="expression">${license}</license>
    <projectUrl>${REPOSITORY}</projectUrl>
    <readme>README.md</readme>
    <repository type="git" url="${REPOSITORY}.git" />
    <contentFiles>
      <files include="cs/any/Licet.cs" buildAction="Compile" />
    </contentFiles>
    <frameworkAssemblies>
      <frameworkAssembly assemblyName="System.Net.Http" targetFramework=".NETFramework4.5" />
    </frameworkAssemblies>
  </metadata>
</package>
`,
    '[Content_Types].xml': `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml" />
  <Default Extension="nuspec" ContentType="application/octet" />
  <Default Extension="cs" ContentType="application/octet" />
  <Default Extension="md" ContentType="application/octet" />
</Types>
`,
    '_rels/.rels': `<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/${NUGET_NAME}.nuspec" Id="manifest" />
</Relationships>
`,
    'README.md': readmeOf('Licet.cs', 'C#'),
    // The first is for a PackageReference, the second for packages.config and Unity.
    'contentFiles/cs/any/Licet.cs': source,
    'content/Licet.cs': source,
  };
  return { [`${NUGET_NAME}.${version}.nupkg`]: zip(files) };
}

/** A rock with the source of the module, and the rockspec that says where a release has the same. */
function luarocks(): Files {
  const folder = `licet-lua-${version}`;
  const source = `${folder}.tar.gz`;
  const rockspec = `rockspec_format = "3.0"
package = "${NAME}"
version = "${version}-1"
source = {
  url = "${REPOSITORY}/releases/download/v${version}/${source}",
  dir = "${folder}",
}
description = {
  summary = "${SUMMARY}",
  homepage = "${REPOSITORY}",
  license = "${license}",
}
dependencies = { "lua >= 5.3" }
build = { type = "builtin", modules = { licet = "licet.lua" } }
`;
  const archive = tarGz(folder, {
    'licet.lua': exampleOf('licet.lua'),
    'README.md': readmeOf('licet.lua', 'Lua'),
    LICENSE: LICENSE_TEXT,
  });
  const name = `${NAME}-${version}-1`;
  return {
    [`${name}.rockspec`]: rockspec,
    [source]: archive,
    [`${name}.src.rock`]: zip({ [`${name}.rockspec`]: rockspec, [source]: archive }),
  };
}

/** The module as a proxy of Go modules has it. */
function go(): Files {
  const files: Files = {
    'go.mod': `module ${GO_MODULE}\n\ngo 1.18\n`,
    'licet.go': exampleOf('licet.go').replace(/^package main$/m, 'package licet'),
    'README.md': readmeOf('licet.go', 'Go'),
    LICENSE: LICENSE_TEXT,
  };
  const named = Object.entries(files).map(([name, content]) => [
    `${GO_MODULE}@v${version}/${name}`,
    content,
  ]);
  return { [`licet-go-${version}.zip`]: zip(Object.fromEntries(named)) };
}

/** The makers of the packages by the registry that takes them. Each returns the files to publish by their names. */
export const PACKAGES: Readonly<Record<string, () => Files>> = {
  maven,
  npm,
  pypi,
  composer,
  nuget,
  luarocks,
  go,
};
