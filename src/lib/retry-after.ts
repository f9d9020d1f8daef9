/** The pause for which `Retry-After` asks, in milliseconds: seconds, or a date. Undefined without one. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const text = headers.get('Retry-After')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : date - now;
}
