import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The browser of the tests: the one that `CHROMIUM` names, or the first that is on this machine. */

const PATHS = [
  ...(process.env.CHROMIUM ? [process.env.CHROMIUM] : []),
  // Without the parts that draw a window, it starts in a third of the time.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const found = PATHS.filter((path) => existsSync(path));
const [executablePath] = found;
/** The first browser that keeps a page for Back as it was left: a headless shell reads it again. */
const freezingPath = found.find((path) => !path.includes('headless-shell'));

export const hasBrowser = executablePath !== undefined;
export const hasFreezingBrowser = freezingPath !== undefined;
if (!hasBrowser)
  console.warn(`Tests in a browser are skipped: there is none of ${PATHS.join(', ')}`);

/** Starts a browser, which ends with the process. `isBrief`: its pages close before optimized code pays off. */
export const launchBrowser = ({ isBrief = false } = {}): Promise<Browser> =>
  launch(executablePath, isBrief ? ['--js-flags=--no-maglev,--no-turbofan'] : []);

/** Starts a browser in which Back shows a page as it was left, as it does for people. */
export const launchFreezingBrowser = (): Promise<Browser> =>
  launch(freezingPath, [], ['--disable-back-forward-cache']);

const launch = (
  path: string | undefined,
  args: readonly string[],
  ignoreDefaultArgs: string[] = [],
): Promise<Browser> =>
  chromium.launch({
    ...(path && { executablePath: path }),
    ignoreDefaultArgs,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
    ],
  });
