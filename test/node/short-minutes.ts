import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { MINUTE_MS } from '@licet/contract/durations';

/** Loaded before `npm start`: its long timers take a hundredth of their time. A line announces each minute. */

const LONG_MS = 50_000;
const SHORTENING = 100;

const shorten = (ms: number): number => (ms < LONG_MS ? ms : ms / SHORTENING);

const { setInterval } = globalThis;
const { setTimeout } = timers;

Object.assign(globalThis, {
  setInterval: (callback: () => void, ms: number) =>
    setInterval(() => {
      callback();
      if (ms === MINUTE_MS) console.error('A minute has passed');
    }, shorten(ms)),
});
Object.assign(timers, {
  setTimeout: (ms: number, ...rest: [value?: unknown, options?: object]) =>
    setTimeout(shorten(ms), ...rest),
});
syncBuiltinESMExports();
