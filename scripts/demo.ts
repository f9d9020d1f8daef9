import { setTimeout as wait } from 'node:timers/promises';
import { Command } from '@commander-js/extra-typings';
import { readCommandLine, serviceUrl } from '@licet/cli/command-line';
import { checkToken } from '@licet/cli/import/service';
import { type Access, explain } from '@licet/cli/licet/session';
import { isLocal, readRootToken, SECRETS_FILE } from '@licet/cli/root-token';
import { CliError, done, fail, guardOutput, note, usageError } from '@licet/cli/terminal';
import {
  type BlacklistEntryCreate,
  type License,
  type LicenseCreate,
  Licet,
  LicetError,
  type Product,
  type ProductCreate,
  type TokenCreate,
} from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import { findDatabase } from './local/database.ts';
import { DEFAULT_FOLDER, dataFolder } from './local/options.ts';

/** `npm run demo`: fills a running service with a believable shop and plays a game server. */

const PARALLEL = 8;
const STORING_TRIES = 30;
const STORING_INTERVAL_MS = 100;
/** A key that no license has. */
const UNKNOWN_KEY = 'AAAA-BBBB-CCCC-DDDD-EEEE';

// LICET_URL is not read, because it may name a service in production.
const program = new Command('npm run demo --')
  .description(
    'Fills a running service with a believable shop, through the public interface, and plays a game server ' +
      'that validates a license. A repeated run adds the missing objects, and plays with a new license.',
  )
  .option('--url <url>', 'where the service runs', 'http://localhost:8787')
  .option(
    '--persist-to <dir>',
    `the data folder of a service on this machine, for thirty days of history (${DEFAULT_FOLDER})`,
  );

/** @throws CliError if the token is missing, or if the token or the address is invalid */
function findAccess(): Access & { token: string } {
  const url = serviceUrl(program.opts().url, '--url');
  const root = isLocal(url) ? readRootToken() : undefined;
  const { LICET_TOKEN } = process.env;
  const tokenSource = LICET_TOKEN ? 'LICET_TOKEN' : `ROOT_TOKEN in ${SECRETS_FILE}`;
  const token = LICET_TOKEN || root;
  if (!token) {
    throw usageError(
      'There is no token. Set LICET_TOKEN; for a service on this machine, npm start creates a token.',
    );
  }
  return { url, token: checkToken(token, tokenSource), tokenSource };
}

/** Creates an object, unless it exists. */
async function ignoreExisting(created: Promise<unknown>): Promise<void> {
  try {
    await created;
  } catch (error) {
    if (!(error instanceof LicetError && error.status === 409)) throw error;
  }
}

async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  // All workers share one queue.
  const worker = async () => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

const PRODUCTS: readonly ProductCreate[] = [
  {
    name: 'Castle Walls',
    description: 'Protects builds on game servers',
    productType: 'GAME_JAVA_PLUGIN',
    defaultMaxIPs: 3,
    defaultMaxHWIDs: 3,
  },
  {
    name: 'Skyline Shop',
    description: 'A web shop for game communities',
    productType: 'WEB_APPLICATION',
    defaultMaxIPs: 1,
    defaultMaxHWIDs: -1,
  },
  {
    name: 'Moderation Bot',
    description: 'Keeps chats friendly',
    productType: 'OTHER',
    productTypeOther: 'Chat bot',
    defaultMaxIPs: -1,
    defaultMaxHWIDs: 2,
  },
];

const PEOPLE = [
  ['Ada', 'Winter', 'adaw'],
  ['Bela', 'Kovacs', 'belak'],
  ['Chidi', 'Okafor', 'chidi'],
  ['Dana', 'Lindqvist', 'dlind'],
  ['Emre', 'Yilmaz', 'emre'],
  ['Freya', 'Moreau', 'freya'],
  ['Goro', 'Tanaka', 'goro'],
  ['Hana', 'Novak', 'hanan'],
  ['Ines', 'Costa', 'ines'],
  ['Jonas', 'Berg', 'jberg'],
  ['Kavya', 'Rao', 'kavya'],
  ['Luca', 'Ricci', 'lucar'],
] as const;

const PLATFORMS = ['SpigotMC', 'BuiltByBit', 'Voxel Shop', null] as const;
const LICENSE_COUNT = 48;

const expiresIn = (days: number): Pick<LicenseCreate, 'licenseType' | 'expiryDate'> => ({
  licenseType: 'TEMPORARY',
  expiryDate: new Date(Date.now() + days * DAY_MS).toISOString(),
});

/** The note by which the demo finds a license of its own, so that it creates none twice. */
const noteOf = (index: number): string => `Demo order ${index + 1}.`;

/** The last licenses were used long ago. */
const FIRST_DORMANT = 44;

/** Days from now on which a license expires; undefined for never. */
function expiryDaysOf(index: number): number | undefined {
  if (index % 16 === 0) return 1 + index / 8;
  if (index % 8 === 3) return -1 - (index - 3) / 8;
  return index % 2 === 0 ? 365 : undefined;
}

/** Every license has an owner. One in eight is expired, one in eight deactivated, one in eight deleted. */
function licenseOf(index: number, product: Product): LicenseCreate {
  const person = index % PEOPLE.length;
  const platform = PLATFORMS[index % PLATFORMS.length] ?? null;
  const days = expiryDaysOf(index);
  return {
    productId: product.id,
    ...(days === undefined ? { licenseType: 'PERMANENT' } : expiresIn(days)),
    licensePlatform: platform && 'OTHER',
    licensePlatformOther: platform ?? '',
    ownerPlatformId: platform && `${10_000 + person}`,
    ownerChatId: `90071992547409${930 + person}`,
    ownerChatUsername: PEOPLE[person]?.[2] ?? '',
    notes: noteOf(index),
  };
}

const TOKENS: readonly TokenCreate[] = [
  { name: 'Web shop', intents: ['LICENSES_READ_WRITE'] },
  { name: 'Support desk', intents: ['LICENSES_READ', 'REQUESTS_READ', 'CUSTOMERS_READ'] },
];

/** Creates the tokens that are missing. @returns the client of the web shop, if its token is new */
async function createTokens(licet: Licet, { url }: Access): Promise<Licet | undefined> {
  const known = await licet.tokens.list();
  const missing = TOKENS.filter(({ name }) => !known.some((token) => token.name === name));
  const created = await Promise.all(missing.map((token) => licet.tokens.create(token)));
  done(`${TOKENS.length} tokens`);
  const shop = created.find(({ name }) => name === TOKENS[0]?.name);
  return shop && new Licet({ url: url.href, token: shop.token });
}

const SYSTEMS = [
  { operatingSystem: 'Linux', operatingSystemVersion: '6.1', operatingSystemArchitecture: 'amd64' },
  {
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.8',
    operatingSystemArchitecture: 'aarch64',
  },
  {
    operatingSystem: 'Windows Server 2022',
    operatingSystemVersion: '10.0',
    operatingSystemArchitecture: 'amd64',
  },
] as const;
const VERSIONS = ['2.3.0', '2.3.0', '2.3.0', '2.2.1', '2.2.0', '1.9.4'] as const;
const JAVA_VERSIONS = ['21.0.5', '17.0.13', '21.0.5'] as const;

/** The validations of a license: by its servers, and by those that shall be refused. */
function requestsOf({ licenseKey, productId }: License, index: number, otherProductId: number) {
  // Never used.
  if (index % 12 === 1) return [];
  // One address may be refused 100 times a minute, so other licenses are validated less often.
  const servers = index % 2 === 0 ? [0, 1, 2, 3] : index % 8 === 1 ? [0, 1] : [0];
  return servers.map((server) => ({
    licenseKey: server === 3 && index % 6 === 0 ? UNKNOWN_KEY : licenseKey,
    productId: server === 3 && index % 10 === 4 ? otherProductId : productId,
    productVersion: VERSIONS[(index + server) % VERSIONS.length],
    ip:
      index % 16 === 2 && server === 2
        ? '203.0.113.66'
        : `198.51.100.${1 + ((index * 3 + (server % 3)) % 250)}`,
    hwid: server === 1 && index % 18 === 0 ? 'cracked-launcher' : `server-${index}-${server % 3}`,
    ...SYSTEMS[(index + (server >> 1)) % SYSTEMS.length],
    javaVersion: JAVA_VERSIONS[index % JAVA_VERSIONS.length],
  }));
}

/** Writes the past of new licenses, if the database is on this machine. */
async function addPast(
  licenses: readonly License[],
  startedAt: number,
  { url }: Access,
): Promise<void> {
  const [license] = licenses;
  if (!license) return;
  const folder = dataFolder(program.opts().persistTo);
  const file = isLocal(url) ? findDatabase(folder) : undefined;
  const indexOf = ({ notes }: License): number => Number(notes.replace(/\D/g, '')) - 1;
  // The last ones were sold in the last days.
  const ageDays = new Map(licenses.map((each) => [each.id, 100 - 2 * indexOf(each)]));
  const dormantIds = licenses.filter((each) => indexOf(each) >= FIRST_DORMANT).map(({ id }) => id);
  for (const id of dormantIds) ageDays.set(id, 200);
  // Only here, because it loads the service's own code, which takes longer than the rest of the program.
  const { writePast } = await import('./local/past.ts');
  const shop = { ageDays, dormantIds, startedAt, unknownKey: UNKNOWN_KEY };
  const hasPast = file !== undefined && writePast(file, license.licenseKey, shop);
  if (hasPast) done('Thirty days of history');
  else {
    note(
      `The history begins today: past records need the database of ${url.origin} on this machine. ` +
        'For a service with another data folder add --persist-to DIR.',
    );
  }
}

async function fill(licet: Licet, access: Access): Promise<Product | undefined> {
  const startedAt = Date.now();
  const known = await licet.products.list();
  const products: Product[] = [];
  for (const product of PRODUCTS) {
    const found = known.find(({ name }) => name === product.name);
    products.push(found ?? (await licet.products.create(product)));
  }
  done(`${products.length} products`);

  const seller = (await createTokens(licet, access)) ?? licet;

  const orders = { q: 'Demo order' };
  const existing = [
    ...(await licet.licenses.list(orders)),
    ...(await licet.licenses.list({ ...orders, licenseStatus: 'DELETED' })),
  ];
  const licenses: License[] = [];
  await inParallel(Array.from({ length: LICENSE_COUNT }), async (_, index) => {
    const product = products[index % products.length];
    if (!product || existing.some(({ notes }) => notes === noteOf(index))) return;
    const license = await seller.licenses.create(licenseOf(index, product));
    licenses.push(license);
    if (index % 8 === 5) await licet.licenses.update(license.id, { licenseStatus: 'DEACTIVATED' });
    if (index % 8 === 7) await licet.licenses.delete(license.id);
  });
  done(
    `${LICENSE_COUNT} licenses, ${licenses.length} of them new: active, expired, deactivated, deleted`,
  );

  const customers = await licet.customers.list();
  await inParallel(customers, async (customer) => {
    const person = PEOPLE.find(([, , username]) => username === customer.chatUsername);
    if (!person) return;
    const [firstName, lastName, username] = person;
    const email = `${username}@example.com`;
    await licet.customers.update(customer.id, { firstName, lastName, username, email });
  });
  done(`${customers.length} customers`);

  const blacklist: BlacklistEntryCreate[] = [
    { licenseDataType: 'IP', data: '203.0.113.66', isForAllProducts: true, reason: 'Leaked keys' },
    {
      licenseDataType: 'IP',
      data: '203.0.113.128/25',
      isForAllProducts: true,
      reason: 'Open proxies',
    },
    {
      licenseDataType: 'HWID',
      data: 'cracked-launcher',
      isForAllProducts: false,
      productId: products[0]?.id,
      reason: 'Cracked launcher',
    },
  ];
  for (const entry of blacklist) await ignoreExisting(licet.blacklists.create(entry));
  done(`${blacklist.length} blacklist entries`);

  let accepted = 0;
  const requests = licenses.flatMap((license) => {
    const index = Number(license.notes.replace(/\D/g, '')) - 1;
    const other = products[(index + 1) % products.length];
    return requestsOf(license, index, other?.id ?? license.productId);
  });
  await inParallel(requests, async (request) => {
    if ((await licet.validate(request)).valid) accepted++;
  });
  done(
    `${requests.length} validations: ${accepted} accepted, ${requests.length - accepted} refused`,
  );
  // Records are stored after the responses.
  const from = new Date(startedAt).toISOString();
  for (let tries = 0; tries < STORING_TRIES; tries++) {
    const stored = await licet.requests.list({ from, limit: 1_000 });
    if (stored.length >= requests.length) break;
    await wait(STORING_INTERVAL_MS);
  }
  await addPast(licenses, startedAt, access);
  return products[0];
}

async function play(licet: Licet, product: Product, { url }: Access): Promise<void> {
  const { licenseKey } = await licet.licenses.create({
    productId: product.id,
    licenseType: 'PERMANENT',
    maxIPs: 1,
    notes: 'Played by npm run demo',
  });
  console.log(
    `\nA game server runs ${product.name} with the key ${licenseKey}, good for one address.`,
  );
  const address = `${url.href.replace(/\/+$/, '')}/api/v1/validate`;
  const validate = async (event: string, ip: string) => {
    const body = {
      licenseKey,
      productId: product.id,
      ip,
      productVersion: '2.3.0',
      javaVersion: '17.0.9',
    };
    console.log(`\n${event}\n  POST ${address}\n  ${JSON.stringify(body)}`);
    const response = await licet.validate(body);
    console.log(`  ${response.valid ? 200 : 400} ${JSON.stringify(response)}`);
  };
  await validate('It starts: the license is bound to its address.', '198.51.100.10');
  await validate('It starts again.', '198.51.100.10');
  await validate('Somebody copies it to another machine.', '198.51.100.99');
  await validate('Somebody copies it to a machine whose address is blacklisted.', '203.0.113.66');
}

async function run(): Promise<void> {
  await readCommandLine(program);
  const { token, ...access } = findAccess();
  const licet = new Licet({ url: access.url.href, token });
  try {
    const product = await fill(licet, access);
    if (product) await play(licet, product, access);
  } catch (error) {
    throw error instanceof LicetError ? new CliError(explain(error, access)) : error;
  }
}

guardOutput('go on');
try {
  await run();
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  fail(error.message, error.status);
}
