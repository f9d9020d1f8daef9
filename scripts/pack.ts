import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * `npm pack` in a folder of `packages/`. Node runs TypeScript in this project, and none in `node_modules`: the packed
 * package has JavaScript and declarations in `dist`. npm packs the package.json of the folder, so before it (prepack)
 * that file names `dist`, and after it (postpack) the sources again.
 */

const MANIFEST = 'package.json';
const POLL_MS = 50;

const SOURCE = /"(\.\/)?src\/([^"]+)\.ts"/g;
const COMPILED = /"(\.\/)?dist\/([^"]+)\.js"/g;

const read = (): string => readFileSync(MANIFEST, 'utf8');
const nameCompiled = (): void =>
  writeFileSync(MANIFEST, read().replaceAll(SOURCE, '"$1dist/$2.js"'));
const nameSources = (): void =>
  writeFileSync(MANIFEST, read().replaceAll(COMPILED, '"$1src/$2.ts"'));

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits in a process of its own: npm runs no postpack if it fails or is stopped. */
function watchNpm(npm: string): void {
  // The shell of Windows gives none.
  if (!/^\d+$/.test(npm)) return;
  const args = [...process.execArgv, import.meta.filename, 'watch', npm];
  spawn(process.execPath, args, { detached: true, stdio: 'ignore' }).unref();
}

const [step, npm = ''] = process.argv.slice(2);
if (step === 'before') {
  rmSync('dist', { recursive: true, force: true });
  execFileSync('tsc', ['--build'], { stdio: 'inherit' });
  nameCompiled();
  watchNpm(npm);
} else if (step === 'after') {
  nameSources();
} else {
  while (isRunning(Number(npm)) && read().search(COMPILED) >= 0) await pause(POLL_MS);
  nameSources();
}
