import { readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder from which tests deploy: the project with settings and secrets of its own. */

/** The parts of the project that such a folder shares with it. */
export const LINKED = [
  'console',
  'docs',
  'examples',
  'node_modules',
  'package-lock.json',
  'package.json',
  'packages',
  'public',
  'scripts',
  'src',
];

export function linkProject(folder: string): void {
  for (const name of LINKED) symlinkSync(resolve(name), join(folder, name));
}

/** A self-signed certificate for localhost. Its key is no secret. */
export const CERTIFICATE = resolve('test/cli/test-only-certificate.pem');
export const TLS = {
  key: readFileSync('test/cli/test-only-key.pem'),
  cert: readFileSync(CERTIFICATE),
};

/** The variables of a deployment, whatever account this machine knows. */
export const deployVariables = (folder: string): NodeJS.ProcessEnv => ({
  ...process.env,
  CLOUDFLARE_API_TOKEN: 'token',
  NODE_EXTRA_CA_CERTS: CERTIFICATE,
  WRANGLER_LOG_PATH: join(folder, 'logs'),
  // Nor does it look for a newer one.
  WRANGLER_HIDE_BANNER: 'true',
});
