import type { ExampleFile } from './files.ts';

/** The packages of the examples. `npm run packages` makes them, and docs/publishing.md says how they are published. */

/** The account that has the repository, and the names that Maven and Go derive from it. */
const OWNER = 'licet';
export const REPOSITORY = `https://github.com/${OWNER}/licet`;
export const JAVA_GROUP = `io.github.${OWNER}`;
export const JAVA_ARTIFACT = 'licet-client';
export const JAVA_PACKAGE = `${JAVA_GROUP}.licet`;
export const GO_MODULE = `github.com/${OWNER}/licet/packages/go`;
export const NPM_NAME = '@licet/program';
export const COMPOSER_NAME = 'licet/licet';
/** At PyPI, NuGet and LuaRocks. */
export const NAME = 'licet';
export const NUGET_NAME = 'Licet';

/** An example that is in a package. */
export type PackagedFile = Exclude<ExampleFile, 'Licet17.java' | 'licet.sh'>;

const npm = () => `npm install ${NPM_NAME}`;

/** The line of a build file, or the command that writes it, for a version of the project. */
export const BUILD_LINES: Readonly<Record<PackagedFile, (version: string) => string>> = {
  'Licet.java': (version) => `implementation("${JAVA_GROUP}:${JAVA_ARTIFACT}:${version}")`,
  'licet.ts': npm,
  'licet.mjs': npm,
  'licet.py': () => `pip install ${NAME}`,
  'licet.php': () => `composer require ${COMPOSER_NAME}`,
  'Licet.cs': () => `dotnet add package ${NUGET_NAME}`,
  'licet.lua': () => `luarocks install ${NAME}`,
  'licet.go': () => `go get ${GO_MODULE}`,
};

export const isPackaged = (file: ExampleFile): file is PackagedFile => file in BUILD_LINES;
