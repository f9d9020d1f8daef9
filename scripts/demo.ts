import { Command } from '@commander-js/extra-typings';
import { readCommandLine, serviceUrl } from '../packages/cli/src/command-line.ts';
import { checkToken } from '../packages/cli/src/import/service.ts';
import { type Access, explain } from '../packages/cli/src/licet/session.ts';
import { isLocal, readRootToken, SECRETS_FILE } from '../packages/cli/src/root-token.ts';
import { CliError, done, fail, guardOutput, usageError } from '../packages/cli/src/terminal.ts';
import {
  type BlacklistEntryCreate,
  type License,
  type LicenseCreate,
  Licet,
  LicetError,
  type Product,
  type ProductCreate,
} from '../packages/client/src/index.ts';

/** `npm run demo`: fills a running service with a believable shop and plays a game server. */

const DAY_MS = 24 * 60 * 60 * 1000;
const PARALLEL = 8;

// LICET_URL is not read, because it may name a service in production.
const program = new Command('npm run demo --')
  .description(
    'Fills a running service with a believable shop, through the public interface, and plays a game server ' +
      'that validates a license. Run again, it adds what is missing and plays with a new one.',
  )
  .option('--url <url>', 'where the service runs', 'http://localhost:8787');

/** @throws CliError if the token is missing, or if the token or the address is invalid */
function findAccess(): Access & { token: string } {
  const url = serviceUrl(program.opts().url, '--url');
  const root = isLocal(url) ? readRootToken() : undefined;
  const { LICET_TOKEN } = process.env;
  const tokenSource = LICET_TOKEN ? 'LICET_TOKEN' : `ROOT_TOKEN in ${SECRETS_FILE}`;
  const token = LICET_TOKEN || root;
  if (!token) {
    throw usageError(
      'There is no token: set LICET_TOKEN. For a service on this machine npm start makes one.',
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

const PLATFORMS = ['PLATFORM_A', 'PLATFORM_B', 'MARKET_A', null] as const;
const LICENSE_COUNT = 48;

const expiresIn = (days: number): Pick<LicenseCreate, 'licenseType' | 'expiryDate'> => ({
  licenseType: 'TEMPORARY',
  expiryDate: new Date(Date.now() + days * DAY_MS).toISOString(),
});

/** The note by which the demo finds a license of its own, so that it creates none twice. */
const noteOf = (index: number): string => `Demo order ${index + 1}.`;

/** Every license has an owner. One in eight is expired, one in eight deactivated, one in eight deleted. */
function licenseOf(index: number, product: Product): LicenseCreate {
  const person = index % PEOPLE.length;
  const platform = PLATFORMS[index % PLATFORMS.length] ?? null;
  return {
    productId: product.id,
    ...(index % 8 === 3
      ? expiresIn(-30)
      : index % 2 === 0
        ? expiresIn(365)
        : { licenseType: 'PERMANENT' }),
    licensePlatform: platform,
    ownerPlatformId: platform && `${10_000 + person}`,
    ownerChatId: `90071992547409${930 + person}`,
    ownerChatUsername: PEOPLE[person]?.[2] ?? '',
    notes: noteOf(index),
  };
}

async function fill(licet: Licet): Promise<Product | undefined> {
  const known = await licet.products.list();
  const products: Product[] = [];
  for (const product of PRODUCTS) {
    const found = known.find(({ name }) => name === product.name);
    products.push(found ?? (await licet.products.create(product)));
  }
  done(`${products.length} products`);

  const orders = { q: 'Demo order' };
  const existing = [
    ...(await licet.licenses.list(orders)),
    ...(await licet.licenses.list({ ...orders, licenseStatus: 'DELETED' })),
  ];
  const licenses: License[] = [];
  await inParallel(Array.from({ length: LICENSE_COUNT }), async (_, index) => {
    const product = products[index % products.length];
    if (!product || existing.some(({ notes }) => notes === noteOf(index))) return;
    const license = await licet.licenses.create(licenseOf(index, product));
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
  // One address may be rejected 100 times a minute, so licenses that are not active are asked for less often.
  const requests = licenses.flatMap((license, index) =>
    (index % 2 === 0 ? [0, 1, 2, 3] : [0, 1]).map((server) => ({
      licenseKey: server === 3 && index % 6 === 0 ? 'AAAA-BBBB-CCCC-DDDD-EEEE' : license.licenseKey,
      productId: license.productId,
      productVersion: `2.${index % 4}.0`,
      ip:
        index % 16 === 2 && server === 2
          ? '203.0.113.66'
          : `198.51.100.${1 + ((index * 3 + (server % 3)) % 250)}`,
      hwid: `server-${index}-${server % 2}`,
      operatingSystem: 'Linux',
      operatingSystemVersion: '6.1',
      operatingSystemArchitecture: 'amd64',
      javaVersion: '17.0.9',
    })),
  );
  await inParallel(requests, async (request) => {
    if ((await licet.validate(request)).valid) accepted++;
  });
  done(
    `${requests.length} validations: ${accepted} accepted, ${requests.length - accepted} refused`,
  );
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
  await validate('And to one that is blacklisted.', '203.0.113.66');
}

async function run(): Promise<void> {
  await readCommandLine(program);
  const { token, ...access } = findAccess();
  const licet = new Licet({ url: access.url.href, token });
  try {
    const product = await fill(licet);
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
