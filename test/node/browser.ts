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
const executablePath = PATHS.find((path) => existsSync(path));

export const hasBrowser = executablePath !== undefined;
if (!hasBrowser)
  console.warn(`Tests in a browser are skipped: there is none of ${PATHS.join(', ')}`);

/** Starts a browser, which ends with the process. `isBrief`: its pages close before optimized code pays off. */
export const launchBrowser = ({ isBrief = false } = {}): Promise<Browser> =>
  chromium.launch({
    ...(executablePath && { executablePath }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(isBrief ? ['--js-flags=--no-maglev,--no-turbofan'] : []),
    ],
  });
