import { type Browser, chromium } from 'playwright-core';
import { canRun, pathOf } from './tools.ts';

/** The browser of the tests: the one that `CHROMIUM` names, or the first that is on this machine. */

const NAMES = [
  ...(process.env.CHROMIUM ? [process.env.CHROMIUM] : []),
  // Without the parts that draw a window, it starts in a third of the time.
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
];
const found = NAMES.map(pathOf).filter(Boolean);
const [executablePath] = found;
/** The first browser that keeps a page for Back as it was left: a headless shell reads it again. */
const freezingPath = found.find((path) => !path.includes('headless-shell'));

export const hasBrowser = canRun(
  executablePath !== undefined,
  'a browser such as chromium',
  'the console, the page /docs and the page /my in a browser',
);
export const hasFreezingBrowser = canRun(
  freezingPath !== undefined,
  'a whole browser such as chromium',
  'Back in a browser that freezes pages',
);

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
