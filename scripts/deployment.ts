import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import * as z from 'zod';
import {
  addLine,
  ensureRootToken,
  readRootToken,
  readSecrets,
} from '../packages/cli/src/root-token.ts';
import { CliError, done, type Ended } from '../packages/cli/src/terminal.ts';

/** The steps of `npm run deploy`, each of which does what is missing and says so. */

const SETTINGS = 'wrangler.toml';
/** wrangler.toml with the ids of what is in the account; beside it, because its paths are relative. */
const SETTINGS_WITH_IDS = 'wrangler.deploy.json';

const TEXT = z.string('a text');
const NAME = TEXT.min(1, 'a text that is not empty');
const list = <Entry extends z.ZodRawShape>(entry: Entry) =>
  z.array(z.looseObject(entry, 'a table'), 'a list: [[…]]').optional();

/** The part of wrangler.toml that is read here, with what it must be; the rest is wrangler's. */
const settingsRead = z.looseObject({
  name: NAME,
  account_id: TEXT.optional(),
  d1_databases: list({
    binding: NAME,
    database_name: NAME.optional(),
    database_id: TEXT.optional(),
    migrations_dir: NAME.optional(),
  }),
  kv_namespaces: list({ binding: NAME, id: TEXT.optional() }),
  queues: z
    .looseObject(
      {
        producers: list({ queue: NAME }),
        consumers: list({ queue: NAME, dead_letter_queue: NAME.optional() }),
      },
      'a table',
    )
    .optional(),
});
type Settings = z.infer<typeof settingsRead>;
type Database = NonNullable<Settings['d1_databases']>[number];

/** Runs wrangler to its end. */
type Wrangler = (args: readonly string[], variables?: NodeJS.ProcessEnv) => Promise<Ended>;

export interface Tools {
  wrangler: Wrangler;
  /** Runs it in the terminal: it may ask, for a name under workers.dev or before it takes a domain. */
  wranglerShown: (args: readonly string[], variables: NodeJS.ProcessEnv) => Promise<boolean>;
  /** Whether programs get on with the service at an address. */
  examine: (address: string) => Promise<boolean>;
}

export interface Deployed {
  addresses: string[];
  /** The file with the root token, as long as it is there. */
  tokenFile: string | undefined;
  /** Whether programs get on with it. */
  isWell: boolean;
}

const planned = (message: string): void => console.log(`${styleText('yellow', '•')} ${message}`);

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

const MAX_QUOTED = 200;

/** What wrangler answers to programs: none can read it where it has a warning before it. */
function parseJson<Printed>(
  command: string,
  text: string,
  schema: z.ZodType<Printed>,
  state = 'Nothing was changed.',
): Printed {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    const printed = text.trim();
    const quoted =
      printed.length > MAX_QUOTED ? `${printed.slice(0, MAX_QUOTED)}…` : printed || 'nothing';
    throw new CliError(
      `wrangler ${command} has not answered as it should. ${state} Is it the right version? npm ci ` +
        `brings it. It answered:\n\n${quoted}`,
    );
  }
}

async function must(wrangler: Wrangler, failure: string, ...args: string[]) {
  const ended = await wrangler(args);
  if (!ended.ok) throw new CliError(`${failure}\n\n${ended.output.trim()}`);
  return ended.stdout;
}

async function readToml(folder: string): Promise<unknown> {
  // It takes a second to load, which --help has no need of.
  const { experimental_readRawConfig } = await import('wrangler');
  try {
    return experimental_readRawConfig({ config: join(folder, SETTINGS) }).rawConfig;
  } catch (error) {
    throw new CliError(`${SETTINGS} cannot be read: ${messageOf(error)}`);
  }
}

async function readSettings(folder: string): Promise<Settings> {
  const { data, error } = settingsRead.safeParse(await readToml(folder));
  if (data) return data;
  const wrong = error.issues.map(({ path, message }) => `${path.join('.')} must be ${message}`);
  throw new CliError(`${SETTINGS}: ${wrong.join(', ')}.`);
}

const account = z.object({ id: z.string(), name: z.string() });
type Account = z.infer<typeof account>;

/** The account to deploy to: the one that is named, else the only one. */
async function findAccount(wrangler: Wrangler, named: string | undefined): Promise<Account> {
  // Such a token, as CI has it, may deploy, but perhaps not read whose it is.
  if (named && process.env.CLOUDFLARE_API_TOKEN) return { id: named, name: named };
  const { ok, output, stdout } = await wrangler(['whoami', '--json']);
  if (stdout.includes('"loggedIn":false')) {
    throw new CliError(
      'You are not logged in to Cloudflare: npx wrangler login\n' +
        '  Where there is no browser, set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.',
    );
  }
  if (!ok) {
    const message = 'Cloudflare does not say who you are. Nothing was changed.';
    throw new CliError(`${message}\n\n${output.trim()}`);
  }
  const { accounts } = parseJson('whoami', stdout, z.object({ accounts: z.array(account) }));
  if (named) return accounts.find(({ id }) => id === named) ?? { id: named, name: named };
  const [only, ...others] = accounts;
  if (only === undefined) {
    throw new CliError('Your login has no account: set CLOUDFLARE_ACCOUNT_ID.');
  }
  if (others.length > 0) {
    const list = accounts.map(({ id, name }) => `  ${id}  ${name}`).join('\n');
    throw new CliError(
      `You have several accounts. Name one, as account_id = "…" at the top of ${SETTINGS}, or in ` +
        `CLOUDFLARE_ACCOUNT_ID:\n${list}`,
    );
  }
  return only;
}

/** The names of the Worker's secrets; undefined where there is no such Worker yet. */
async function findSecrets(wrangler: Wrangler, worker: string) {
  const { ok, output, stdout } = await wrangler(['secret', 'list', '--name', worker]);
  if (!ok && /Worker ".*" not found/.test(output)) return undefined;
  if (!ok)
    throw new CliError(`The secrets cannot be listed. Nothing was changed.\n\n${output.trim()}`);
  const secrets = parseJson('secret list', stdout, z.array(z.object({ name: z.string() })));
  return secrets.map(({ name }) => name);
}

/** Databases, or KV namespaces. */
interface Kind {
  what: string;
  list: string[];
  create: string[];
  /** The names and the ids in a list. */
  read: (stdout: string) => [name: string, id: string][];
}

const DATABASES: Kind = {
  what: 'Database',
  list: ['d1', 'list', '--json'],
  create: ['d1', 'create'],
  read(stdout) {
    const database = z.object({ name: z.string(), uuid: z.string() });
    const databases = parseJson('d1 list', stdout, z.array(database));
    return databases.map(({ name, uuid }) => [name, uuid]);
  },
};

const NAMESPACES: Kind = {
  what: 'KV namespace',
  list: ['kv', 'namespace', 'list'],
  create: ['kv', 'namespace', 'create'],
  read(stdout) {
    const namespace = z.object({ title: z.string(), id: z.string() });
    const namespaces = parseJson('kv namespace list', stdout, z.array(namespace));
    return namespaces.map(({ title, id }) => [title, id]);
  },
};

/** The ids of all that there are in the account, by their names. */
const listAll = async (wrangler: Wrangler, { what, list, read }: Kind) =>
  new Map(read(await must(wrangler, `${what}s cannot be listed. Nothing was changed.`, ...list)));

/** Makes it where it is missing. @returns what wrangler printed then */
async function provide(
  wrangler: Wrangler,
  what: string,
  isThere: boolean,
  isDryRun: boolean,
  create: readonly string[],
): Promise<string> {
  if (isThere || isDryRun) {
    if (isThere) done(`${what} is there`);
    else planned(`${what} would be made`);
    return '';
  }
  const failure = `${what} could not be made. Nothing was deployed.`;
  const printed = await must(wrangler, failure, ...create);
  done(`${what} was made`);
  return printed;
}

/** Makes those that are missing. @returns the ids, by their names */
async function provideAll(
  wrangler: Wrangler,
  { what, create }: Kind,
  found: ReadonlyMap<string, string>,
  names: readonly string[],
  isDryRun: boolean,
): Promise<ReadonlyMap<string, string>> {
  const ids = new Map(found);
  for (const name of names) {
    const args = [...create, name];
    const printed = await provide(wrangler, `${what} ${name}`, found.has(name), isDryRun, args);
    // A line of the settings that wrangler proposes.
    const [, id] = /^(?:database_)?id = "(.+)"$/m.exec(printed) ?? [];
    if (id !== undefined) ids.set(name, id);
  }
  return ids;
}

async function provideQueues(
  wrangler: Wrangler,
  names: ReadonlySet<string>,
  isDryRun: boolean,
): Promise<void> {
  for (const name of names) {
    const { ok, output } = await wrangler(['queues', 'info', name]);
    if (!ok && !output.includes('does not exist')) {
      throw new CliError(
        `Queue ${name} cannot be looked up. Nothing was deployed.\n\n${output.trim()}`,
      );
    }
    await provide(wrangler, `Queue ${name}`, ok, isDryRun, ['queues', 'create', name]);
  }
}

/** Files by which wrangler is told things, and tells them. */
interface Files {
  settings: string;
  report: string;
}

/** Does something with files that are there before it begins, and gone however it ends. */
async function withFiles<Result>(
  folder: string,
  act: (files: Files) => Promise<Result>,
): Promise<Result> {
  const made: string[] = [];
  const remove = (): void => {
    for (const path of made) rmSync(path, { recursive: true, force: true });
  };
  process.on('exit', remove);
  try {
    const scratch = mkdtempSync(join(tmpdir(), 'licet-deploy-'));
    made.push(scratch);
    const settings = join(folder, SETTINGS_WITH_IDS);
    writeFileSync(settings, '{}');
    made.push(settings);
    return await act({ settings, report: join(scratch, 'report') });
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** The names of a database's migrations, in the order in which they are applied. */
function migrationNames(root: string, { migrations_dir = 'migrations' }: Database): string[] {
  const names = readdirSync(join(root, migrations_dir)).filter((name) => name.endsWith('.sql'));
  return names.toSorted();
}

/**
 * Applies the migrations that the database lacks, one after the other. D1 applies a migration completely or
 * not at all.
 *
 * @param names all migrations
 */
async function migrate(
  wrangler: Wrangler,
  names: readonly string[],
  config: readonly string[],
): Promise<void> {
  const printed = await must(
    wrangler,
    'The migrations could not be applied; see the error below. Nothing was deployed: the previous version is ' +
      'still running. Fix the error and run npm run deploy again.',
    ...['d1', 'migrations', 'apply', 'DB', '--remote', ...config],
  );
  // wrangler names those that it applied.
  const applied = names.filter((name) => printed.includes(name));
  if (applied.length === 0) return done('Migrations are applied');
  done(`Migrations were applied: ${applied.join(', ')}`);
}

/** A line of what wrangler reports to programs. */
const reported = z.object({
  type: z.string(),
  version_id: z.string().nullish(),
  targets: z.array(z.string()).optional(),
});

/** Uploads the Worker. @returns the addresses at which it is */
async function upload(
  wranglerShown: Tools['wranglerShown'],
  accountId: string,
  report: string,
  args: readonly string[],
): Promise<string[]> {
  const variables = { CLOUDFLARE_ACCOUNT_ID: accountId, WRANGLER_OUTPUT_FILE_PATH: report };
  const ok = await wranglerShown(['deploy', ...args], variables);
  const text = existsSync(report) ? readFileSync(report, 'utf8').trim() : '';
  const lines = ok ? text.split('\n') : [];
  const state = 'The Worker may be live: run it again, it does the rest.';
  const entries = lines.map((line) => parseJson('deploy', line, reported, state));
  // There is no version where the person has answered one of its questions with no.
  const deployed = entries.find(({ type, version_id }) => type === 'deploy' && version_id);
  if (!deployed) {
    throw new CliError(
      'It could not be deployed, or not wholly: the reason is above. Where nothing was uploaded, ' +
        'what ran before runs on, and can use the new schema. See to the reason and run it again.',
    );
  }
  return addressesOf(deployed.targets ?? []);
}

/** Of what a Worker is bound to, such as "https://licet.shop.workers.dev", "license.example.com (custom
 * domain)", "example.com/api/*" and "schedule: * * * * *", the places for programs. */
function addressesOf(targets: readonly string[]): string[] {
  const hosts = targets.flatMap((target) => {
    const [, host] = /^(?:https:\/\/)?([^\s/*]+)(?:\/\S*)?(?: \(.*\))?$/.exec(target) ?? [];
    return host === undefined ? [] : [`https://${host}`];
  });
  return [...new Set(hosts)];
}

/** The name of what has none in wrangler.toml: the one that wrangler itself would give. */
const nameOf = (worker: string, binding: string): string =>
  `${worker}-${binding.toLowerCase().replaceAll('_', '-')}`;

const databaseName = (worker: string, { database_name, binding }: Database): string =>
  database_name ?? nameOf(worker, binding);

/** The settings with the ids that they leave out. */
function complete(
  settings: Settings,
  databaseIds: ReadonlyMap<string, string>,
  namespaceIds: ReadonlyMap<string, string>,
): Settings {
  const { name: worker, d1_databases = [], kv_namespaces = [] } = settings;
  return {
    ...settings,
    d1_databases: d1_databases.map((database) => {
      const id = databaseIds.get(databaseName(worker, database));
      return database.database_id || !id ? database : { ...database, database_id: id };
    }),
    kv_namespaces: kv_namespaces.map((namespace) => {
      const id = namespaceIds.get(nameOf(worker, namespace.binding));
      return namespace.id || !id ? namespace : { ...namespace, id };
    }),
  };
}

/** The names of all that the settings name by no id. */
function namesOf({ name: worker, d1_databases = [], kv_namespaces = [], queues = {} }: Settings) {
  const { producers = [], consumers = [] } = queues;
  const bound = [...producers, ...consumers].map(({ queue }) => queue);
  const dead = consumers.flatMap(({ dead_letter_queue: queue }) => queue ?? []);
  return {
    databases: d1_databases
      .filter(({ database_id }) => !database_id)
      .map((each) => databaseName(worker, each)),
    namespaces: kv_namespaces.filter(({ id }) => !id).map(({ binding }) => nameOf(worker, binding)),
    queues: new Set([...bound, ...dead]),
  };
}

/** Provides all that the Worker is bound to. @returns the settings with the ids that they leave out */
async function provideResources(
  wrangler: Wrangler,
  settings: Settings,
  found: Record<'databases' | 'namespaces', ReadonlyMap<string, string>>,
  isDryRun: boolean,
): Promise<Settings> {
  const { databases, namespaces, queues } = namesOf(settings);
  const databaseIds = await provideAll(wrangler, DATABASES, found.databases, databases, isDryRun);
  const namespaceIds = await provideAll(
    wrangler,
    NAMESPACES,
    found.namespaces,
    namespaces,
    isDryRun,
  );
  await provideQueues(wrangler, queues, isDryRun);
  return complete(settings, databaseIds, namespaceIds);
}

/** What the file of a root token says of the account that it is for: a comment is no secret. */
const purpose = (accountId: string): string => `# account ${accountId}`;

/** Whether the file has the root token of a deployment to this account, finished or not. */
function hasBegun(tokenPath: string, accountId: string): boolean {
  const lines = readSecrets(tokenPath).split(/\r?\n/);
  return readRootToken(tokenPath) !== undefined && lines.includes(purpose(accountId));
}

function begin(tokenPath: string, accountId: string): void {
  ensureRootToken(tokenPath);
  if (!hasBegun(tokenPath, accountId)) addLine(tokenPath, purpose(accountId));
}

/**
 * Brings what `wrangler.toml` describes into the account: what the Worker needs, then the schema, then
 * the code with its secret; and looks whether programs get on with it. Safe to run again, also where it
 * failed.
 *
 * @param folder the one with `wrangler.toml`
 * @returns undefined where it was only asked what would be done
 * @throws CliError, which says how far it came
 */
export async function deploy(
  folder: string,
  tools: Tools,
  isDryRun: boolean,
): Promise<Deployed | undefined> {
  try {
    return await bring(folder, tools, isDryRun);
  } catch (error) {
    // A file that cannot be read or written.
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new CliError(`${error.message}. See to it and run it again: it does the rest.`);
  }
}

async function bring(
  folder: string,
  { wrangler: run, wranglerShown, examine }: Tools,
  isDryRun: boolean,
): Promise<Deployed | undefined> {
  const settings = await readSettings(folder);
  const { name: worker, d1_databases = [] } = settings;
  const database = d1_databases.find(({ binding }) => binding === 'DB');
  if (database === undefined)
    throw new CliError(`${SETTINGS} needs a database with the binding DB.`);
  const migrations = migrationNames(folder, database);
  const account = await findAccount(run, settings.account_id ?? process.env.CLOUDFLARE_ACCOUNT_ID);
  done(`Account ${account.name}`);
  const wrangler: Wrangler = (args) => run(args, { CLOUDFLARE_ACCOUNT_ID: account.id });

  const [secrets, databases, namespaces] = await Promise.all([
    findSecrets(wrangler, worker),
    listAll(wrangler, DATABASES),
    listAll(wrangler, NAMESPACES),
  ]);
  const name = databaseName(worker, database);
  if (secrets !== undefined && !database.database_id && !databases.has(name)) {
    throw new CliError(
      `There is a Worker ${worker} and no database ${name}. Is the Worker another project's? Choose ` +
        `another name in ${SETTINGS}. Is it yours? Make the database: npx wrangler d1 create ${name}`,
    );
  }
  const tokenFile = `.root-token.${worker}`;
  const tokenPath = join(folder, tokenFile);
  const isTokenSet = secrets?.includes('ROOT_TOKEN') ?? false;
  // Where a first deployment has failed half-way, the database is its own.
  const isBegun = hasBegun(tokenPath, account.id);
  const foundId = database.database_id ? undefined : databases.get(name);
  if (secrets === undefined && foundId !== undefined && !isBegun) {
    throw new CliError(
      `There is a database ${name} and no Worker ${worker}. Nothing was changed. Is the database ` +
        `another service's? Choose another database_name in ${SETTINGS}. Is it meant for this one? ` +
        `Say so there, beside its name: database_id = "${foundId}"`,
    );
  }
  const found = { databases, namespaces };
  if (isDryRun) {
    await provideResources(wrangler, settings, found, isDryRun);
    planned('Migrations that are missing would be applied');
    if (!isTokenSet) planned(`The root token would be set, to that in ${tokenFile}`);
    planned(`The Worker ${worker} would be deployed, and the doctor would look at it`);
    return undefined;
  }

  // Files come before all that is made in the account: the next run knows it for its own by the token.
  if (!isTokenSet) begin(tokenPath, account.id);
  const addresses = await withFiles(folder, async (files) => {
    const config = ['--config', files.settings];
    const completed = await provideResources(wrangler, settings, found, isDryRun);
    writeFileSync(files.settings, JSON.stringify(completed, null, 2));
    await migrate(wrangler, migrations, config);
    // The token goes with the code, so that there is no moment without it; in a file, because terminals
    // are recorded.
    const token = isTokenSet ? [] : ['--secrets-file', tokenPath];
    return upload(wranglerShown, account.id, files.report, [...config, ...token]);
  });
  done(isTokenSet ? 'Deployed' : `Deployed, with the root token in ${tokenFile}`);
  let isWell = true;
  for (const address of addresses) isWell = (await examine(address)) && isWell;
  return { addresses, tokenFile: isTokenSet && !isBegun ? undefined : tokenFile, isWell };
}
