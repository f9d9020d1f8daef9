import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import { build, type Plugin } from 'esbuild';

/** A replacement in the source. */
export interface Replacement {
  /** From the project's folder, such as `src/validation/bind.ts`. */
  file: string;
  /** The text that is replaced: it must occur exactly once. */
  from: string;
  to: string;
}

/** The default export of the Worker, as the platform calls it. */
export interface Service {
  fetch(request: Request, env: object, context: object): Response | Promise<Response>;
  scheduled(controller: object, env: object, context: object): unknown;
  queue?(batch: object, env: object, context: object): unknown;
}

/** Starts an instance of the service, with module state and globals of its own. */
export type StartService = (globals: Readonly<Record<string, unknown>>) => Service;

/** The globals that the service gets from the simulation. All others are those of Node. */
export const GLOBALS = [
  'Date',
  'Math',
  'Blob',
  'console',
  'crypto',
  'fetch',
  'performance',
  'scheduler',
  'setInterval',
  'setTimeout',
  'clearInterval',
  'clearTimeout',
] as const;

/**
 * Modules that all instances of the service share, because to load them takes milliseconds: the zod schemas
 * and their imports. They have no state and call no service.
 */
const SHARED = /^src\/(.*\/schema|lib\/(enums|fields|json|text|time))\.ts$/;
const HAS_STATE =
  /^(export )?(let |const \w+ = new (Weak)?(Map|Set)\b)|\b(Date\.now|Math\.random|crypto\.)/m;

const projectFolder = process.cwd();
const requireLibrary = createRequire(join(projectFolder, 'package.json'));

/**
 * Bundles the service, with the replacements applied.
 *
 * @param folder the project with the sources
 * @throws if a replaced text does not occur exactly once
 */
export async function bundleService(
  replacements: readonly Replacement[] = [],
  folder = process.env.SIMULATION_SOURCE ?? projectFolder,
): Promise<StartService> {
  const { code, sharedFiles } = await bundle(folder, 'src/index.ts', replacements);
  const shared = new Map<string, unknown>();
  for (const file of sharedFiles) shared.set(file, await loadShared(folder, file));
  const load = compile(code, 'licet.js');
  return (globals) => {
    const { default: service } = load((name) => shared.get(name) ?? requireLibrary(name), globals);
    if (!isService(service)) throw new Error('src/index.ts has no default export with fetch');
    return service;
  };
}

const isService = (value: unknown): value is Service =>
  typeof value === 'object' && value !== null && 'fetch' in value && 'scheduled' in value;

interface Bundle {
  code: string;
  /** The shared modules that it imports. */
  sharedFiles: ReadonlySet<string>;
}

async function bundle(
  folder: string,
  entry: string,
  replacements: readonly Replacement[],
): Promise<Bundle> {
  const sharedFiles = new Set<string>();
  const replaced = new Set<Replacement>();
  const plugin: Plugin = {
    name: 'licet',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ resolveDir, path }) => {
        const file = relative(folder, resolve(resolveDir, `${path}.ts`));
        if (!SHARED.test(file) || file === entry) return undefined;
        sharedFiles.add(file);
        return { path: file, external: true };
      });
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(folder, path);
        let contents = readFileSync(path, 'utf8');
        if (SHARED.test(file) && HAS_STATE.test(contents)) {
          throw new Error(`${file} has state: take it off the shared modules of the simulation`);
        }
        for (const replacement of replacements.filter((candidate) => candidate.file === file)) {
          contents = replaceOnce(contents, replacement);
          replaced.add(replacement);
        }
        return { contents, loader: 'ts', resolveDir: dirname(path) };
      });
    },
  };
  const { outputFiles } = await build({
    entryPoints: [join(folder, entry)],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'neutral',
    packages: 'external',
    target: 'es2024',
    logLevel: 'silent',
    plugins: [plugin],
  });
  const missed = replacements.find((replacement) => !replaced.has(replacement));
  if (missed) throw new Error(`${missed.file} is not part of the service, or shared`);
  return { code: outputFiles[0]?.text ?? '', sharedFiles };
}

function replaceOnce(text: string, { file, from, to }: Replacement): string {
  const count = text.split(from).length - 1;
  if (count !== 1) throw new Error(`${file} has ${count} times, not once: ${from}`);
  return text.replace(from, () => to);
}

type Require = (name: string) => unknown;
type Load = (load: Require, globals: Readonly<Record<string, unknown>>) => Record<string, unknown>;

function compile(code: string, filename: string): Load {
  const run = compileFunction(code, ['require', 'module', ...GLOBALS], { filename });
  return (load, globals) => {
    const module = { exports: {} };
    Reflect.apply(run, undefined, [load, module, ...GLOBALS.map((name) => globals[name])]);
    return module.exports;
  };
}

const sharedModules = new Map<string, Promise<unknown>>();

/** Loads a shared module, with the other shared modules that it imports. */
function loadShared(folder: string, file: string): Promise<unknown> {
  const path = join(folder, file);
  const loading =
    sharedModules.get(path) ??
    bundle(folder, file, []).then(async ({ code, sharedFiles }) => {
      const loaded = new Map<string, unknown>();
      for (const name of sharedFiles) loaded.set(name, await loadShared(folder, name));
      const globals = Object.fromEntries(
        GLOBALS.map((name) => [name, Reflect.get(globalThis, name)]),
      );
      return compile(code, file)((name) => loaded.get(name) ?? requireLibrary(name), globals);
    });
  sharedModules.set(path, loading);
  return loading;
}
