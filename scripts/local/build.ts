import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { readSecrets, SECRETS_FILE } from '@licet/cli/root-token';
import { CliError, systemReason } from '@licet/cli/terminal';
import { build, stop } from 'esbuild';
import type { V4WorkerOptionsShape } from 'miniflare';
import { copyAssets } from '../assets.ts';
import { databaseId } from './database.ts';
import { readLocalSettings } from './settings.ts';

/** Builds the Worker for a service on this machine. */

/**
 * The settings of the Worker in wrangler.toml. Without KV and the queue, because D1 is as near. A queue of one machine
 * is in its memory, and would lose its records at a stop.
 */
export interface WorkerOptions {
  main: string;
  define: Record<string, string>;
  crons: readonly string[];
  compatibilityDate: string;
  variables: NonNullable<V4WorkerOptionsShape['bindings']>;
  /** Requests a minute, by the name of the limiter. */
  limits: Record<string, number>;
  assets: NonNullable<V4WorkerOptionsShape['assets']>;
  /** The database. */
  others: V4WorkerOptionsShape;
}

export interface BuiltWorker extends WorkerOptions {
  script: string;
  /** The Worker in front of the files. */
  filesScript: string;
}

const FILES_MAIN = 'scripts/local/files.ts';

type Settings = ReturnType<typeof readLocalSettings>;

/**
 * The variables and secrets. As in wrangler, they come from the secrets file, or without one from the environment,
 * and only those that the settings name.
 */
function variablesOf({ vars = {}, secrets }: Settings): WorkerOptions['variables'] {
  const variables: WorkerOptions['variables'] = { ...vars };
  const environment = secrets === undefined ? {} : process.env;
  const given = existsSync(SECRETS_FILE) ? parseEnv(readSecrets(SECRETS_FILE)) : environment;
  for (const [name, value] of Object.entries(given)) {
    const isNamed = secrets === undefined || name in vars || secrets.required?.includes(name);
    if (isNamed && value !== undefined) variables[name] = value;
  }
  return variables;
}

/**
 * The settings of wrangler.toml for a service on this machine.
 *
 * @throws CliError if it cannot be read or is wrong
 */
export function readWorkerOptions(): WorkerOptions {
  const settings = readLocalSettings();
  const { main, define = {}, compatibility_flags: compatibilityFlags = [] } = settings;
  const { directory, html_handling, not_found_handling } = settings.assets;
  const limits = settings.ratelimits?.map(({ name, simple }) => [name, simple.limit]) ?? [];
  return {
    main,
    define,
    crons: settings.triggers?.crons ?? [],
    compatibilityDate: settings.compatibility_date,
    variables: variablesOf(settings),
    limits: Object.fromEntries(limits),
    assets: {
      directory: resolve(directory),
      assetConfig: {
        ...(html_handling && { html_handling }),
        ...(not_found_handling && { not_found_handling }),
      },
    },
    others: {
      compatibilityFlags,
      d1Databases: { DB: { id: databaseId(settings) } },
    },
  };
}

/** Bundles a Worker, with the same options as wrangler. */
async function bundle(entryPoint: string, define: WorkerOptions['define']): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    define,
    logLevel: 'silent',
  });
  return outputFiles.map(({ text }) => text).join('');
}

/**
 * Bundles the Worker, and the one in front of its files.
 *
 * @throws CliError if wrangler.toml or the code is wrong
 */
export async function buildWorker(): Promise<BuiltWorker> {
  copyAssets();
  const options = readWorkerOptions();
  try {
    const script = await bundle(options.main, options.define);
    return { ...options, script, filesScript: await bundle(FILES_MAIN, {}) };
  } catch (error) {
    throw new CliError(`The Worker could not be built: ${systemReason(error)}`);
  } finally {
    // esbuild's process would keep running beside the service.
    await stop();
  }
}
