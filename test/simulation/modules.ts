import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { compileFunction } from 'node:vm';
import { build, type Plugin } from 'esbuild';
import { IDLE_DAY_MS } from './truth.ts';

/**
 * Texts of the source with their replacements, by file, such as `src/validation/bind.ts`. Each text must occur exactly
 * once.
 */
export type Replacements = Record<string, readonly (readonly [from: string, to: string])[]>;

/** The default export of the Worker, as the platform calls it. */
export interface Service {
  fetch(request: Request, env: object, context: object): Response | Promise<Response>;
  scheduled(controller: object, env: object, context: object): unknown;
}

/** Starts an instance of the service, with module state and globals of its own. */
export type StartService = (globals: Globals) => Service;

/** The globals that modules get from the simulation. All others are those of Node. */
const GLOBALS = [
  ...['Date', 'Math', 'Blob', 'console', 'crypto', 'fetch', 'performance', 'scheduler'],
  ...['setInterval', 'setTimeout', 'clearInterval', 'clearTimeout'],
];
type Globals = Readonly<Record<string, unknown>>;
type Exports = Record<string, unknown>;

const FOLDER = process.env.SIMULATION_SOURCE ?? process.cwd();
const requirePackage = createRequire(join(FOLDER, 'package.json'));

/**
 * Compiles the service, with short days of idle slots, and the replacements applied.
 *
 * @throws if a replaced text does not occur exactly once
 */
export async function loadService(replacements: Replacements = {}): Promise<StartService> {
  const start = await loadModules("export { default } from './src/index.ts';", {
    ...replacements,
    'src/resources/licenses/slot-uses.ts': [
      ['sql.raw(String(DAY_MS))', `sql.raw('${IDLE_DAY_MS}')`],
      ...(replacements['src/resources/licenses/slot-uses.ts'] ?? []),
    ],
  });
  return (globals) => {
    const { default: service } = start(globals);
    if (!isService(service)) throw new Error('src/index.ts has no service');
    return service;
  };
}

const isService = (value: unknown): value is Service =>
  typeof value === 'object' && value !== null && 'fetch' in value && 'scheduled' in value;

/**
 * Compiles a module with all that it imports from the source, with the replacements applied. Packages are shared by all
 * instances.
 *
 * @returns a function that starts an instance. It returns the exports of the module
 * @throws if a replaced text does not occur exactly once
 */
export async function loadModules(
  contents: string,
  replacements: Replacements = {},
): Promise<(globals: Globals) => Exports> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: FOLDER, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'cjs',
    target: 'es2024',
    packages: 'external',
    logLevel: 'silent',
    plugins: [replacing(replacements)],
  });
  // esbuild would copy the exports of a package whenever an instance starts.
  const text = outputFiles.map((file) => file.text.replaceAll(COPIED_PACKAGE, '$1')).join();
  const run = compileFunction(text, ['require', 'module', ...GLOBALS]);
  return (globals) => {
    const module = { exports: {} };
    const values = GLOBALS.map((name) => globals[name] ?? Reflect.get(globalThis, name));
    Reflect.apply(run, undefined, [requirePackage, module, ...values]);
    return module.exports;
  };
}

const COPIED_PACKAGE = /\b__toESM\((require\("[^"]+"\))(, 1)?\)/g;

/** Applies replacements to the source while it is compiled. */
function replacing(replacements: Replacements): Plugin {
  const unused = new Set(Object.keys(replacements));
  const replaceAll = (file: string, source: string): string =>
    (replacements[file] ?? []).reduce((text, [from, to]) => {
      const count = text.split(from).length - 1;
      if (count !== 1) throw new Error(`${file} has ${count} times, not once: ${from}`);
      return text.replace(from, () => to);
    }, source);
  return {
    name: 'replacing',
    setup({ onLoad, onEnd }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const file = relative(FOLDER, path);
        unused.delete(file);
        return { contents: replaceAll(file, readFileSync(path, 'utf8')), loader: 'ts' };
      });
      onEnd(() => {
        if (unused.size > 0) throw new Error(`Not part of the service: ${[...unused].join()}`);
      });
    },
  };
}
