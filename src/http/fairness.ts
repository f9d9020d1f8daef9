/** Fewer cost throughput. With more, others wait longer for the runtime's next look. */
const MAX_REQUESTS_BETWEEN_LOOKS = 128;

let requestsSinceLook = 0;

/**
 * Lets the runtime look for other work now and then.
 *
 * workerd accepts connections, reads from idle ones and fires timers only when no request can go on.
 * Connections that never pause would keep it from that for many seconds, so their requests wait for a timer
 * now and then. However short it is, workerd looks for other work before it fires it.
 */
export async function yieldToOthers(): Promise<void> {
  if (++requestsSinceLook <= MAX_REQUESTS_BETWEEN_LOOKS) return;
  // Each request waits for a timer of its own: a shared one would end with the request that set it.
  await scheduler.wait(0);
  requestsSinceLook = 0;
}
