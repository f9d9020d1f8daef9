import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ServerOptions } from 'node:https';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { afterAll, describe, expect, it, vi } from 'vitest';
import {
  newSigningKey,
  type SigningKey,
  signedBy,
  VALIDATION_TYPE,
} from '../node/forged-responses.ts';
import { listen } from '../node/own.ts';
import { freePort } from '../node/service.ts';
import { sharedService } from '../node/shared-service.ts';
import { CERTIFICATE, TLS } from './deploy-folder.ts';
import {
  type Ending,
  type Environment,
  endingOf,
  killCommands,
  runHere,
  startCommand,
} from './run-command.ts';

/** `npm run doctor` against the service, and against servers with the faults of proxies. */

const trusting = { NODE_EXTRA_CA_CERTS: CERTIFICATE };

afterAll(killCommands);

/** Runs the doctor, as a process of its own where it needs variables. */
const doctor = (args: string[], variables?: Environment): Promise<Ending> =>
  variables ? endingOf(startCommand('doctor', args, variables)) : runHere('doctor', args);

type Responder = (response: ServerResponse, request: IncomingMessage) => void;

const json =
  (status: number, body: object): Responder =>
  (response) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
const page =
  (status: number, text: string, headers = {}): Responder =>
  (response) =>
    response.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end(`<html>${text}`);
const redirect =
  (status: number, location: string): Responder =>
  (response) =>
    response.writeHead(status, { Location: location }).end();

/** Responds like the service. */
const respondRightly: Responder = (response, request) => {
  const { method, url } = request;
  if (url === '/api/v2/healthy') response.end('healthy');
  else if (url === '/.well-known/jwks.json') json(200, { keys: [] })(response, request);
  else if (url === '/api/v2/ping') {
    json(401, { message: 'No token', accepted_intents: [] })(response, request);
  } else json(method === 'POST' ? 400 : 405, { valid: false, message: 'No' })(response, request);
};

type Meets = (request: IncomingMessage) => boolean;

interface Place {
  /** With it, the server speaks https. */
  tls?: ServerOptions;
  variables?: Environment;
  /** The path after the port. */
  path?: string;
  args?: string[];
}

/** Runs the doctor against a server that responds to some requests as a faulty proxy does. */
async function examine(
  meets: Meets,
  wrong: Responder,
  { tls, variables, path = '', args = [] }: Place = {},
): Promise<Ending> {
  const listener: RequestListener = (request, response) =>
    meets(request) ? wrong(response, request) : respondRightly(response, request);
  return doctor([`${await listen(listener, tls)}${path}`, ...args], variables);
}

/** Runs the doctor against a server without faults. */
const examineSound = (place: Place): Promise<Ending> =>
  examine(
    () => false,
    () => {},
    place,
  );

const all: Meets = () => true;
const isV1: Meets = ({ url }) => url?.includes('/api/v1/') === true;
const isPost: Meets = ({ method }) => method === 'POST';
const isPing: Meets = ({ url }) => url === '/api/v2/ping';
const isDoubled: Meets = ({ url }) => url?.startsWith('//') === true;
const isForm: Meets = ({ headers }) => headers['content-type']?.includes('form') === true;
const isJava: Meets = ({ headers }) => headers['user-agent']?.startsWith('Java/') === true;
const isNameless: Meets = ({ headers }) => headers['user-agent'] === undefined;
const isUntyped: Meets = ({ method, headers }) =>
  method === 'POST' && headers['content-type'] === undefined;

const LOGIN = 'https://shop.cloudflareaccess.com/login';
const BLOCKED = '<span class="cf-error-code">1020</span>';
const CHALLENGE = { 'cf-mitigated': 'challenge' };
const toHttps: Responder = (response, request) =>
  redirect(301, `https://${request.headers.host}${request.url}`)(response, request);

/** Faults, the number of failed checks, and what is named of them: the request, the response, the setting. */
const faults: [fault: string, meets: Meets, wrong: Responder, count: number, named: string[]][] = [
  ['http that becomes https', all, toHttps, 7, ['301, location: https:', '"Always Use HTTPS"']],
  ['a log-in', all, redirect(302, LOGIN), 7, ['Zero Trust, "Access"']],
  [
    'a redirect of doubled slashes',
    isDoubled,
    redirect(308, '/api/v1/validate'),
    1,
    ['✗ A validation at a doubled slash', 'Redirect Rules'],
  ],
  [
    'a challenge for Java',
    isJava,
    page(403, 'Just a moment', CHALLENGE),
    3,
    ['plugins and mods on game servers', '"Bot Fight Mode"', '"I\'m Under Attack"'],
  ],
  [
    'an integrity check of browsers',
    isNameless,
    page(403, 'error code: 1010'),
    4,
    ['✗ A validation without user agent', '"Browser Integrity Check"'],
  ],
  ['a rule that refuses forms', isForm, page(403, BLOCKED), 1, ['form-urlencoded', '"Custom rul']],
  [
    'a reader of JSON that wants its content type',
    isUntyped,
    json(415, { message: 'Unsupported' }),
    1,
    ['✗ A validation without user agent and content type', '415'],
  ],
  [
    'a page in place of the service',
    all,
    page(200, 'Our shop'),
    7,
    ['everybody', 'in place of Licet'],
  ],
  [
    'a page for a GET',
    ({ method }) => method === 'GET',
    page(200, 'Welcome'),
    4,
    ['✗ A GET in place of a POST', 'programs that take any page for "valid"'],
  ],
  [
    'a refusal that says more',
    isV1,
    json(400, { valid: false, message: 'No', path: '/' }),
    4,
    ['Check that the latest version of Licet'],
  ],
  [
    'a refusal with the status of a yes',
    isV1,
    json(200, { valid: false, message: 'No' }),
    4,
    ['came    200'],
  ],
  [
    'errors of v2 without their intents',
    isPing,
    json(401, { message: 'No token' }),
    1,
    ['✗ A request of v2 without a token', 'shops and tools'],
  ],
  [
    'a service whose database is away',
    isPost,
    json(503, { valid: false, message: 'Unavailable' }),
    3,
    ['Check that all migrations are applied'],
  ],
  ['no Worker behind the name', all, page(522, 'Timeout'), 7, ['No Worker is at this address']],
];

describe('npm run doctor', () => {
  it('npm run doctor finds nothing wrong with the service, and adds its requests to the history', async () => {
    const address = await sharedService();
    const { code, output } = await doctor([address]);
    expect(output).toContain('All is well.');
    expect(output).not.toContain('✗');
    expect(code).toBe(0);
    const history = `${address}/api/v2/requests?licenseKey=LICET-DOCTOR&limit=1000`;
    await vi.waitFor(
      async () => {
        const response = await fetch(history, { headers: { TOKEN: readRootToken() ?? '' } });
        // Other tests examine the same service.
        const records = [await response.json()].flat();
        expect(records.length).toBeGreaterThanOrEqual(3);
      },
      { timeout: 60_000 },
    );
  });

  it.each(faults)('the doctor finds %s', async (_, meets, wrong, count, named) => {
    const { code, output } = await examine(meets, wrong);
    for (const name of named) expect(output).toContain(name);
    expect(output.match(/^✗/gm)).toHaveLength(count);
    expect(output).toContain(`${count} of these would break programs.`);
    expect(code).toBe(1);
  });

  describe('shows that signing', () => {
    const isKeySet: Meets = ({ url }) => url === '/.well-known/jwks.json';
    const isValidation: Meets = ({ url }) => url === '/api/v1/validate';

    it('the doctor verifies with each key of the service, and rejects a fake server', async () => {
      const address = await sharedService();
      const { keys } = await new Licet({ url: address }).signingKeys();
      const { output } = await doctor([address]);
      expect(keys).toHaveLength(2);
      const [{ kid } = { kid: '' }, { kid: second } = { kid: '' }] = keys;
      expect(output).toContain(`✓ A response signed with key ${kid} (the default) verifies\n`);
      expect(output).toContain(`✓ A response signed with key ${second} verifies\n`);
      expect(output).toContain(`✓ A program with key ${kid} built in refuses a fake server\n`);
      expect(
        output,
      ).toContain(`• A program without a key built in believes any server that has its address
    sees    {"licenseKey":"LICET-DOCTOR","productId":0}
    says    200 {"valid":true,"message":"License is valid"}
    change  Build ${kid} into programs in TypeScript, JavaScript and Go; ${second} into programs in Java, C#, Python, PHP, Lua and the shell: npm run -s licet -- keys show KID`);
    });

    it('the doctor shows that signing is off, without failing', async () => {
      const { code, output } = await examineSound({});
      expect(output).toContain('• A program without a key built in believes any server');
      expect(output).toContain('change  Signing is off. Make keys by npm run deploy or npm start');
      expect(output).not.toContain('refuses a fake server');
      expect(code).toBe(0);
    });

    const { constant: _, ...key } = newSigningKey('ES256', 'es-1');
    const weak = newSigningKey('RS256', 'rs-1', 1024);
    const jwkOf = ({ kid, publicKey }: Pick<SigningKey, 'kid' | 'publicKey'>) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
    });
    it.each<[string, object, string]>([
      [
        'signs with no key that it lists',
        jwkOf(key),
        '400 "No" without a signature of key es-1: there is none',
      ],
      [
        'has a key that is too short',
        jwkOf(weak),
        'Signing key rs-1 must be of P-256, or of RSA with 2048 bits',
      ],
      ['shows a private key', { ...jwkOf(key), d: 'AAAA' }, 'Signing key es-1 is private'],
      ['has no key', { keys: 1 }, 'A signing key must be a public JWK with a kid'],
    ])('the doctor shows that signing %s', async (_, listed, came) => {
      const { code, output } = await examine(isKeySet, json(200, { keys: [listed] }));
      expect(output).toMatch(/✗ No response is signed with key \S+ \(the default\)\n {4}came {4}/);
      expect(output).toContain(came);
      expect(output).toContain('change  Repair the signing keys first');
      expect(output).toContain('1 of these would break programs.');
      expect(code).toBe(1);
    });

    it('the doctor shows that a response is signed with another key than the listed one', async () => {
      const attacker = newSigningKey('ES256', 'es-1');
      const respond: Responder = (response, request) => {
        if (isKeySet(request)) return json(200, { keys: [jwkOf(key)] })(response, request);
        void signedBy(attacker, VALIDATION_TYPE, { valid: false, message: 'No' }).then((signed) =>
          json(400, { valid: false, message: 'No', signed })(response, request),
        );
      };
      const { code, output } = await examine(
        (request) => isKeySet(request) || (isValidation(request) && !isJava(request)),
        respond,
      );
      expect(output).toContain('without a signature of key es-1: it does not verify');
      expect(code).toBe(1);
    });
  });

  it('the doctor finds a request without a response', async () => {
    const isGet: Meets = ({ method, url }) => method === 'GET' && url === '/api/v1/validate';
    const { code, output } = await examine(isGet, () => {}, { args: ['--timeout', '2'] });
    expect(output).toMatch(/✗ A GET in place of a POST\n.*\n {4}came {4}no response: .*timeout/);
    expect(output).toContain('1 of these would break programs.');
    expect(code).toBe(1);
  });

  it('the doctor uses the path of the URL', async () => {
    const paths: string[] = [];
    const note: Meets = ({ url = '' }) => {
      paths.push(url);
      return false;
    };
    const { code, output } = await examine(note, () => {}, { path: '/licet/' });
    expect(output).toContain('GET /licet/api/v2/healthy\n');
    expect(paths.sort()).toEqual([
      '/licet/.well-known/jwks.json',
      '/licet//api/v1/validate',
      '/licet/api/v1/validate',
      '/licet/api/v1/validate',
      '/licet/api/v1/validate/',
      '/licet/api/v2/healthy',
      '/licet/api/v2/ping',
    ]);
    expect(code).toBe(1);
  });

  it.each(['/docs', '/console/licenses/7'])(
    'the doctor takes the address of a page: %s',
    async (path) => {
      const { code, output } = await examineSound({ path });
      expect(output).not.toContain(path);
      expect(output).toContain('✓ The health check');
      expect(code).toBe(0);
    },
  );

  it('the doctor prints no control characters of a server', async () => {
    const command = '\u001b]0;owned\u0007\u009b2J\u202e';
    const { output } = await examine(
      all,
      page(200, command, { 'CF-Mitigated': 'challenge\u009b2J' }),
    );
    expect(output).toContain('owned');
    expect(output).toContain('challenge 2J');
    expect(output.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  const oldTls = { minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
  const newTls = { minVersion: 'TLSv1.3' } as const;
  it.each<[what: string, tls: ServerOptions, isTrusted: boolean, code: number, named: RegExp]>([
    [
      'an untrusted certificate',
      {},
      false,
      1,
      /self-signed certificate(.*\n)*.*"Edge Certificates"/,
    ],
    ['https that is too new for Java 8', newTls, true, 1, /✗ .* TLS 1\.2\n(.*\n){3}.*: 1\.2/],
    ['https that is too new for Java 7, without failing', {}, true, 0, /• .* TLS 1\.0\n/],
    ['https as Java 7 speaks it', oldTls, true, 0, /✓ .* TLS 1\.0/],
  ])('the doctor finds %s', { tags: 'long' }, async (_, options, isTrusted, code, named) => {
    const tls = { ...TLS, ...options };
    const ending = await examineSound({ tls, ...(isTrusted && { variables: trusting }) });
    expect(ending.output).toMatch(named);
    expect(ending.code).toBe(code);
  });

  it('the doctor tries https and http without a port, and reports that nothing responds', async () => {
    const { code, output } = await doctor(['licet.invalid']);
    expect(output).toContain('No response from https://licet.invalid or http://licet.invalid.');
    expect(code).toBe(2);
    expect(await doctor([`localhost:${await freePort()}`])).toMatchObject({ code: 2 });
  });

  it('the doctor takes LICET_URL without an argument', async () => {
    const LICET_URL = 'https://licet.invalid:1';
    const { code, stderr } = await runHere('doctor', [], { LICET_URL });
    expect(stderr).toContain(`No response from ${LICET_URL}.`);
    expect(code).toBe(2);
  });

  it('the doctor names the protocols that it takes', async () => {
    const { stderr } = await runHere('doctor', ['ftp://a']);
    expect(stderr).toContain('"ftp://a" must begin with http:// or https://.');
  });

  it.each([
    [[]],
    [['a', 'b']],
    [['ftp://a']],
    [['http://']],
    [['https://a/?b']],
    [['https://user@a']],
    [['a', '--timeout', 'soon']],
    [['--unknown']],
  ])('the doctor rejects the arguments %j', async (args) => {
    const { code, output } = await doctor(args);
    expect(output).toMatch(/^✗ .+\. Add --help to see what it takes\.\n$/);
    expect(code).toBe(2);
  });
});
