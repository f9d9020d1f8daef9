import { build } from 'esbuild';
import type { V4WorkerOptionsShape } from 'miniflare';
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from 'wrangler';
import '../assets.ts';

/**
 * Bundles the Worker, and turns wrangler.toml into options of miniflare. Runs in a process of its own, because
 * wrangler takes 200 MB of memory that the service does not need.
 */

const CONFIG = 'wrangler.toml';

/** The Worker, and its settings in wrangler.toml. */
export interface BuiltWorker {
  script: string;
  crons: string[];
  compatibilityDate: string;
  variables: NonNullable<V4WorkerOptionsShape['bindings']>;
  /** Requests a minute, by the name of the limiter. */
  limits: Record<string, number>;
  assets: NonNullable<V4WorkerOptionsShape['assets']>;
  /** The database, and the queue if there is one. Without KV, because D1 is as near. */
  others: V4WorkerOptionsShape;
}

async function buildWorker(): Promise<BuiltWorker> {
  const { workerOptions, main, define } = unstable_getMiniflareWorkerOptions(CONFIG);
  const options: V4WorkerOptionsShape = workerOptions;
  const { compatibilityDate, bindings, ratelimits, assets } = options;
  const { compatibilityFlags, d1Databases, queueProducers, queueConsumers } = options;
  const { triggers } = unstable_readConfig({ config: CONFIG });
  if (!main || !compatibilityDate || !assets) {
    throw new Error(`${CONFIG} needs main, compatibility_date and [assets].`);
  }
  // The same options as in wrangler.
  const { outputFiles } = await build({
    entryPoints: [main],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    define,
    logLevel: 'silent',
  });
  const limits = Object.entries(ratelimits ?? {}).map(([name, { simple }]) => [name, simple.limit]);
  return {
    script: outputFiles.map(({ text }) => text).join(''),
    crons: triggers.crons ?? [],
    compatibilityDate,
    variables: bindings ?? {},
    limits: Object.fromEntries(limits),
    assets,
    others: {
      ...(compatibilityFlags && { compatibilityFlags }),
      ...(d1Databases && { d1Databases }),
      ...(queueProducers && { queueProducers }),
      ...(queueConsumers && { queueConsumers }),
    },
  };
}

process.send?.(await buildWorker(), () => process.exit());
