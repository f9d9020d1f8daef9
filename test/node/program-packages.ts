import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { LINES } from '../../console/src/screens/program/lines.ts';
import {
  GO_MODULE,
  JAVA_ARTIFACT,
  JAVA_GROUP,
  JAVA_PACKAGE,
  type PackagedFile,
} from '../../console/src/screens/program/packages.ts';
import { messageFor, runIn } from './example-programs.ts';
import { listenWith, ownFolder } from './own.ts';
import { freePort } from './service.ts';
import { sharedService } from './shared-service.ts';
import { canRun, hasTools } from './tools.ts';

/**
 * The packages of `npm run packages`, each installed into an empty project without a network. The project is the part of
 * the example that tries it out: it reads its settings from the environment, and the package has no such part.
 */

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

/** The part of an example that tries it out. */
const tryOutOf = (file: string): string => {
  const source = readFileSync(`examples/${file}`, 'utf8');
  return source.slice(source.search(/^.*\b(?:tries it out|is tried out)\b.*$/im));
};

/** The lines that the console shows for a package. */
const linesOf = (file: PackagedFile): string =>
  LINES[file]({ url: 'http://localhost', productId: 602, publicKeys: 'KID:KEY KID:KEY' }, true);

/** A project that uses a package. */
export interface Consumer {
  /** The argument of `npm run packages`. */
  registry: string;
  alg: 'ES256' | 'RS256';
  tools: readonly string[];
  /** Packages of the machine, and a command that fails without them. */
  needs?: { packages: string; command: string };
  /** Its files by their names. */
  files: Readonly<Record<string, string>>;
  /** Commands that install the package from the folder `$PACKAGES`, and build the project. */
  install: string;
  run: string;
}

/** Makes the packages of a registry in a folder. */
export function makePackages(folder: string, ...registries: string[]): string {
  const args = ['run', '-s', 'packages', '--', '--out', folder, ...registries];
  return execFileSync('npm', args, { encoding: 'utf8' });
}

/** Tries a package with a service, a fake one and none. */
export function tryPackage(name: string, consumer: Consumer): void {
  const tests = `the package ${name}`;
  const { tools, needs } = consumer;
  const isPossible =
    hasTools(tests, ...tools) &&
    (!needs || canRun(spawnSync('sh', ['-c', needs.command]).status === 0, needs.packages, tests));
  describe.skipIf(!isPossible)(tests, () => {
    const folder = ownFolder();
    const lease = join(folder, 'first.mark');
    let url: string;
    let publicKeys: string;
    let productId: number;
    let valid: string;
    let refused: string;

    beforeAll(async () => {
      const packages = join(folder, 'packages');
      makePackages(packages, consumer.registry);
      const project = join(folder, 'project');
      for (const [file, text] of Object.entries(consumer.files)) {
        mkdirSync(dirname(join(project, file)), { recursive: true });
        writeFileSync(join(project, file), text);
      }
      const installed = await runIn(project, `sh -ec '${consumer.install}'`, {
        PACKAGES: packages,
        VERSION: version,
      });
      expect(installed.code, installed.output).toBe(0);

      url = await sharedService();
      const licet = new Licet({ url, token: readRootToken() });
      const { keys } = await licet.signingKeys();
      publicKeys = keys
        .filter(({ alg }) => alg === consumer.alg)
        .map((key) => `${key.kid}:${key.kty === 'EC' ? `${key.x}.${key.y}` : key.n}`)
        .slice(0, 2)
        .join(' ');
      ({ id: productId } = await licet.products.create({
        name: `Package for ${name}`,
        productType: 'OTHER',
        offlineDays: 2,
        entitlements: { max_players: 100 },
      }));
      const create = () => licet.licenses.create({ productId, licenseType: 'PERMANENT' });
      ({ licenseKey: valid } = await create());
      const { id, licenseKey } = await create();
      await licet.licenses.change(id, () => ({ licenseStatus: 'DEACTIVATED' }));
      refused = licenseKey;
    });

    const start = (mark: string, at: string, key: string) =>
      runIn(join(folder, 'project'), consumer.run, {
        LICET_URL: at,
        LICET_PRODUCT_ID: String(productId),
        LICET_KEY: key,
        LICET_MARK: mark,
        LICET_PUBLIC_KEYS: publicKeys,
        LICET_ENTITLEMENT: 'max_players',
        LICET_RETRY_SECONDS: '0',
      });
    const fresh = (mark: string) => join(folder, mark);
    const closed = async () => `http://127.0.0.1:${await freePort()}`;

    it(`${name}: a signed response is valid and has its entitlement, also later without the service`, async () => {
      const expected = { code: 0, output: 'License is valid\nmax_players=100' };
      expect(await start(lease, url, valid)).toEqual(expected);
      expect(await start(lease, await closed(), valid)).toEqual(expected);
    });

    it(`${name}: a signed refusal names the buyer's next step`, async () => {
      const message = messageFor('License is deactivated');
      expect(await start(fresh('refused.mark'), url, refused)).toEqual({
        code: 1,
        output: `${message}\nmax_players`,
      });
    });

    it(`${name}: a fake service is not believed`, async () => {
      const fake = await listenWith('{"valid":true,"message":"License is valid"}');
      const { code, output } = await start(fresh('fake.mark'), fake, valid);
      expect(output).toMatch(/^The response has no valid signature of this service/);
      expect(code).toBe(2);
    });

    it(`${name}: a first start without the service says so`, async () => {
      const { code, output } = await start(fresh('closed.mark'), await closed(), valid);
      expect(output).toMatch(/^The license service cannot be reached/);
      expect(code).toBe(2);
    });
  });
}

const PYTHON_DEMO = `import os, sys\nfrom licet import check_license, move_license\n${tryOutOf('licet.py')}`;

export const CONSUMERS = {
  npm: {
    registry: 'npm',
    alg: 'ES256',
    tools: ['node'],
    files: {
      'package.json': '{ "private": true }',
      'lines.mts': `declare const config: { license?: string };\n${linesOf('licet.ts')}`,
      // By this name it tries itself out.
      'licet.mjs': `import { checkLicense, moveLicense } from '@licet/program';\n${tryOutOf('licet.mjs')}`,
    },
    install: `npm install --offline --no-audit --no-fund $PACKAGES/*.tgz
node -e "require(\\"@licet/program\\").checkLicense.call"
tsc --noEmit --strict --module nodenext --types node --typeRoots ${resolve('node_modules/@types')} lines.mts`,
    run: 'node licet.mjs',
  },
  Maven: {
    registry: 'maven',
    alg: 'RS256',
    tools: ['mvn', 'java'],
    needs: {
      packages: 'maven-debian-helper',
      command: 'test -d /usr/share/maven-repo/org/apache/maven/plugins/maven-compiler-plugin',
    },
    files: {
      'src/main/java/Demo.java': `import java.nio.file.*;\nimport ${JAVA_PACKAGE}.Licet;\n${tryOutOf('Licet.java')}`,
      'src/main/java/Shop.java': linesOf('Licet.java').replace(
        /\n\n([\s\S]+)$/,
        '\n\nabstract class Shop extends Plugin {\n$1\n}',
      ),
      'src/main/java/Plugin.java': `abstract class Plugin {
    interface Config { String getString(String path); }
    abstract java.io.File getDataFolder();
    abstract Config getConfig();
    public abstract void onEnable();
    public abstract void onDisable();
}`,
      'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId><artifactId>plugin</artifactId><version>1</version>
  <properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target></properties>
  <repositories><repository><id>bundle</id><url>file://\${project.basedir}/repository</url></repository></repositories>
  <dependencies><dependency>
    <groupId>${JAVA_GROUP}</groupId><artifactId>${JAVA_ARTIFACT}</artifactId><version>${version}</version>
  </dependency></dependencies>
</project>`,
    },
    // Debian's repository has the plug-ins of Maven.
    install: `cp -rs /usr/share/maven-repo local
mkdir repository
(cd repository && jar xf $PACKAGES/*-bundle.zip)
jar tf repository/*/*/*/*/*/*-javadoc.jar | grep -qx element-list
mvn -q -o -Daether.offline.protocols=file -Dmaven.repo.local=local compile
cp local/${JAVA_GROUP.replaceAll('.', '/')}/${JAVA_ARTIFACT}/$VERSION/*.jar .`,
    run: `java -cp 'target/classes:${JAVA_ARTIFACT}-${version}.jar' Demo`,
  },
  'PyPI, wheel': {
    registry: 'pypi',
    alg: 'RS256',
    tools: ['python3'],
    files: {
      'demo.py': PYTHON_DEMO,
    },
    install: 'python3 -m venv env\nenv/bin/pip install -q --no-index $PACKAGES/*.whl',
    run: 'env/bin/python demo.py',
  },
  'PyPI, source': {
    registry: 'pypi',
    alg: 'RS256',
    tools: ['/usr/bin/python3'],
    needs: {
      packages: 'python3-setuptools, python3-wheel and python3-venv',
      command: '/usr/bin/python3 -c "import ensurepip, setuptools, wheel"',
    },
    files: {
      'demo.py': PYTHON_DEMO,
    },
    // Debian's Python has the tools that build a package.
    install: `/usr/bin/python3 -m venv --system-site-packages env
env/bin/pip install -q --no-index --no-build-isolation $PACKAGES/*.tar.gz`,
    run: 'env/bin/python demo.py',
  },
  Composer: {
    registry: 'composer',
    alg: 'RS256',
    tools: ['php', 'composer'],
    needs: {
      packages: 'php-curl and php-zip',
      command: 'php -r \'exit(extension_loaded("curl") && extension_loaded("zip") ? 0 : 1);\'',
    },
    files: {
      'composer.json': `{
  "repositories": [{ "type": "artifact", "url": "artifacts" }, { "packagist.org": false }],
  "require": { "licet/licet": "${version}" }
}`,
      'demo.php': `<?php\nrequire 'vendor/autoload.php';\n${tryOutOf('licet.php')}`,
    },
    install: `mkdir artifacts
cp $PACKAGES/*.zip artifacts
COMPOSER_ALLOW_SUPERUSER=1 COMPOSER_DISABLE_NETWORK=1 COMPOSER_HOME=home composer install --no-interaction --quiet`,
    run: 'php demo.php',
  },
  NuGet: {
    registry: 'nuget',
    alg: 'RS256',
    tools: ['nuget', 'mcs', 'mono'],
    files: { 'Demo.cs': `using System;\n${tryOutOf('Licet.cs')}` },
    install: `nuget install Licet -Version $VERSION -Source $PACKAGES -OutputDirectory packages
mcs -r:System.Net.Http -out:Demo.exe packages/Licet.$VERSION/content/Licet.cs Demo.cs`,
    run: 'mono Demo.exe',
  },
  LuaRocks: {
    registry: 'luarocks',
    alg: 'RS256',
    tools: ['lua5.4', 'luarocks', 'curl', 'openssl'],
    needs: {
      packages: 'liblua5.4-dev',
      command: 'test -e /usr/include/lua5.4/lua.h',
    },
    files: {
      'demo.lua': `local licet = require("licet")\n${tryOutOf('licet.lua').replace(/^if misformed[\s\S]*?^end$/m, '')}`,
    },
    install: 'luarocks --lua-version 5.4 install --tree tree $PACKAGES/*.src.rock',
    run: "env LUA_PATH='tree/share/lua/5.4/?.lua' lua5.4 demo.lua",
  },
  Go: {
    registry: 'go',
    alg: 'ES256',
    tools: ['go', 'unzip'],
    files: {
      'app/lines.go': linesOf('licet.go'),
      'app/main.go': `package main\n\nimport (\n\t"fmt"\n\t"os"\n\t"strconv"\n\n\t. "${GO_MODULE}"\n)\n\n${tryOutOf('licet.go')}`,
    },
    install: `proxy=proxy/${GO_MODULE}/@v
mkdir -p $proxy
cp $PACKAGES/*.zip $proxy/v$VERSION.zip
unzip -p $PACKAGES/*.zip ${GO_MODULE}@v$VERSION/go.mod >$proxy/v$VERSION.mod
echo v$VERSION >$proxy/list
echo "{\\"Version\\":\\"v$VERSION\\",\\"Time\\":\\"2026-01-01T00:00:00Z\\"}" >$proxy/v$VERSION.info
export GOPROXY=file://$PWD/proxy GOSUMDB=off GOMODCACHE=$PWD/modules GOFLAGS=-modcacherw
cd app
go mod init shop
go get ${GO_MODULE}
go vet .
go build -o ../demo .`,
    run: './demo',
  },
} as const satisfies Record<string, Consumer>;
