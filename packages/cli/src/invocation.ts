import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The compiled package is the program `licet` in another project. npm scripts of this one run the sources. */
export const isInstalled = import.meta.url.endsWith('.js');

/** The name of a command of `main.ts`, for help and messages. */
export function nameOf(command: string): string {
  if (!isInstalled) return `npm run ${command}`;
  return command === 'licet' ? command : `licet ${command}`;
}

/** The same, to be followed by arguments. */
export const callOf = (command: string): string =>
  isInstalled ? nameOf(command) : `${nameOf(command)} --`;

/** The call of `licet` where only its result may be printed, and no line of npm. */
export const QUIET_CALL = isInstalled ? 'licet' : 'npm run -s licet --';

/** The path of a document. The package contains a copy. */
export const documentOf = (name: string): string =>
  isInstalled ? fileURLToPath(new URL(`../docs/${name}.md`, import.meta.url)) : `docs/${name}.md`;

/** The path of a file that the user named. npm scripts run in the project's folder, wherever npm was called. */
export const fileAt = (name: string): string =>
  resolve(isInstalled ? '.' : (process.env.INIT_CWD ?? '.'), name);
