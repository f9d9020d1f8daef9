import type { Fault } from './faults.ts';

/** The message of the service about requests that it gave up, with their number. */
const GIVEN_UP = /Requests were given up: (\d+)/;

/** The log of a service under load, without the events of requests. */
export class ServiceLog {
  readonly #messages = new Map<string, number>();
  #givenUp = 0;
  /** Lines, with those of requests. */
  lines = 0;

  add(line: string): void {
    this.lines++;
    // npm and wrangler add lines of their own.
    if (!line.startsWith('{') || line.includes('"event":"request"')) return;
    const [, count] = GIVEN_UP.exec(line) ?? [];
    if (count !== undefined) this.#givenUp += Number(count);
    const message = line.replace(/"time":"[^"]*",/, '');
    this.#messages.set(message, (this.#messages.get(message) ?? 0) + 1);
  }

  /** Messages, and how often each was logged: a benchmark should cause none. */
  notes(): string[] {
    return [...this.#messages].map(([message, times]) => `logged ${times} times: ${message}`);
  }

  faults(where: string): Fault[] {
    return this.#givenUp > 0 ? [{ kind: 'given up', count: this.#givenUp, where }] : [];
  }
}
