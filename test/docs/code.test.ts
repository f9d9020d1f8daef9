import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { LINES } from '../../console/src/screens/program/lines.ts';
import { ownFolder } from '../node/own.ts';
import { hasTools } from '../node/tools.ts';

/**
 * The code of the documents and of *In your program*, compiled or parsed as it stands. The tests of the examples and of
 * the receivers of webhooks compile and run that of the other languages.
 */

const folder = ownFolder();

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'examples/README.md',
  ...['cli', 'client', 'contract'].map((name) => `packages/${name}/README.md`),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The pieces of code in a language, each with its document. */
const codeIn = (...languages: string[]): [document: string, code: string][] =>
  DOCUMENTS.flatMap((document) =>
    [
      ...readFileSync(document, 'utf8').matchAll(
        new RegExp(`^ *\`\`\`(?:${languages.join('|')})\n([^]*?)\n *\`\`\`$`, 'gm'),
      ),
    ].map(([, code = '']): [string, string] => [document, code]),
  );

it.runIf(hasTools('the commands of the documents', 'bash'))(
  'a shell can parse each command of the documents',
  () => {
    const commands = codeIn('sh', 'bash');
    expect(commands.length).toBeGreaterThan(30);
    // Functions, so that a piece cannot complete another one.
    const script = commands.map(
      ([document, code], at) => `piece${at}() { # ${document}\n${code}\n}`,
    );
    const file = join(folder, 'commands.sh');
    writeFileSync(file, script.join('\n'));
    execFileSync('bash', ['-n', file]);
  },
);

it('the compiler takes the TypeScript and JavaScript of the documents and of the console', {
  tags: 'long',
  timeout: 120_000,
}, () => {
  const values = { url: 'https://license.example.com', productId: 602 };
  const environment = "const process = { env: { LICET_URL: '', LICET_TOKEN: '' } };";
  const config = 'declare const config: { license?: string };';
  const pieces: [ending: string, code: string][] = [
    ...codeIn('ts').map(([, code]): [string, string] => ['ts', code]),
    // Plain JavaScript does not ask whether a variable is set.
    ...codeIn('js').map(([, code]): [string, string] => ['js', `${environment}\n${code}`]),
    ...[values, { ...values, publicKeys: 'KID:KEY KID:KEY' }].map((filling): [string, string] => [
      'ts',
      `${LINES['licet.ts'](filling)}\n${config}`,
    ]),
  ];
  expect(pieces.length).toBeGreaterThan(4);
  writeFileSync(join(folder, 'licet.ts'), readFileSync('examples/licet.ts'));
  for (const [at, [ending, code]] of pieces.entries()) {
    writeFileSync(join(folder, `piece${at}.${ending}`), `${code}\nexport {};\n`);
  }
  const compilerOptions = {
    target: 'es2024',
    module: 'nodenext',
    lib: ['esnext', 'dom'],
    types: ['node'],
    typeRoots: [resolve('node_modules/@types')],
    paths: {
      '@licet/client': [resolve('packages/client/src/index.ts')],
      '@licet/contract/*': [resolve('packages/contract/src/*.ts')],
    },
    strict: true,
    checkJs: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*.ts', '*.js'] }),
  );
  const compiler = resolve('node_modules/.bin/tsc');
  const problems = (() => {
    try {
      execFileSync(compiler, ['-p', folder], { encoding: 'utf8' });
      return '';
    } catch (error) {
      return Object(error).stdout;
    }
  })();
  expect(problems).toBe('');
});

/** As much of Bukkit as the plugins of the documents see. */
const BUKKIT = `interface CommandSender { void sendMessage(String message); }
interface Command {}
interface Config { String getString(String path); }
interface Scheduler { void runTask(Bukkit plugin, Runnable task); }
interface PluginManager { void disablePlugin(Bukkit plugin); }
interface Server { Scheduler getScheduler(); PluginManager getPluginManager(); CommandSender getConsoleSender(); }
abstract class Bukkit {
    java.io.File getDataFolder() { return null; }
    Config getConfig() { return null; }
    Server getServer() { return null; }
    java.util.logging.Logger getLogger() { return null; }
    public void onEnable() {}
    public void onDisable() {}
    public boolean onCommand(CommandSender sender, Command command, String label, String[] args) { return false; }
    void enableFeatures() {}
    void enableEditor() {}
    void setUpdates(boolean on) {}
}`;

it.runIf(hasTools('the plugins of the documents', 'javac'))(
  'the compiler takes the Java of the documents that calls the example',
  { tags: 'long' },
  () => {
    const pieces = codeIn('java').filter(([, code]) => /\blicet[.,]/.test(code));
    expect(pieces.length).toBeGreaterThan(3);
    const plugins = pieces.map(([, code], at) => {
      const isClassBody = /^@Override$/m.test(code);
      const body = isClassBody ? code : `void run() {\n${code}\n}`;
      const field = code.includes('private Licet licet;') ? '' : 'Licet licet;';
      return `class Plugin${at} extends Bukkit {\n${field}\n${body}\n}`;
    });
    const examples = ['Licet.java', 'LicetGuard.java'];
    for (const name of examples) {
      writeFileSync(join(folder, name), readFileSync(join('examples', name)));
    }
    writeFileSync(join(folder, 'Plugins.java'), [BUKKIT, ...plugins].join('\n'));
    execFileSync('javac', ['--release', '8', '-Xlint:-options', ...examples, 'Plugins.java'], {
      cwd: folder,
      stdio: 'pipe',
    });
  },
);
