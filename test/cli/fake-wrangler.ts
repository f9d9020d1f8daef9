import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs, parseEnv } from 'node:util';
import type { Ended } from '@licet/cli/terminal';
import type { Unstable_RawConfig } from 'wrangler';
import type { Tools } from '../../scripts/deployment.ts';
import { misunderstanding } from '../docs/wrangler-commands.ts';

/**
 * An account of Cloudflare behind a wrangler which prints what wrangler 4.151.1 prints, as far as
 * scripts/deployment.ts reads it. That it does is shown by the test with the real one.
 */
export class FakeWrangler {
  /** The commands that it was given, and all that they were given with. */
  calls: string[] = [];
  argv: string[] = [];
  /** A beginning of a command, which then fails: before it has done anything, or after all. */
  failure: { command: string; isLate: boolean } | undefined;
  /** Changes the output of a command. */
  garble = (_command: string, response: string): string => response;
  /** Whether the person says no where `wrangler deploy` asks. */
  isDeclined = false;
  isLoggedIn = true;
  accounts = [{ id: 'a1', name: 'Shop' }];
  databases: string[] = [];
  namespaces: string[] = [];
  /** By database. */
  migrations: Record<string, string[]> = {};
  worker: { secrets: Record<string, string>; settings: Unstable_RawConfig } | undefined;
  /** The targets of the Worker, as triggers/deploy.ts and publish-routes.ts print them. */
  targets = ['https://licet.shop.workers.dev', 'schedule: * * * * *'];
  /** The accounts to which it was sent. */
  accountIds = new Set<string | undefined>();

  readonly tools = (examine: Tools['examine']): Tools => ({
    wrangler: async (args, variables) => this.#run(args, variables),
    wranglerShown: async (args, variables) => this.#run(args, variables).ok,
    examine,
  });

  #run(args: readonly string[], variables: NodeJS.ProcessEnv = {}): Ended {
    const misunderstood = misunderstanding(args);
    if (misunderstood) throw new Error(misunderstood);
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        remote: { type: 'boolean' },
        name: { type: 'string' },
        config: { type: 'string' },
        'secrets-file': { type: 'string' },
      },
    });
    const command = positionals.join(' ');
    this.calls.push(command);
    this.argv.push(...args);
    if (command !== 'whoami') this.accountIds.add(variables.CLOUDFLARE_ACCOUNT_ID);
    const { failure } = this;
    const refused = { ok: false, output: '✘ [ERROR] The API failed [code: 1]', stdout: '' };
    if (failure && command.startsWith(failure.command)) {
      if (failure.isLate) this.#response(positionals, values, variables);
      return refused;
    }
    try {
      const stdout = this.garble(command, this.#response(positionals, values, variables));
      return { ok: true, output: stdout, stdout };
    } catch (error) {
      return { ok: false, output: `✘ [ERROR] ${error}`, stdout: '' };
    }
  }

  #response(
    words: readonly string[],
    options: { name?: string; config?: string; 'secrets-file'?: string },
    { WRANGLER_OUTPUT_FILE_PATH: report = '' }: NodeJS.ProcessEnv,
  ): string {
    const last = words.at(-1) ?? '';
    const settings: Unstable_RawConfig = JSON.parse(
      options.config ? readFileSync(options.config, 'utf8') : '{}',
    );
    const database = settings.d1_databases?.find(({ binding }) => binding === 'DB');
    // The fake's ids are the names with a mark.
    const databaseName =
      database?.database_id?.replace('id-of-', '') ?? database?.database_name ?? '';
    switch (words.slice(0, 3).join(' ')) {
      // src/user/whoami.ts: whoami
      case 'whoami':
        if (!this.isLoggedIn) return '\n{"loggedIn":false}\n';
        return JSON.stringify({ loggedIn: true, email: 'a@b.example', accounts: this.accounts });
      // src/secret/index.ts: secretListCommand
      case 'secret list': {
        if (!this.worker) throw new Error(`Worker "${options.name}" not found.`);
        const names = Object.keys(this.worker.secrets);
        return JSON.stringify(names.map((name) => ({ name, type: 'secret_text' })));
      }
      // src/d1/list.ts
      case 'd1 list':
        return JSON.stringify(this.databases.map((name) => ({ name, uuid: `id-of-${name}` })));
      // src/kv/index.ts: kvNamespaceListCommand
      case 'kv namespace list':
        return JSON.stringify(this.namespaces.map((title) => ({ title, id: `id-of-${title}` })));
      // src/kv/index.ts: kvNamespaceCreateCommand; src/utils/add-created-resource-config.ts
      case 'kv namespace create':
        if (this.namespaces.includes(last)) throw new Error(`"${last}" already exists.`);
        this.namespaces.push(last);
        return `✨ Success!\n[[kv_namespaces]]\nbinding = "KV"\nid = "id-of-${last}"\n`;
      // src/d1/migrations/apply.ts: prints the missing ones as a table, then their status
      case 'd1 migrations apply': {
        // src/d1/utils.ts: getDatabaseByNameOrBinding
        if (!database?.database_id && !this.databases.includes(databaseName)) {
          throw new Error(`Couldn't find a D1 DB named '${databaseName}'`);
        }
        const folder = join(dirname(options.config ?? ''), database?.migrations_dir ?? '');
        const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
        this.migrations[databaseName] ??= [];
        const applied = this.migrations[databaseName];
        const missing = files.filter((name) => !applied.includes(name)).toSorted();
        if (missing.length === 0) return '✅ No migrations to apply!\n';
        applied.push(...missing);
        return `Migrations to be applied:\n${missing.map((name) => `│ ${name} │ ✅ │\n`).join('')}`;
      }
    }
    switch (words.slice(0, 2).join(' ')) {
      // src/d1/create.ts
      case 'd1 create':
        if (this.databases.includes(last)) throw new Error('This name already exists');
        this.databases.push(last);
        return `✅ Created\n[[d1_databases]]\nbinding = "DB"\ndatabase_id = "id-of-${last}"\n`;
    }
    if (words[0] !== 'deploy') throw new Error(`The fake does not know ${words.join(' ')}`);
    if (this.isDeclined) {
      writeFileSync(report, '{"type":"deploy","version":1,"version_id":null}\n');
      return '';
    }
    const file = options['secrets-file'];
    const given = file === undefined ? {} : parseEnv(readFileSync(file, 'utf8'));
    const secrets = Object.fromEntries(
      Object.entries({ ...this.worker?.secrets, ...given }).map(([name, text = '']) => [
        name,
        text,
      ]),
    );
    // helpers/secrets-validation.ts: addRequiredSecretsInheritBindings
    if (!secrets.ROOT_TOKEN) throw new Error('Required secrets have not been set: ROOT_TOKEN');
    this.worker = { secrets, settings };
    // deploy/deploy.ts: writeOutput
    const entry = { type: 'deploy', version: 1, version_id: 'v', targets: this.targets };
    const lines = `{"type":"wrangler-session","version":1}\n${JSON.stringify(entry)}\n`;
    writeFileSync(report, this.garble('deploy', lines));
    return '';
  }
}
