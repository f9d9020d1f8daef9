import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';
import { transform } from 'esbuild';

/**
 * Texts of the source with their replacements, by file, such as `src/validation/bind.ts`. Each text must occur exactly
 * once.
 */
export type Replacements = Record<string, readonly (readonly [from: string, to: string])[]>;

/** The default export of the Worker, as the platform calls it. */
export interface Service {
  fetch(request: Request, env: object, context: object): Response | Promise<Response>;
  scheduled(controller: object, env: object, context: object): unknown;
  queue?(batch: object, env: object, context: object): unknown;
}

/** Starts an instance of the service, with module state and globals of its own. */
export type StartService = (globals: Globals) => Service;

type Globals = Readonly<Record<string, unknown>>;

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

/** The tables, which all instances of the service share, because loading them takes milliseconds. */
const SHARED = /^src\/db\/schema\.ts$/;
const HAS_STATE =
  /^(export )?(let |const \w+ = new (Weak)?(Map|Set)\b)|\b(Date\.now|Math\.random|crypto\.)/m;

/** Runs a module, which sets its exports. */
type Run = (load: Load, module: { exports: Exports }, globals: Globals) => void;
type Exports = Record<string, unknown>;
type Load = (name: string) => Exports;

/**
 * Compiles the service, with the replacements applied.
 *
 * @throws if a replaced text does not occur exactly once
 */
export async function loadService(replacements: Replacements = {}): Promise<StartService> {
  const loadFor = await loadModules(replacements);
  return (globals) => {
    const { default: service } = loadFor(globals)('src/index.ts');
    if (!isService(service)) throw new Error('src/index.ts has no default export with fetch');
    return service;
  };
}

/**
 * Compiles the modules of the service, with the replacements applied.
 *
 * @param folder the project with the sources
 * @returns a function that starts an instance, whose modules are loaded by their paths
 * @throws if a replaced text does not occur exactly once
 */
export async function loadModules(
  replacements: Replacements = {},
  folder = process.env.SIMULATION_SOURCE ?? process.cwd(),
): Promise<(globals: Globals) => Load> {
  const { modules, loadShared } = await projectIn(folder);
  const own = new Map(modules);
  for (const [file, changes] of Object.entries(replacements)) {
    if (!own.has(file) || SHARED.test(file)) {
      throw new Error(`${file} is not part of the service, or shared`);
    }
    let source = readFileSync(join(folder, file), 'utf8');
    for (const [from, to] of changes) {
      const count = source.split(from).length - 1;
      if (count !== 1) throw new Error(`${file} has ${count} times, not once: ${from}`);
      source = source.replace(from, () => to);
    }
    own.set(file, await compile(file, source));
  }
  return (globals) => loaderOf(own, globals, loadShared);
}

const isService = (value: unknown): value is Service =>
  typeof value === 'object' && value !== null && 'fetch' in value && 'scheduled' in value;

/** The modules by their paths. */
type Modules = ReadonlyMap<string, Run>;

interface Project {
  modules: Modules;
  loadShared: Load;
}
const projects = new Map<string, Promise<Project>>();

/** All modules of a project, which are compiled once. */
function projectIn(folder: string): Promise<Project> {
  const project = projects.get(folder) ?? compileProject(folder);
  projects.set(folder, project);
  return project;
}

async function compileProject(folder: string): Promise<Project> {
  const files = globSync('src/**/*.ts', { cwd: folder });
  const compiled = await Promise.all(
    files.map(async (file): Promise<[string, Run]> => {
      const source = readFileSync(join(folder, file), 'utf8');
      if (SHARED.test(file) && HAS_STATE.test(source)) {
        throw new Error(`${file} has state: take it off the shared modules of the simulation`);
      }
      return [file, await compile(file, source)];
    }),
  );
  const modules = new Map(compiled);
  const globals = Object.fromEntries(GLOBALS.map((name) => [name, Reflect.get(globalThis, name)]));
  return { modules, loadShared: loaderOf(modules, globals) };
}

/** Compiles a TypeScript module as a function of its imports and globals. */
async function compile(file: string, source: string): Promise<Run> {
  const { code } = await transform(source, { loader: 'ts', format: 'cjs', target: 'es2024' });
  const text = code
    // esbuild would copy the exports of an imported module whenever an isolate starts.
    .replaceAll(/\b__toESM\((require\("[^"]+"\))\)/g, '$1')
    .replaceAll(
      /\brequire\("(\.[^"]+)"\)/g,
      (_, path) => `require("${join(dirname(file), path)}")`,
    );
  const run = compileFunction(text, ['require', 'module', ...GLOBALS], { filename: file });
  return (load, module, globals) => {
    Reflect.apply(run, undefined, [load, module, ...GLOBALS.map((name) => globals[name])]);
  };
}

/** @returns a function that loads each module once, with the modules that it imports */
function loaderOf(modules: Modules, globals: Globals, loadShared?: Load): Load {
  const loaded = new Map<string, { exports: Exports }>();
  const load: Load = (name) => {
    const known = loaded.get(name);
    if (known) return known.exports;
    const module: { exports: Exports } = { exports: {} };
    loaded.set(name, module);
    const run = modules.get(name);
    if (!run) module.exports = loadLibrary(name);
    else if (loadShared && SHARED.test(name)) module.exports = loadShared(name);
    else run(load, module, globals);
    return module.exports;
  };
  return load;
}

const requireLibrary = createRequire(join(process.cwd(), 'package.json'));
const libraries = new Map<string, Exports>();

/** The exports of a library, and all of them as `default`. */
function loadLibrary(name: string): Exports {
  const loaded = libraries.get(name);
  if (loaded) return loaded;
  const exports: Exports = requireLibrary(name);
  const library: Exports = Object.create(exports, { default: { value: exports } });
  libraries.set(name, library);
  return library;
}
