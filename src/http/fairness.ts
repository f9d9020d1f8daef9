/** Fewer cost throughput. With more, others wait longer for the runtime's next look. */
const MAX_REQUESTS_BETWEEN_LOOKS = 128;

let requestsSinceLook = 0;

/**
 * Lets the runtime look for other work now and then.
 *
 * workerd accepts connections, reads from idle ones and fires timers only when no request is left that can
 * go on. Connections that never pause would keep it from that for many seconds. No request goes on during
 * the wait for a timer, however short.
 */
export async function yieldToOthers(): Promise<void> {
  if (++requestsSinceLook <= MAX_REQUESTS_BETWEEN_LOOKS) return;
  // Each request waits for a timer of its own: a shared one would end with the request that set it.
  await scheduler.wait(0);
  requestsSinceLook = 0;
}
