import { vi } from 'vitest';
import { takeEvent } from './events.ts';

/** Keeps what is logged from here on beside the events of requests off the console, and tells it; `vi.restoreAllMocks()` ends it. */
export function captureConsole(): string[] {
  const lines: string[] = [];
  for (const method of ['debug', 'info', 'log', 'warn', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((...values: unknown[]) => {
      if (!takeEvent(values)) lines.push(values.map(String).join(' '));
    });
  }
  return lines;
}
