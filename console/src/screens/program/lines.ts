import type { ExampleFile } from './files.ts';
import type { Filling } from './fill.ts';
import { GO_MODULE, JAVA_PACKAGE, NPM_NAME } from './packages.ts';

const quoted = (text: string): string => `'${text}'`;

/** @param isPackaged whether the example comes from its package, and not as a file beside the program */
type Lines = (values: Filling, isPackaged?: boolean) => string;

/** Bukkit's names. The task of the scheduler runs on the server's main thread. */
const java = (type: string, construct: string, start: string): string => `private ${type} licet;

@Override
public void onEnable() {
${construct}
${start}
}

@Override
public void onDisable() {
    if (licet != null) licet.close();
}`;

const javaCheck = (message: string): string =>
  `    licet.check().whenComplete((answer, problem) -> getServer().getScheduler().runTask(this, () -> {
        getLogger().info(problem == null ? answer.${message} : problem.toString());
        if (problem != null || !answer.mayRun()) getServer().getPluginManager().disablePlugin(this);
    }));`;

const node =
  (file: string): Lines =>
  ({ url, productId, publicKeys }, isPackaged) =>
    `import { checkLicense } from '${isPackaged ? NPM_NAME : `./${file}`}';

const { mayRun, message } = await checkLicense({
  url: ${quoted(url)},
  productId: ${productId},
  productVersion: '1.4.0',
  licenseKey: config.license,
  markFile: 'licet.mark',${publicKeys ? `\n  publicKeys: ${quoted(publicKeys)},` : ''}
});
console.log(message);
if (!mayRun) process.exit(1);`;

/**
 * The lines of a program that calls an example. The license key comes from the customer's configuration. They need no
 * import that they do not have, because a program may have none of it.
 */
export const LINES: Readonly<Record<ExampleFile, Lines>> = {
  'Licet.java': ({ url, productId, publicKeys }, isPackaged) =>
    (isPackaged ? `import ${JAVA_PACKAGE}.*;\n\n` : '') +
    java(
      'Licet',
      `    licet = new Licet("${url}", ${productId}, "1.4.0", getConfig().getString("license"),
        getDataFolder().toPath().resolve("licet.mark"));${
          publicKeys
            ? `\n    licet.publicKeys = "${publicKeys}"; // without this line, the plugin trusts every server`
            : ''
        }`,
      isPackaged ? '    LicetGuard.start(this, licet);' : javaCheck('message'),
    ),
  'Licet17.java': ({ url, productId, publicKeys }) =>
    java(
      'Licet17',
      `    licet = new Licet17("${url}", ${productId}, "1.4.0", getConfig().getString("license"),
        getDataFolder().toPath().resolve("licet.mark")${publicKeys ? `,\n        "${publicKeys}"` : ''});`,
      javaCheck('message()'),
    ),
  'licet.ts': node('licet.ts'),
  'licet.mjs': node('licet.mjs'),
  'licet.py': ({ url, productId, publicKeys }) => `from licet import check_license

answer = check_license(
    "${url}", ${productId}, "1.4.0", config.get("license"), "licet.mark",${publicKeys ? `\n    public_keys="${publicKeys}",` : ''}
)
print(answer.message)
if not answer.may_run:
    raise SystemExit(1)`,
  'licet.php': (
    { url, productId, publicKeys },
    isPackaged,
  ) => `require '${isPackaged ? 'vendor/autoload.php' : 'licet.php'}';

$licet = new Licet(
    ${quoted(url)}, ${productId}, '1.4.0', $config['license'] ?? null, 'licet.mark',${publicKeys ? `\n    ${quoted(publicKeys)},` : ''}
);
$answer = $licet->check();
echo $answer->message, "\\n";
if (!$answer->mayRun()) exit(1);`,
  'Licet.cs': ({ url, productId, publicKeys }) => `var licet = new Licet
{
    Url = "${url}", ProductId = ${productId}, ProductVersion = "1.4.0",
    LicenseKey = config["license"], MarkFile = "licet.mark",${publicKeys ? `\n    PublicKeys = "${publicKeys}",` : ''}
};
var answer = await licet.Check();
System.Console.WriteLine(answer.Message);
if (!answer.MayRun) System.Environment.Exit(1);`,
  'licet.lua': ({ url, productId, publicKeys }) => `local licet = require("licet")

local state, message = licet.check({
  url = "${url}", product_id = ${productId}, product_version = "1.4.0",
  license_key = config.license, mark_file = "licet.mark",${publicKeys ? `\n  public_keys = "${publicKeys}",` : ''}
})
print(message)
if state ~= "valid" and state ~= "grace" then os.exit(1) end`,
  'licet.go': ({ url, productId, publicKeys }, isPackaged) => `package main

import (
	"fmt"
	"os"
${isPackaged ? `\n	licet "${GO_MODULE}"\n` : ''})

func requireLicense(licenseKey string) {
	program := ${isPackaged ? 'licet.' : ''}Program{
		URL: "${url}", ProductID: ${productId}, ProductVersion: "1.4.0",
		LicenseKey: licenseKey, MarkFile: "licet.mark",
		TimeoutSeconds: 10, RetrySeconds: 2, GraceHours: 72,${publicKeys ? `\n		PublicKeys: "${publicKeys}",` : ''}
	}
	answer := program.Check()
	fmt.Println(answer.Message)
	if !answer.MayRun() {
		os.Exit(1)
	}
}`,
  'licet.sh': ({ url, productId, publicKeys }) => `. ./licet.sh
licet_check ${quoted(url)} ${productId} 1.4.0 "\${license:-}" licet.mark${publicKeys ? ` \\\n  ${quoted(publicKeys)}` : ''} || exit 1`,
};
