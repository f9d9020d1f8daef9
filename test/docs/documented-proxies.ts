import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type Agent, type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { expect } from 'vitest';
import { CERTIFICATE, TLS } from '../cli/deploy-folder.ts';
import { spawnGroup } from '../node/service.ts';
import { pathOf } from '../node/tools.ts';

/** The proxies of docs/one-machine.md, with the configurations that are printed there, and requests to them. */

export const document = readFileSync('docs/one-machine.md', 'utf8');
const certificateKey = resolve('test/cli/test-only-key.pem');
// All requests share it, because making one takes as long as a request.
const secureContext = createSecureContext({ ca: TLS.cert });

export interface Ports {
  http: number;
  https: number;
  service: number;
  /** The port of a site of Caddy's without a service. */
  failing: number;
}

export interface Proxy {
  name: 'caddy' | 'nginx';
  /** @param folder a folder of the test, for its files */
  start: (ports: Ports, folder: string) => ChildProcess;
}

const block = (kind: string): string =>
  new RegExp(`\`\`\`${kind}\\n(.*?)\`\`\``, 's').exec(document)?.[1] ?? '';

/** Replaces what is another in a test; each text must be there. */
export function adapt(text: string, replacements: Record<string, string>): string {
  let adapted = text;
  for (const [from, to] of Object.entries(replacements)) {
    expect(adapted).toContain(from);
    adapted = adapted.replaceAll(from, to);
  }
  return adapted;
}

export const proxies: Proxy[] = [
  {
    name: 'caddy',
    start: ({ http, https, service, failing }, folder) => {
      const place = join(folder, 'caddy');
      mkdirSync(place, { recursive: true });
      const file = join(place, 'Caddyfile');
      const settings = adapt(block('caddyfile'), {
        '\nlicense.example.com {\n': `\nlocalhost, license.example.com {\n\ttls ${CERTIFICATE} ${certificateKey}\n`,
        'http://license.example.com': 'http://localhost, http://license.example.com',
        '127.0.0.1:8787': `127.0.0.1:${service}`,
      });
      const own = `{\n\tadmin off\n\tskip_install_trust\n\thttp_port ${http}\n\thttps_port ${https}\n`;
      // An error that the site's own handler responds to is not logged by each version.
      const other = `http://localhost:${failing} {\n\treverse_proxy 127.0.0.1:1\n}\n`;
      writeFileSync(file, settings.replace('{\n', own) + other);
      const env = { ...process.env, XDG_DATA_HOME: place, XDG_CONFIG_HOME: place };
      const command = ['run', '--config', file, '--adapter', 'caddyfile'];
      return spawnGroup(pathOf('caddy'), command, env);
    },
  },
  {
    name: 'nginx',
    start: ({ http, https, service }, folder) => {
      const place = join(folder, 'nginx');
      mkdirSync(place, { recursive: true });
      const log = join(place, 'licet.log');
      const settings = adapt(block('nginx'), {
        ' 80;': ` ${http};`,
        ':80;': `:${http};`,
        ' 443 ssl;': ` ${https} ssl;`,
        ':443 ssl;': `:${https} ssl;`,
        '/etc/letsencrypt/live/license.example.com/fullchain.pem': CERTIFICATE,
        '/etc/letsencrypt/live/license.example.com/privkey.pem': certificateKey,
        '/var/log/nginx/licet.log': log,
        '127.0.0.1:8787': `127.0.0.1:${service}`,
      });
      const [connections = ''] = /worker_connections \d+;/.exec(document) ?? [];
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const main = [
        process.getuid?.() === 0 ? 'user root;' : '',
        `daemon off; pid ${join(place, 'pid')};`,
        `events { ${connections} }`,
        'http {',
        ...temporary.map((kind) => `${kind}_temp_path ${join(place, kind)};`),
        settings,
        '}',
      ];
      const file = join(place, 'nginx.conf');
      writeFileSync(file, main.join('\n'));
      return spawnGroup(pathOf('nginx'), ['-p', place, '-c', file, '-e', log]);
    },
  },
];

export interface Sent {
  port: number;
  isPlain?: boolean;
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
  /** The address from which it comes. */
  from?: string;
  agent?: Agent;
}

interface Received {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  text: string;
}

export function open({ isPlain, method = 'POST', path = '/api/v1/validate', from, ...sent }: Sent) {
  const options = {
    host: '127.0.0.1',
    port: sent.port,
    method,
    path,
    headers: { Host: 'localhost', ...sent.headers },
    agent: sent.agent ?? false,
    ...(from === undefined ? {} : { localAddress: from }),
  };
  const secure = { ...options, secureContext, servername: 'localhost' };
  return isPlain ? requestHttp(options) : requestHttps(secure);
}

export function send(sent: Sent): Promise<Received> {
  return new Promise((resolve, reject) => {
    const request = open(sent);
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, text }),
      );
    });
    request.end(sent.body);
  });
}
