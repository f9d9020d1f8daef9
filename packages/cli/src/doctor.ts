import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { Command, Option } from '@commander-js/extra-typings';
import { Licet, LicetError, type SigningKey } from '@licet/client';
import { MARKET_KINDS, type MarketKind } from '@licet/contract/enums';
import { parseJson } from '@licet/contract/json';
import { DOCTOR_KEY } from '@licet/contract/license-key';
import { argumentError, type CliCommand, cutPage, parseArguments } from './command-line.ts';
import { type Check, print, startOf } from './doctor-check.ts';
import { marketProbes } from './doctor-market.ts';
import { examineProgram } from './doctor-program.ts';
import { type Fields, fieldsOf } from './import/kinds.ts';
import { callOf, documentOf, QUIET_CALL } from './invocation.ts';
import { LANGUAGES } from './signing-keys.ts';
import { CliError } from './terminal.ts';

/** `npm run doctor`: sends the requests of shipped programs, and reports those that fail. */

const newProgram = () =>
  new Command(callOf('doctor'))
    .usage('[URL] [options]')
    .description(
      'Sends the requests of shipped programs to a service, and reports those that fail.',
    )
    .argument(
      '[url]',
      'where the service runs, such as https://license.example.com, with its path if it has one; where it ' +
        'names no port, both http and https are tried; LICET_URL if it is left out',
    )
    .addOption(
      new Option(
        '--market <kind>',
        'send samples of a market to its address, which is the URL',
      ).choices(MARKET_KINDS),
    )
    .option('--secret <file>', 'with --market: a file with the secret of the market')
    .addOption(
      new Option(
        '--program <command>',
        'start your program with a good service, a dead one, a fake one, a slow one and a moved clock',
      ).conflicts('market'),
    )
    .option(
      '--timeout <seconds>',
      'how long to wait for each response; with --program, how long to watch each start',
      '10',
    )
    .addHelpText(
      'after',
      `
It validates the license key LICET-DOCTOR, which no license has: each address adds three rejected requests
to the history, and one for each signing key, with a remark that names the doctor. With --market, its
requests are not listed under What arrived.

With --program, a shell runs the command eight times, each for --timeout seconds (30 more with the slow
service), and ends it. The program reads the address from the variable LICET_URL, or from {url} in
the command. It has the key of a license that is valid, and no lease from before: delete licet.mark first.
It counts as running if it has not exited by then, or exits with 0; it must exit with another status if it may not run.

Examples:
  ${callOf('doctor')} https://license.example.com
  ${callOf('doctor')} https://license.example.com --program "java -jar plugin-test.jar"

Exit status: 0 all is well, 1 something would break, 2 no response, or wrong arguments.`,
    );

const MAX_TEXT_LENGTH = 64 * 1024;

interface ReadResponse {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

interface Probe {
  what: string;
  /** The programs that a wrong response breaks. */
  who: string;
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Only for https. */
  tls?: https.RequestOptions;
  isRight: (response: ReadResponse) => boolean;
  /** The change to make, unless the response shows another reason. */
  change: string;
  /** Reported without failing. */
  isMinor?: true;
}

const parse = (text: string): Fields => fieldsOf(parseJson(text));

/** A v1 rejection: two fields and no other [4.7]. */
const isRefusal =
  (status: number) =>
  (response: ReadResponse): boolean => {
    const { valid, message, ...others } = parse(response.text);
    return (
      response.status === status &&
      valid === false &&
      typeof message === 'string' &&
      Object.keys(others).length === 0
    );
  };

/** A v2 error: two fields and no other [7]. */
function isUnauthorised({ status, text }: ReadResponse): boolean {
  const { message, accepted_intents: intents, ...others } = parse(text);
  return (
    status === 401 &&
    typeof message === 'string' &&
    Array.isArray(intents) &&
    Object.keys(others).length === 0
  );
}

const isHealthy = ({ status, text }: ReadResponse): boolean => status === 200 && text === 'healthy';

function hasKeySet({ status, text }: ReadResponse): boolean {
  return status === 200 && Array.isArray(parse(text).keys);
}

const KEYS_PATH = '/.well-known/jwks.json';
const JAVA_8 = { 'User-Agent': 'Java/1.8.0_202' };
const UNKNOWN = { licenseKey: DOCTOR_KEY, productId: 0 };
const UNKNOWN_LICENSE = JSON.stringify({
  ...UNKNOWN,
  productVersion: '1.0',
  operatingSystemVersion: '6.1',
  javaVersion: '1.8.0_202',
});
const IS_IT_LICET = 'Check that the latest version of Licet responds there.';
const MINIMUM_TLS = 'SSL/TLS, Edge Certificates, "Minimum TLS Version"';

const PROBES: readonly Probe[] = [
  {
    what: 'The health check',
    who: 'everybody',
    method: 'GET',
    path: '/api/v2/healthy',
    isRight: isHealthy,
    change: IS_IT_LICET,
  },
  {
    what: 'A validation as Java 8 sends it',
    who: 'plugins and mods on game servers',
    method: 'POST',
    path: '/api/v1/validate',
    headers: { ...JAVA_8, 'Content-Type': 'application/json; utf-8' },
    body: UNKNOWN_LICENSE,
    isRight: isRefusal(400),
    change: IS_IT_LICET,
  },
  {
    what: 'A validation at a doubled slash, sent as a form',
    who: 'programs whose address for the service ends with a slash, or that send a form type',
    method: 'POST',
    path: '//api/v1/validate',
    headers: { ...JAVA_8, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: UNKNOWN_LICENSE,
    isRight: isRefusal(400),
    change:
      'Give the Worker a custom domain, or a route for the whole host: license.example.com/*.',
  },
  {
    what: 'A validation without user agent and content type, with a byte-order mark, at a closing slash',
    who: 'programs in other languages, and those that read their key from a file of Windows',
    method: 'POST',
    path: '/api/v1/validate/',
    body: `\uFEFF${UNKNOWN_LICENSE}`,
    isRight: isRefusal(400),
    change:
      'Security, "Custom rules": none may block requests without a user agent or a content type.',
  },
  {
    what: 'A GET in place of a POST',
    who: 'programs that take any page for "valid"',
    method: 'GET',
    path: '/api/v1/validate',
    headers: JAVA_8,
    isRight: isRefusal(405),
    change: IS_IT_LICET,
  },
  {
    what: 'A request of v2 without a token',
    who: 'shops and tools that use v2',
    method: 'GET',
    path: '/api/v2/ping',
    isRight: isUnauthorised,
    change: IS_IT_LICET,
  },
  {
    what: 'The public keys of signed responses',
    who: 'tools that check signatures',
    method: 'GET',
    path: KEYS_PATH,
    isRight: hasKeySet,
    change: IS_IT_LICET,
  },
  {
    what: 'A connection by TLS 1.2',
    who: 'Java 8',
    method: 'GET',
    path: '/api/v2/healthy',
    tls: { maxVersion: 'TLSv1.2' },
    isRight: isHealthy,
    change: `${MINIMUM_TLS}: 1.2 or lower.`,
  },
  {
    what: 'A connection by TLS 1.0',
    who: 'Java 7 and older',
    method: 'GET',
    path: '/api/v2/healthy',
    tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' },
    isRight: isHealthy,
    change: `Only if you have such customers. ${MINIMUM_TLS}: 1.0.`,
    isMinor: true,
  },
];

const IP_ACCESS =
  'Security, "IP Access Rules": let the address and country in from which this was sent.';
/** The changes to make, by the code on Cloudflare's error page. */
const CLOUDFLARE_ERRORS: Readonly<Record<string, string>> = {
  1006: IP_ACCESS,
  1007: IP_ACCESS,
  1008: IP_ACCESS,
  1009: IP_ACCESS,
  1010: 'Security, "Browser Integrity Check": off, or off for this host by a Configuration Rule.',
  1015: 'Security, "Rate limiting rules": for /api/ let 200 requests in 10 seconds pass from one address.',
  1020: 'Security, "Custom rules": leave out /api/.',
  1027: "Today's requests of the Free plan are used up: take the paid plan of Workers.",
  1101: 'The Worker failed. Its log has the reason: npx wrangler tail',
  1102: 'The Worker needed more CPU time than its plan gives: take the paid plan of Workers.',
};

/** The folder of a path that a rule must leave out, such as `/api/` or `/markets/`. */
const folderOf = (path: string): string => `/${path.split('/').find(Boolean) ?? ''}/`;

/** @param folder see {@link folderOf} */
function changeByResponse(
  { status, headers, text }: ReadResponse,
  address: URL,
  folder: string,
): string | undefined {
  const location = headers.location ?? '';
  if (address.protocol === 'http:' && location.startsWith(`https://${address.hostname}`)) {
    return 'SSL/TLS, Edge Certificates, "Always Use HTTPS": off; and no Redirect Rule to https.';
  }
  if (location.includes('.cloudflareaccess.com/'))
    return `Zero Trust, "Access": leave out ${folder}.`;
  if (status >= 300 && status < 400) {
    return `Rules, "Redirect Rules" and "Page Rules": leave out ${folder}. Programs follow with a GET.`;
  }
  if (headers['cf-mitigated'] !== undefined) {
    return (
      'Security, "Bot Fight Mode": off; "I\'m Under Attack": off; "Custom rules": no challenge for ' +
      `${folder}. No program can solve one.`
    );
  }
  const [, code = ''] = /(?:error code: |Error |cf-error-code">)(\d{4})\b/.exec(text) ?? [];
  const byCode = CLOUDFLARE_ERRORS[code]?.replace('/api/', folder);
  if (byCode !== undefined) return byCode;
  if (status >= 520) return 'No Worker is at this address: give it a custom domain, and deploy it.';
  if (status === 429) return 'Too many requests came from here: wait a minute and try again.';
  if (status === 500 || status === 503) {
    return 'The service failed. Its log has the reason: npx wrangler tail. Check that all migrations are applied.';
  }
  if (text.trimStart().startsWith('<')) {
    return `A web page responds in place of Licet. No other site, Pages project or log-in may respond on ${folder}.`;
  }
  return undefined;
}

/** No connection, or no trusted one. */
class NoResponse extends Error {
  readonly isCertificate: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message || cause.code);
    this.isCertificate = /CERT|SELF_SIGNED|UNABLE_TO/.test(cause.code ?? '');
  }
}

/** The path of the service, without a slash at its end. */
const baseOf = ({ pathname }: URL): string => pathname.replace(/\/+$/, '');

const nameOf = (address: URL): string => address.origin + baseOf(address);

function send(address: URL, probe: Probe, timeoutMs: number): Promise<ReadResponse> {
  const { method, headers = {}, body, tls } = probe;
  const path = baseOf(address) + probe.path;
  const { request } = address.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const fail = (error: Error) => reject(new NoResponse(signal.aborted ? signal.reason : error));
    const options = { method, path, headers, agent: false, signal };
    request(address, { ...options, ...tls }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text = (text + part).slice(0, MAX_TEXT_LENGTH);
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
      response.on('error', fail);
    })
      .on('error', fail)
      .end(body);
  });
}

/** Describes a response in one line. */
function describe({ status, headers, text }: ReadResponse): string {
  const names = ['location', 'cf-mitigated', 'content-type'];
  const shown = names.flatMap((name) =>
    headers[name] ? [startOf(`${name}: ${headers[name]}`)] : [],
  );
  return [status, ...shown, startOf(text)].join(', ');
}

const PROXIED =
  'DNS: the record of the name must be "Proxied"; then Cloudflare responds on http and https.';
const CERTIFICATE =
  'SSL/TLS, "Edge Certificates": one that is valid, for this name, of a known authority.';

interface Finding {
  probe: Probe;
  check: Check;
  /** Whether anything responds, even a wrong server. */
  isSomething: boolean;
  /** The response's body; empty without a response. */
  text: string;
}

async function examine(address: URL, probe: Probe, timeoutMs: number): Promise<Finding> {
  const { what, who, method, path, headers = {}, isMinor } = probe;
  const sent = [
    `${method} ${baseOf(address)}${path}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const wrong = (came: string, change: string): Check => ({
    what,
    mark: isMinor ? 'minor' : 'bad',
    details: [
      ['sent', sent.join(', ')],
      ['came', came],
      ['breaks', who],
      ['change', change],
    ],
  });
  try {
    const response = await send(address, probe, timeoutMs);
    const check: Check = probe.isRight(response)
      ? { what, mark: 'good' }
      : wrong(
          describe(response),
          changeByResponse(response, address, folderOf(probe.path)) ?? probe.change,
        );
    return { probe, check, isSomething: true, text: response.text };
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    const { isCertificate, message } = error;
    const change = isCertificate ? CERTIFICATE : probe.change;
    const check = wrong(`no response: ${startOf(message)}`, change);
    return { probe, check, isSomething: isCertificate, text: '' };
  }
}

const NOTHING_RESPONDS: Check = {
  what: 'Nothing responds',
  mark: 'bad',
  details: [
    ['breaks', 'programs with this address'],
    ['change', PROXIED],
  ],
};

const FAKE_BODY = { valid: true, message: 'License is valid' };

interface UsableKey {
  kid: string;
  alg: unknown;
  key: SigningKey;
  /** A signature of the service for another request. */
  signed: string | undefined;
}

/** Validates at a fake server that accepts everything, as a program with or without a key. */
async function askFake(url: string, pinned?: UsableKey) {
  let seen = '';
  const fake = new Licet({
    url,
    fetch: async (request) => {
      seen = await request.text();
      return Response.json({ ...FAKE_BODY, ...(pinned && { signed: pinned.signed }) });
    },
  });
  const signingKeys = pinned && [pinned.key];
  const { valid } = await fake.validate(UNKNOWN, { signingKeys }).catch((error) => {
    if (error instanceof LicetError) return { valid: false };
    throw error;
  });
  return { seen, isBelieved: valid };
}

const SIGNING_DOCUMENT = documentOf('signing');
const UNSIGNED = [
  'programs with this key built in: they run on their leases, then stop',
  `Check the secrets SIGNING_KEY_<n>, and the proxies before the service: ${SIGNING_DOCUMENT}.`,
] as const;
const UNUSABLE_KEY = [
  'programs with this key built in: they refuse it, or others can sign with it',
  `Make another: ${callOf('licet')} keys create ES256 FILE, then retire this one: ${SIGNING_DOCUMENT}.`,
] as const;
const SIGNING_IS_OFF = `Signing is off. Make keys by npm run deploy or npm start, then: ${SIGNING_DOCUMENT}.`;
const REPAIR_KEYS = 'Repair the signing keys first, as shown above.';
/** The step for the first key of each algorithm: each language checks one of them. */
function buildIn(keys: readonly UsableKey[]): string {
  const parts = (['ES256', 'RS256'] as const).flatMap((algorithm) => {
    const { kid } = keys.find(({ alg }) => alg === algorithm) ?? {};
    return kid === undefined ? [] : `${kid} into programs in ${LANGUAGES[algorithm]}`;
  });
  return `Build ${parts.join('; ')}: ${QUIET_CALL} keys show KID, then: ${SIGNING_DOCUMENT}.`;
}

/** Verifies a signature of each key, and shows which programs believe a fake server. */
async function checkSignatures(address: URL, keySet: string, timeoutMs: number): Promise<Check[]> {
  const url = nameOf(address);
  const licet = new Licet({ url, timeoutMs });
  const listed = parse(keySet).keys;
  const keys: SigningKey[] = Array.isArray(listed) ? listed : [];
  const checks: Check[] = [];
  const good: UsableKey[] = [];
  for (const [index, key] of keys.entries()) {
    const { kid: named, alg } = parse(JSON.stringify(key));
    const kid = startOf(String(named));
    const name = index === 0 ? `${kid} (the default)` : kid;
    try {
      const { signed } = await licet.validate(UNKNOWN, { signingKeys: [key] });
      checks.push({
        what: `A response signed with key ${name} verifies`,
        mark: 'good',
      });
      good.push({ kid, alg, key, signed });
    } catch (error) {
      const came = startOf(error instanceof Error ? error.message : String(error), 300);
      // The client throws a TypeError for a key that it does not accept.
      const [breaks, change] = error instanceof TypeError ? UNUSABLE_KEY : UNSIGNED;
      checks.push({
        what: `No response is signed with key ${name}`,
        mark: 'bad',
        details: [
          ['came', came],
          ['breaks', breaks],
          ['change', change],
        ],
      });
    }
  }
  const [first] = good;
  if (first && !(await askFake(url, first)).isBelieved) {
    const what = `A program with key ${first.kid} built in refuses a fake server`;
    checks.push({ what, mark: 'good' });
  }
  const steps = keys.length === 0 ? SIGNING_IS_OFF : REPAIR_KEYS;
  checks.push({
    what: 'A program without a key built in believes any server that has its address',
    mark: 'minor',
    details: [
      ['sees', (await askFake(url)).seen],
      ['says', `200 ${JSON.stringify(FAKE_BODY)}`],
      ['change', first ? buildIn(good) : steps],
    ],
  });
  return checks;
}

/** The address, and without a port also that of the other protocol. */
function addressesOf(text: string): URL[] {
  const protocol = /^(localhost|127\.)/.test(text) ? 'http' : 'https';
  const withProtocol = text.includes('://') ? text : `${protocol}://${text}`;
  const address = URL.canParse(withProtocol) ? new URL(withProtocol) : undefined;
  if (!address) throw argumentError(`"${text}" is not a URL.`);
  if (!/^https?:$/.test(address.protocol)) {
    throw argumentError(`"${text}" must begin with http:// or https://.`);
  }
  if (address.username + address.password + address.search + address.hash !== '') {
    throw argumentError(`"${text}" has more than a host, a port and a path.`);
  }
  cutPage(address);
  if (address.port !== '' || address.hostname === 'localhost') return [address];
  return ['https', 'http'].map(
    (protocol) => new URL(`${protocol}://${address.host}${address.pathname}`),
  );
}

/** Sends samples of a market to its address. */
async function examineMarket(
  kind: MarketKind,
  text: string,
  secretFile: string | undefined,
  timeoutMs: number,
): Promise<number> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/\/(markets|bbb)\//.test(url.pathname)) {
    throw argumentError(`"${text}" is not the address of a market, as the console shows it.`);
  }
  const secret = secretFile && readFileSync(secretFile, 'utf8').trim();
  const probes = marketProbes(kind, url.pathname, secret || undefined);
  const checks: Check[] = [];
  for (const probe of probes) {
    checks.push((await examine(new URL(url.origin), probe, timeoutMs)).check);
  }
  console.log(`\n${url.origin}/…`);
  for (const check of checks) print(withoutPath(check, url.pathname));
  const failed = checks.filter(({ mark }) => mark === 'bad').length;
  console.log(failed === 0 ? '\nAll is well.' : `\n${failed} of these would break the market.`);
  return failed === 0 ? 0 : 1;
}

/** A check without the path of the market, which is a secret. */
const withoutPath = (check: Check, path: string): Check => ({
  ...check,
  ...(check.details && {
    details: check.details.map(([title, text]) => [title, text.replaceAll(path, '/…')] as const),
  }),
});

async function run(args: readonly string[]): Promise<number> {
  const program = newProgram();
  await parseArguments(program, args);
  const { timeout, market, secret, program: sellersProgram } = program.opts();
  const [text = process.env.LICET_URL] = program.processedArgs;
  if (!text) throw argumentError('Give the URL of a service, or set LICET_URL.');
  const timeoutMs = Number(timeout) * 1000;
  if (!(timeoutMs > 0 && timeoutMs <= 600_000)) {
    throw argumentError(`"${timeout}" is not a timeout. Give a number of seconds, up to 600.`);
  }

  if (market !== undefined) return examineMarket(market, text, secret, timeoutMs);
  const addresses = addressesOf(text);
  if (sellersProgram !== undefined) return examineProgram(addresses, sellersProgram, timeoutMs);
  const checked = await Promise.all(
    addresses.map(async (address) => {
      const probes = PROBES.filter(({ tls }) => address.protocol === 'https:' || !tls);
      const findings = await Promise.all(probes.map((probe) => examine(address, probe, timeoutMs)));
      const isThere = findings.some(({ isSomething }) => isSomething);
      const keySet = findings.find(({ probe }) => probe.path === KEYS_PATH);
      const signatures =
        keySet?.check.mark === 'good' ? await checkSignatures(address, keySet.text, timeoutMs) : [];
      const probed = findings.map(({ check }) => check);
      return {
        address,
        isThere,
        checks: isThere ? [...probed, ...signatures] : [NOTHING_RESPONDS],
      };
    }),
  );
  if (!checked.some(({ isThere }) => isThere)) {
    throw new CliError(
      `No response from ${addresses.map(nameOf).join(' or ')}. Check the address.`,
      2,
    );
  }
  for (const { address, checks } of checked) {
    console.log(`\n${nameOf(address)}`);
    for (const check of checks) print(check);
  }
  const all = checked.flatMap(({ checks }) => checks);
  const failed = all.filter(({ mark }) => mark === 'bad').length;
  if (addresses.length === 1)
    console.log(`\n${addresses[0]?.protocol === 'https:' ? 'http' : 'https'} was not tried.`);
  console.log(failed === 0 ? '\nAll is well.' : `\n${failed} of these would break programs.`);
  return failed === 0 ? 0 : 1;
}

export const command: CliCommand = {
  onUnreadOutput: 'go on',
  // A program that --program started ends too.
  stopMessage: () => 'Stopped.',
  run,
};
