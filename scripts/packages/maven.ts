import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import {
  JAVA_ARTIFACT,
  JAVA_GROUP,
  JAVA_PACKAGE,
  REPOSITORY,
} from '../../console/src/screens/program/packages.ts';
import { type Files, zip } from './archive.ts';
import {
  AUTHORS,
  exampleOf,
  LICENSE_TEXT,
  license,
  readmeOf,
  SUMMARY,
  version,
} from './project.ts';

const PACKAGE_FOLDER = JAVA_PACKAGE.replaceAll('.', '/');
const CHECKSUMS = ['md5', 'sha1', 'sha256', 'sha512'];

const pom = `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>${JAVA_GROUP}</groupId>
  <artifactId>${JAVA_ARTIFACT}</artifactId>
  <version>${version}</version>
  <name>Licet for Java</name>
  <description>${SUMMARY}.</description>
  <url>${REPOSITORY}</url>
  <licenses>
    <license>
      <name>${license}</name>
      <url>${REPOSITORY}/blob/v${version}/LICENSE</url>
    </license>
  </licenses>
  <developers>
    <developer>
      <name>${AUTHORS}</name>
      <url>${REPOSITORY}</url>
    </developer>
  </developers>
  <scm>
    <connection>scm:git:${REPOSITORY}.git</connection>
    <developerConnection>scm:git:${REPOSITORY}.git</developerConnection>
    <url>${REPOSITORY}</url>
    <tag>v${version}</tag>
  </scm>
</project>
`;

const MANIFEST = `Manifest-Version: 1.0\r
Automatic-Module-Name: ${JAVA_PACKAGE}\r
Implementation-Title: ${JAVA_ARTIFACT}\r
Implementation-Version: ${version}\r
\r
`;

const jar = (files: Files): Uint8Array =>
  zip({ 'META-INF/MANIFEST.MF': MANIFEST, 'META-INF/LICENSE': LICENSE_TEXT, ...files });

/** The files of a folder, also those without an extension: other documentation links by `element-list`. */
function filesIn(folder: string): Files {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))]));
}

function withChecksums(files: Files): Files {
  return Object.fromEntries(
    Object.entries(files).flatMap(([name, content]) => [
      [name, content],
      ...CHECKSUMS.map((kind) => [
        `${name}.${kind}`,
        createHash(kind).update(content).digest('hex'),
      ]),
    ]),
  );
}

/** The bundle that Maven Central takes, without the signatures: `.github/workflows/release.yml` adds these. */
export function maven(): Files {
  const folder = mkdtempSync(join(tmpdir(), 'licet-maven-'));
  try {
    const names = ['Licet.java', 'LicetGuard.java'] as const;
    const sources: Files = Object.fromEntries(
      names.map((name) => [
        `${PACKAGE_FOLDER}/${name}`,
        `package ${JAVA_PACKAGE};\n\n${exampleOf(name)}`,
      ]),
    );
    mkdirSync(join(folder, PACKAGE_FOLDER), { recursive: true });
    for (const [name, text] of Object.entries(sources)) writeFileSync(join(folder, name), text);
    const run = (tool: string, ...args: string[]) =>
      execFileSync(tool, [...args, '-encoding', 'UTF-8', ...Object.keys(sources)], {
        cwd: folder,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    // Newer JDKs warn that they will drop Java 8.
    run('javac', '--release', '8', '-Xlint:-options', '-d', 'classes');
    // The documentation would have the language of the machine.
    run(
      'javadoc',
      '-J-Duser.language=en',
      '-quiet',
      '-notimestamp',
      '-Xdoclint:none',
      '-d',
      'javadoc',
    );
    const base = `${JAVA_ARTIFACT}-${version}`;
    const place = `${JAVA_GROUP.replaceAll('.', '/')}/${JAVA_ARTIFACT}/${version}`;
    const files = withChecksums({
      [`${place}/${base}.pom`]: pom,
      [`${place}/${base}.jar`]: jar(filesIn(join(folder, 'classes'))),
      [`${place}/${base}-sources.jar`]: jar({
        'META-INF/README.md': readmeOf('Licet.java', 'Java'),
        ...sources,
      }),
      [`${place}/${base}-javadoc.jar`]: jar(filesIn(join(folder, 'javadoc'))),
    });
    return { [`${base}-bundle.zip`]: zip(files) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
