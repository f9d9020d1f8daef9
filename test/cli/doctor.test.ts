import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { readRootToken } from '../../packages/cli/src/root-token.ts';
import { freePort } from '../node/service.ts';
import { sharedService } from '../node/shared-service.ts';
import {
  type Ending,
  type Environment,
  endingOf,
  killCommands,
  runHere,
  startCommand,
} from './run-command.ts';

/** `npm run doctor` against the service, and against servers with the faults of proxies. */

/** A self-signed certificate for localhost. Its key is no secret. */
const certificate = 'test/cli/test-only-certificate.pem';
const tlsOptions = () => ({
  key: readFileSync('test/cli/test-only-key.pem'),
  cert: readFileSync(certificate),
});

const trusting = { NODE_EXTRA_CA_CERTS: certificate };

afterAll(killCommands);

/** Runs the doctor, as a process of its own where it needs variables. */
const doctor = (args: string[], variables?: Environment): Promise<Ending> =>
  variables ? endingOf(startCommand('doctor', args, variables)) : runHere('doctor', args);

function json(answer: ServerResponse, status: number, body: object): void {
  answer.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
const page = (answer: ServerResponse, status: number, text: string, headers = {}) =>
  answer.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end(`<html>${text}</html>`);

/** Responds like the service. */
function answerRightly({ method, url }: IncomingMessage, answer: ServerResponse): void {
  if (url === '/api/v2/healthy') answer.end('healthy');
  else if (url === '/api/v2/ping') json(answer, 401, { message: 'No token', accepted_intents: [] });
  else json(answer, method === 'POST' ? 400 : 405, { valid: false, message: 'No' });
}

/** A proxy's fault. */
interface Fault {
  meets: (request: IncomingMessage) => boolean;
  answer: (answer: ServerResponse, request: IncomingMessage) => void;
}

interface Place {
  /** With it, the server speaks https. */
  tls?: ServerOptions;
  variables?: Environment;
  /** The path after the port. */
  path?: string;
  args?: string[];
}

/** Runs the doctor against a server with a fault. */
async function examine(
  { meets, answer }: Fault,
  { tls, variables, path = '', args = [] }: Place = {},
): Promise<Ending> {
  const listener: RequestListener = (request, response) =>
    meets(request) ? answer(response, request) : answerRightly(request, response);
  const server = tls ? createHttpsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const ending = await doctor(
    [`${tls ? 'https' : 'http'}://localhost:${port}${path}`, ...args],
    variables,
  );
  server.close();
  server.closeAllConnections();
  return ending;
}

const all = () => true;
const none: Fault = { meets: () => false, answer: () => {} };
const isV1 = ({ url }: IncomingMessage) => url?.includes('/api/v1/') === true;

const faults: [string, Fault, number, RegExp][] = [
  [
    'http that becomes https',
    {
      meets: all,
      answer: (answer, { headers, url }) =>
        answer.writeHead(301, { Location: `https://${headers.host}${url}` }).end(),
    },
    6,
    /came {4}301, location: https:.*\n.*\n {4}change {2}.*"Always Use HTTPS": off/,
  ],
  [
    'a log-in',
    {
      meets: all,
      answer: (answer) =>
        answer.writeHead(302, { Location: 'https://shop.cloudflareaccess.com/login' }).end(),
    },
    6,
    /change {2}Zero Trust, "Access"/,
  ],
  [
    'a redirect of doubled slashes',
    {
      meets: ({ url }) => url?.startsWith('//') === true,
      answer: (answer) => answer.writeHead(308, { Location: '/api/v1/validate' }).end(),
    },
    1,
    /✗ A validation at a doubled slash.*\n.*\n.*\n {4}breaks {2}programs whose.*slash.*\n.*Redirect Rules/,
  ],
  [
    'a challenge for Java',
    {
      meets: ({ headers }) => headers['user-agent']?.startsWith('Java/') === true,
      answer: (answer) => page(answer, 403, 'Just a moment', { 'cf-mitigated': 'challenge' }),
    },
    3,
    /breaks {2}plugins and mods on game servers\n.*"Bot Fight Mode": off; "I'm Under Attack": off/,
  ],
  [
    'an integrity check of browsers',
    {
      meets: ({ headers }) => headers['user-agent'] === undefined && headers.host !== undefined,
      answer: (answer) => answer.writeHead(403).end('error code: 1010'),
    },
    3,
    /✗ A validation without user agent(.*\n){4}.*"Browser Integrity Check": off/,
  ],
  [
    'a rule that refuses forms',
    {
      meets: ({ headers }) => headers['content-type']?.includes('form') === true,
      answer: (answer) => page(answer, 403, '<span class="cf-error-code">1020</span>'),
    },
    1,
    /sent.*form-urlencoded\n(.*\n){2}.*"Custom rules": leave out/,
  ],
  [
    'a reader of JSON that wants its content type',
    {
      meets: ({ method, headers }) => method === 'POST' && headers['content-type'] === undefined,
      answer: (answer) => json(answer, 415, { message: 'Unsupported' }),
    },
    1,
    /✗ A validation without user agent and content type(.*\n){2}.*came {4}415, /,
  ],
  [
    'a page in place of the service',
    { meets: all, answer: (answer) => page(answer, 200, 'Our shop') },
    6,
    /breaks {2}everybody\n {4}change {2}A page is here and not Licet/,
  ],
  [
    'a page for a GET',
    {
      meets: ({ method }) => method === 'GET',
      answer: (answer) => page(answer, 200, 'Welcome'),
    },
    3,
    /✗ A GET in place of a POST(.*\n){3}.*breaks {2}programs that take any page for a yes/,
  ],
  [
    'a refusal that says more',
    {
      meets: isV1,
      answer: (answer) => json(answer, 400, { valid: false, message: 'No', path: '/' }),
    },
    4,
    /See whether it is Licet/,
  ],
  [
    'a refusal with the status of a yes',
    { meets: isV1, answer: (answer) => json(answer, 200, { valid: false, message: 'No' }) },
    4,
    /came {4}200, /,
  ],
  [
    'errors of v2 without their intents',
    {
      meets: ({ url }) => url === '/api/v2/ping',
      answer: (answer) => json(answer, 401, { message: 'No token' }),
    },
    1,
    /✗ A request of v2 without a token(.*\n){3}.*breaks {2}shops and tools/,
  ],
  [
    'a service whose database is away',
    {
      meets: ({ method }) => method === 'POST',
      answer: (answer) => json(answer, 503, { valid: false, message: 'Unavailable' }),
    },
    3,
    /Are the migrations applied\?/,
  ],
  [
    'no Worker behind the name',
    { meets: all, answer: (answer) => page(answer, 522, 'Connection timed out') },
    6,
    /No Worker is at this address/,
  ],
];

describe('npm run doctor', () => {
  it('finds nothing wrong with the service, and adds its requests to the history', async () => {
    const address = await sharedService();
    const { code, output } = await doctor([address]);
    expect(output).toContain('All is well.');
    expect(output).not.toContain('✗');
    expect(code).toBe(0);
    const history = `${address}/api/v2/requests?licenseKey=LICET-DOCTOR&limit=1000`;
    await vi.waitFor(
      async () => {
        const answer = await fetch(history, { headers: { TOKEN: readRootToken() ?? '' } });
        // Other tests examine the same service.
        const records = [await answer.json()].flat();
        expect(records.length).toBeGreaterThanOrEqual(3);
      },
      { timeout: 10_000 },
    );
  });

  it.each(faults)('finds %s', async (_, fault, count, says) => {
    const { code, output } = await examine(fault);
    expect(output).toMatch(says);
    expect(output.match(/^✗/gm)).toHaveLength(count);
    expect(output).toContain(`${count} would break something.`);
    expect(code).toBe(1);
  });

  it('finds a request without a response', async () => {
    const silent: Fault = {
      meets: ({ method, url }) => method === 'GET' && url === '/api/v1/validate',
      answer: () => {},
    };
    const { code, output } = await examine(silent, { args: ['--timeout', '2'] });
    expect(output).toMatch(/✗ A GET in place of a POST\n.*\n {4}came {4}no answer: .*timeout/);
    expect(output).toContain('1 would break something.');
    expect(code).toBe(1);
  });

  it('uses the path of the URL', async () => {
    const paths: string[] = [];
    const elsewhere: Fault = {
      meets: ({ url = '' }) => {
        paths.push(url);
        return false;
      },
      answer: () => {},
    };
    const { code, output } = await examine(elsewhere, { path: '/licet/' });
    expect(output).toMatch(/^http:\/\/localhost:\d+\/licet$/m);
    expect(output).toContain('sent    GET /licet/api/v2/healthy\n');
    expect(paths.sort()).toEqual([
      '/licet//api/v1/validate',
      '/licet/api/v1/validate',
      '/licet/api/v1/validate',
      '/licet/api/v1/validate/',
      '/licet/api/v2/healthy',
      '/licet/api/v2/ping',
    ]);
    expect(code).toBe(1);
  });

  it('prints no control characters of a server', async () => {
    const command = '\u001b]0;owned\u0007\u009b2J\u202e';
    const hostile: Fault = {
      meets: all,
      answer: (answer) => page(answer, 200, command, { 'CF-Mitigated': 'challenge\u009b2J' }),
    };
    const { output } = await examine(hostile);
    expect(output).toContain('owned');
    expect(output).toContain('challenge 2J');
    expect(output.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('finds an untrusted certificate', async () => {
    const { code, output } = await examine(none, { tls: tlsOptions() });
    expect(output).toMatch(
      /came {4}no answer: self-signed certificate.*\n.*\n.*"Edge Certificates"/,
    );
    expect(code).toBe(1);
  });

  it('finds https that is too new for Java 8', async () => {
    const tls = { ...tlsOptions(), minVersion: 'TLSv1.3' } as const;
    const { code, output } = await examine(none, { tls, variables: trusting });
    expect(output).toMatch(
      /✗ A connection by TLS 1\.2\n(.*\n){2} {4}breaks {2}Java 8\n.*"Minimum TLS Version": 1\.2/,
    );
    expect(output).toMatch(/^1 would break something/m);
    expect(code).toBe(1);
  });

  it('reports https that is too new for Java 7 without failing', async () => {
    const { code, output } = await examine(none, { tls: tlsOptions(), variables: trusting });
    expect(output).toMatch(/• A connection by TLS 1\.0\n(.*\n){2} {4}breaks {2}Java 7 and older/);
    expect(output).toContain('All is well.');
    expect(code).toBe(0);
  });

  it('speaks TLS 1.0 as Java 7 does', async () => {
    const tls = { ...tlsOptions(), minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    const { output } = await examine(none, { tls, variables: trusting });
    expect(output).toMatch(/✓ A connection by TLS 1\.0/);
  });

  it('tries https and http without a port, and reports that nothing responds', async () => {
    const { code, output } = await doctor(['licet.invalid']);
    expect(output).toContain('No response from https://licet.invalid or http://licet.invalid.');
    expect(code).toBe(2);
    expect(await doctor([`localhost:${await freePort()}`])).toMatchObject({ code: 2 });
  });

  it.each([
    [[]],
    [['a', 'b']],
    [['ftp://a']],
    [['https://a/?b']],
    [['https://user@a']],
    [['a', '--timeout', 'soon']],
    [['--unknown']],
  ])('rejects the arguments %j', async (args) => {
    const { code, output } = await doctor(args);
    expect(output).toMatch(/^✗ .+\. Add --help to see what it takes\.\n$/);
    expect(code).toBe(2);
  });
});
