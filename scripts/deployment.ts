import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { styleText } from 'node:util';
import { addLine, ensureRootToken, readRootToken, readSecrets } from '@licet/cli/root-token';
import { ensureSigningKeys, isSigningKey } from '@licet/cli/signing-keys';
import { CliError, done, type Ended } from '@licet/cli/terminal';
import * as z from 'zod';
import { publicOriginOf } from '../src/lib/public-url.ts';
import { list, NAME, readSettings, SETTINGS_FILE, TEXT, table, VARIABLES } from './settings.ts';
import { checkVariables, OPTIONAL_SECRETS } from './variables.ts';

/** The steps of `npm run deploy`. Each does only the missing work, and prints it. */

/** wrangler.toml with the ids of the KV namespaces. It is in the same folder, because its paths are relative. */
const SETTINGS_WITH_IDS = 'wrangler.deploy.json';

/** The part of wrangler.toml that the deployment reads. wrangler checks the rest. */
const settingsRead = table({
  name: NAME,
  account_id: TEXT.optional(),
  vars: VARIABLES,
  d1_databases: list({
    binding: NAME,
    // wrangler finds the database by it, also that of an unfinished deployment.
    database_name: NAME,
    database_id: TEXT.optional(),
  }),
  kv_namespaces: list({ binding: NAME, id: TEXT.optional() }),
  /** The queue of an earlier version (ADR 0015). */
  queues: table({ producers: list({ queue: NAME }), consumers: list({ queue: NAME }) }).optional(),
});
type Settings = z.infer<typeof settingsRead>;

/** Runs wrangler, and collects its output. */
type Wrangler = (args: readonly string[], variables?: NodeJS.ProcessEnv) => Promise<Ended>;

export interface Tools {
  wrangler: Wrangler;
  /** Runs wrangler in the terminal, because it may ask for a workers.dev name or before it takes a domain. */
  wranglerShown: (args: readonly string[], variables: NodeJS.ProcessEnv) => Promise<boolean>;
  /** Whether the doctor finds nothing wrong with the service at an address. */
  examine: (address: string) => Promise<boolean>;
}

export interface Deployed {
  addresses: string[];
  /** The file with the root token; undefined once it was deleted. */
  tokenFile: string | undefined;
  /** The file with the signing keys; undefined unless this run has set them. */
  keysFile: string | undefined;
  /** Whether the doctor finds nothing wrong. */
  isWell: boolean;
}

const planned = (message: string): void => console.log(`${styleText('yellow', '•')} ${message}`);

const MAX_QUOTED = 200;

/** Parses wrangler's JSON output. A warning before the JSON makes the output unreadable. */
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
      `wrangler ${command} printed no valid JSON. ${state} Run npm ci to get the right version of ` +
        `wrangler. It printed:\n\n${quoted}`,
    );
  }
}

async function must(wrangler: Wrangler, failure: string, ...args: string[]) {
  const ended = await wrangler(args);
  if (!ended.ok) throw new CliError(`${failure}\n\n${ended.output.trim()}`);
  return ended.stdout;
}

const account = z.object({ id: z.string(), name: z.string() });
type Account = z.infer<typeof account>;

const NOT_LOGGED_IN =
  'You are not logged in to Cloudflare: npx wrangler login\n' +
  '  Where there is no browser, set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.';

/** The account to deploy to: the named one, or the only one; undefined without a login. */
async function findAccount(
  wrangler: Wrangler,
  named: string | undefined,
): Promise<Account | undefined> {
  // The token of a CI may lack the permission to read its user.
  if (named && process.env.CLOUDFLARE_API_TOKEN) return { id: named, name: named };
  const { ok, output, stdout } = await wrangler(['whoami', '--json']);
  if (stdout.includes('"loggedIn":false')) return undefined;
  if (!ok) {
    const message = 'The account cannot be looked up. Nothing was changed.';
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
      `You have several accounts. Name one, as account_id = "…" at the top of ${SETTINGS_FILE}, or in ` +
        `CLOUDFLARE_ACCOUNT_ID:\n${list}`,
    );
  }
  return only;
}

/** The names of the Worker's secrets; undefined if the Worker does not exist yet. */
async function findSecrets(wrangler: Wrangler, worker: string) {
  const { ok, output, stdout } = await wrangler(['secret', 'list', '--name', worker]);
  if (!ok && /Worker ".*" not found/.test(output)) return undefined;
  if (!ok)
    throw new CliError(`The secrets cannot be listed. Nothing was changed.\n\n${output.trim()}`);
  const secrets = parseJson('secret list', stdout, z.array(z.object({ name: z.string() })));
  return secrets.map(({ name }) => name);
}

/** Ids by name. */
type Ids = ReadonlyMap<string, string>;
/** The databases and KV namespaces of an account. */
type Found = Record<'databases' | 'namespaces', Ids>;

const databaseList = z
  .array(z.object({ name: z.string(), uuid: z.string() }))
  .transform((all): Ids => new Map(all.map(({ name, uuid }) => [name, uuid])));
const namespaceList = z
  .array(z.object({ title: z.string(), id: z.string() }))
  .transform((all): Ids => new Map(all.map(({ title, id }) => [title, id])));

async function listAll(
  wrangler: Wrangler,
  command: string,
  schema: z.ZodType<Ids>,
  ...options: string[]
): Promise<Ids> {
  const failure = `wrangler ${command} failed. Nothing was changed.`;
  const printed = await must(wrangler, failure, ...command.split(' '), ...options);
  return parseJson(command, printed, schema);
}

/** The names of all resources without an id in the settings. */
function namesOf({ name: worker, d1_databases = [], kv_namespaces = [] }: Settings) {
  return {
    databases: d1_databases.flatMap(({ database_id, database_name }) =>
      database_id ? [] : database_name,
    ),
    namespaces: kv_namespaces.flatMap(({ id, binding }) => (id ? [] : nameOf(worker, binding))),
  };
}

/** Says how to remove the queue of an earlier version, from which the Worker still stores what is left. */
function reportQueues({ name: worker, queues: { producers = [], consumers = [] } = {} }: Settings) {
  for (const name of new Set([...producers, ...consumers].map(({ queue }) => queue))) {
    planned(
      `The queue ${name} is no longer used. Remove the [[queues]] sections from ${SETTINGS_FILE}. Once the ` +
        'dashboard shows no messages in the queue, delete it before the next upgrade:\n' +
        `    npx wrangler queues consumer worker remove ${name} ${worker}\n` +
        `    npx wrangler queues delete ${name}`,
    );
  }
}

/** @throws CliError for a secret that everybody with access to the account or to the file could read */
function checkSecrets({ name: worker, vars = {} }: Settings): void {
  const open = OPTIONAL_SECRETS.find((name) => vars[name]);
  if (open === undefined) return;
  throw new CliError(
    `${SETTINGS_FILE} has ${open}, which is a secret. Nothing was changed. Remove the line, and set the secret: ` +
      `npx wrangler secret put ${open} --name ${worker}`,
  );
}

/** Says which setting of mails is missing. The service names one that is wrong: nobody can read its secret here. */
function reportMail({ name: worker, vars = {} }: Settings, secrets: readonly string[]): void {
  const hasWay = secrets.includes('MAIL');
  if (hasWay === Boolean(vars.MAIL_FROM)) return;
  planned(
    hasWay
      ? `No mails are sent: the secret MAIL is set, and MAIL_FROM in ${SETTINGS_FILE} is not`
      : `No mails are sent: MAIL_FROM is set, and the secret MAIL is not. Set it: npx wrangler secret put MAIL --name ${worker}`,
  );
}

/** The name of a KV namespace. wrangler would choose the same. */
const nameOf = (worker: string, binding: string): string =>
  `${worker}-${binding.toLowerCase().replaceAll('_', '-')}`;

/** Creates a resource unless it exists. @returns wrangler's output */
async function provide(
  wrangler: Wrangler,
  what: string,
  isThere: boolean,
  ...create: string[]
): Promise<string> {
  const failure = `${what} could not be created. Nothing was deployed.`;
  const printed = isThere ? '' : await must(wrangler, failure, ...create);
  done(`${what} ${isThere ? 'exists' : 'created'}`);
  return printed;
}

/** Creates the missing resources of the Worker. @returns the settings for wrangler, with the ids of the KV namespaces */
async function provideResources(
  wrangler: Wrangler,
  settings: Settings,
  found: Found,
): Promise<Settings> {
  const { databases, namespaces } = namesOf(settings);
  for (const name of databases) {
    await provide(wrangler, `Database ${name}`, found.databases.has(name), 'd1', 'create', name);
  }
  const ids = new Map(found.namespaces);
  for (const name of namespaces) {
    const create = ['kv', 'namespace', 'create', name];
    const printed = await provide(wrangler, `KV namespace ${name}`, ids.has(name), ...create);
    // wrangler prints the line for wrangler.toml.
    const [, id] = /^id = "(.+)"$/m.exec(printed) ?? [];
    if (id !== undefined) ids.set(name, id);
  }
  // Without the queue, wrangler leaves it as it is: the Worker gets what is left in it.
  const { queues: _, ...used } = settings;
  const { name: worker, kv_namespaces = [] } = used;
  return {
    ...used,
    kv_namespaces: kv_namespaces.map((each) => ({
      ...each,
      id: each.id || ids.get(nameOf(worker, each.binding)),
    })),
  };
}

/** Files for wrangler's settings and its report, and for secrets to upload. */
interface Files {
  settings: string;
  secrets: string;
  report: string;
}

/** Creates files for a function, and removes them after it, also after a failure. */
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
    const [report, secrets] = [join(scratch, 'report'), join(scratch, 'secrets')];
    return await act({ settings, secrets, report });
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** Applies the migrations that the database lacks. D1 applies each completely or not at all. */
async function migrate(
  wranglerShown: Tools['wranglerShown'],
  variables: NodeJS.ProcessEnv,
  config: readonly string[],
): Promise<void> {
  // As in CI, wrangler asks nothing.
  const args = ['d1', 'migrations', 'apply', 'DB', '--remote', ...config];
  if (await wranglerShown(args, { ...variables, CI: 'true' }))
    return done('Migrations are applied');
  throw new CliError(
    'The migrations could not be applied; see the error above. Nothing was deployed: the previous version is ' +
      'still running. Fix the error and run npm run deploy again.',
  );
}

/** A line of wrangler's report. */
const reported = z.object({
  type: z.string(),
  version_id: z.string().nullish(),
  targets: z.array(z.string()).optional(),
});

/** Uploads the Worker. @returns its addresses */
async function upload(
  wranglerShown: Tools['wranglerShown'],
  variables: NodeJS.ProcessEnv,
  report: string,
  args: readonly string[],
): Promise<string[]> {
  const ok = await wranglerShown(['deploy', ...args], {
    ...variables,
    WRANGLER_OUTPUT_FILE_PATH: report,
  });
  const text = existsSync(report) ? readFileSync(report, 'utf8').trim() : '';
  const lines = ok ? text.split('\n') : [];
  const state = 'The Worker may be live: run npm run deploy again.';
  const entries = lines.map((line) => parseJson('deploy', line, reported, state));
  // There is no version if the user declined a question of wrangler.
  const deployed = entries.find(({ type, version_id }) => type === 'deploy' && version_id);
  if (!deployed) {
    throw new CliError(
      'Deployment failed; see the error above. Unless something was uploaded, the previous version is still ' +
        'running and works with the new schema. Fix the error and run npm run deploy again.',
    );
  }
  return addressesOf(deployed.targets ?? []);
}

/**
 * The addresses for programs among a Worker's targets, such as "https://licet.shop.workers.dev",
 * "license.example.com (custom domain)", "example.com/api/*" and "schedule: * * * * *".
 */
function addressesOf(targets: readonly string[]): string[] {
  const hosts = targets.flatMap((target) => {
    const [, host] = /^(?:https:\/\/)?([^\s/*]+)(?:\/\S*)?(?: \(.*\))?$/.exec(target) ?? [];
    return host === undefined ? [] : [`https://${host}`];
  });
  return [...new Set(hosts)];
}

/**
 * Prints the steps of a deployment.
 *
 * @param found undefined for an account that nobody has logged in to
 * @param secrets those that are not set yet
 */
function plan(settings: Settings, found: Found | undefined, secrets: readonly string[]): void {
  if (found === undefined) {
    planned(
      'You are not logged in to Cloudflare, so all steps are shown. Log in to see which are done: npx wrangler login',
    );
  }
  const { databases, namespaces } = namesOf(settings);
  const resources = [
    ...databases.map((name) => [`Database ${name}`, found?.databases.has(name)] as const),
    ...namespaces.map((name) => [`KV namespace ${name}`, found?.namespaces.has(name)] as const),
  ];
  for (const [what, isThere] of resources) {
    if (isThere) done(`${what} exists`);
    else planned(`${what} would be created, unless it exists`);
  }
  planned('Missing migrations would be applied');
  for (const secret of secrets) planned(`The ${secret} would be set`);
  planned(`The Worker ${settings.name} would be deployed, and the doctor would check it`);
  reportQueues(settings);
}

/** The comment in a file of secrets that names their account. */
const purpose = (accountId: string): string => `# account ${accountId}`;

/** Whether the file has the root token of a deployment to this account, complete or not. */
function hasBegun(tokenPath: string, accountId: string): boolean {
  const lines = readSecrets(tokenPath).split(/\r?\n/);
  return readRootToken(tokenPath) !== undefined && lines.includes(purpose(accountId));
}

function begin(tokenPath: string, accountId: string): void {
  ensureRootToken(tokenPath);
  if (!hasBegun(tokenPath, accountId)) addLine(tokenPath, purpose(accountId));
}

/**
 * Rejects the signing keys of another account, such as those of a forgotten file: two services with the same keys
 * could sign for each other.
 *
 * @throws CliError if the file names another account
 */
function checkAccountOfKeys(keysPath: string, accountId: string): void {
  const [, owner] = /^# account (\S+)$/m.exec(readSecrets(keysPath)) ?? [];
  if (owner === undefined || owner === accountId) return;
  throw new CliError(
    `${basename(keysPath)} has the signing keys of the account ${owner}, and this deployment is for the ` +
      `account ${accountId}. Nothing was changed. Move the file away, and run npm run deploy again: it makes new ` +
      `keys. If programs that you sold need the same keys here, remove the line "${purpose(owner)}" instead.`,
  );
}

/** Makes signing keys unless the file has some, and writes their account into it. */
function provideKeys(keysPath: string, accountId: string): void {
  if (ensureSigningKeys(keysPath)) done(`Signing keys were made, in ${basename(keysPath)}`);
  if (!readSecrets(keysPath).includes(purpose(accountId))) addLine(keysPath, purpose(accountId));
}

/**
 * Deploys the service of `wrangler.toml`: resources, then the schema, then the code with its secret. Then
 * runs the doctor. Safe to run again, also after a failure.
 *
 * @param folder the folder of `wrangler.toml`
 * @returns undefined for a dry run
 * @throws CliError with the steps that were done before the failure
 */
export async function deploy(
  folder: string,
  tools: Tools,
  isDryRun: boolean,
): Promise<Deployed | undefined> {
  try {
    return await runSteps(folder, tools, isDryRun);
  } catch (error) {
    // Other errors than those of the file system are bugs.
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new CliError(`${error.message}. Fix the error and run npm run deploy again.`);
  }
}

async function runSteps(
  folder: string,
  { wrangler: run, wranglerShown, examine }: Tools,
  isDryRun: boolean,
): Promise<Deployed | undefined> {
  const settings = readSettings(settingsRead, folder);
  checkSecrets(settings);
  checkVariables(settings.vars ?? {});
  const { name: worker, d1_databases = [] } = settings;
  const database = d1_databases.find(({ binding }) => binding === 'DB');
  if (database === undefined)
    throw new CliError(`${SETTINGS_FILE} needs a database with the binding DB.`);
  const tokenFile = `.root-token.${worker}`;
  const keysFile = `.signing-keys.${worker}`;
  const [rootToken, signingKeys] = [`root token of ${tokenFile}`, `signing keys of ${keysFile}`];
  const account = await findAccount(run, settings.account_id ?? process.env.CLOUDFLARE_ACCOUNT_ID);
  if (account === undefined) {
    if (!isDryRun) throw new CliError(NOT_LOGGED_IN);
    plan(settings, undefined, [rootToken, signingKeys]);
    return undefined;
  }
  done(`Account ${account.name}`);
  const variables = { CLOUDFLARE_ACCOUNT_ID: account.id };
  const wrangler: Wrangler = (args) => run(args, variables);

  const [secrets, databases, namespaces] = await Promise.all([
    findSecrets(wrangler, worker),
    listAll(wrangler, 'd1 list', databaseList, '--json'),
    listAll(wrangler, 'kv namespace list', namespaceList),
  ]);
  const name = database.database_name;
  if (secrets !== undefined && !database.database_id && !databases.has(name)) {
    throw new CliError(
      `The account has a Worker ${worker} and no database ${name}. Nothing was changed. If the Worker ` +
        `belongs to another project, choose another name in ${SETTINGS_FILE}. If it is yours, create the ` +
        `database: npx wrangler d1 create ${name}`,
    );
  }
  const tokenPath = join(folder, tokenFile);
  const isTokenSet = secrets?.includes('ROOT_TOKEN') ?? false;
  const hasKeys = secrets?.some(isSigningKey) ?? false;
  // A first deployment that failed may have created the database.
  const isBegun = hasBegun(tokenPath, account.id);
  const foundId = database.database_id ? undefined : databases.get(name);
  if (secrets === undefined && foundId !== undefined && !isBegun) {
    throw new CliError(
      `The account has a database ${name} and no Worker ${worker}. Nothing was changed. If the database ` +
        `belongs to another service, choose another database_name in ${SETTINGS_FILE}. If it is for this one, ` +
        `add beside its name: database_id = "${foundId}"`,
    );
  }
  const keysPath = join(folder, keysFile);
  if (!hasKeys) checkAccountOfKeys(keysPath, account.id);
  const found = { databases, namespaces };
  if (isDryRun) {
    plan(settings, found, [...(isTokenSet ? [] : [rootToken]), ...(hasKeys ? [] : [signingKeys])]);
    return undefined;
  }

  // The token's file comes first. By it the next run recognizes the resources of an unfinished deployment.
  if (!isTokenSet) begin(tokenPath, account.id);
  if (!hasKeys) provideKeys(keysPath, account.id);
  const uploaded = await withFiles(folder, async (files) => {
    const config = ['--config', files.settings];
    const completed = await provideResources(wrangler, settings, found);
    writeFileSync(files.settings, JSON.stringify(completed, null, 2));
    await migrate(wranglerShown, variables, config);
    // Secrets are uploaded with the code, so that the service is never without them. They are in a file,
    // because arguments are visible to others.
    const missing = [...(isTokenSet ? [] : [tokenPath]), ...(hasKeys ? [] : [keysPath])];
    writeFileSync(files.secrets, missing.map(readSecrets).join('\n'), { mode: 0o600 });
    const secretsFile = missing.length > 0 ? ['--secrets-file', files.secrets] : [];
    return upload(wranglerShown, variables, files.report, [...config, ...secretsFile]);
  });
  done(isTokenSet ? 'Deployed' : `Deployed, with the root token in ${tokenFile}`);
  const publicOrigin = publicOriginOf(
    { PUBLIC_URL: String(settings.vars?.PUBLIC_URL ?? '') },
    null,
  );
  const addresses = [...new Set([publicOrigin ?? [], uploaded].flat())];
  let isWell = true;
  for (const address of addresses) isWell = (await examine(address)) && isWell;
  reportQueues(settings);
  reportMail(settings, secrets ?? []);
  return {
    addresses,
    tokenFile: isTokenSet && !isBegun ? undefined : tokenFile,
    keysFile: hasKeys ? undefined : keysFile,
    isWell,
  };
}
