import { MINUTE_MS } from '@licet/contract/durations';

/** Loaded before `npm start`: the scheduled handler runs each second. Its runs may take as long as ever. */

const { setInterval } = globalThis;

Object.assign(globalThis, {
  setInterval: (callback: () => void, ms: number) =>
    setInterval(callback, ms === MINUTE_MS ? 1_000 : ms),
});
