import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes 95 MB that nothing here uses, after `npm ci`. JavaScript, because the machine's Node may run it. Whatever is
 * not found stays: the project works with and without these files.
 */

const MODULES = join(import.meta.dirname ?? 'scripts', '../node_modules');

/**
 * @param {string} folder
 * @param {RegExp} pattern of the paths in the folder
 */
function trim(folder, pattern) {
  const root = join(MODULES, folder);
  if (!existsSync(root)) return;
  for (const path of readdirSync(root, { recursive: true })) {
    if (pattern.test(String(path)))
      rmSync(join(root, String(path)), { recursive: true, force: true });
  }
}

// C++ headers of Node, to compile addons.
trim('node/node_modules', /^node-[\w-]+[\\/]include$/);
// Code of sharp for this machine. Only Cloudflare Images needs it, which miniflare then loads.
trim('@img', /^sharp-[\w-]+$/);
// Maps of a bundle that is not debugged here.
trim('swagger-ui-dist', /\.map$/);
