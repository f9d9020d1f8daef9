import { expect, it, vi } from 'vitest';
import { Turns } from '../../src/lib/admission.ts';

it('turns come in order, one at a time, and a turn that never ends delays the next one by at most five seconds [3.26]', async () => {
  vi.useFakeTimers();
  const turns = new Turns();
  const log: string[] = [];
  const take = (name: string, work: () => Promise<unknown> = async () => undefined) =>
    turns.run(
      async () => {
        log.push(name);
        await work();
        log.push(`end of ${name}`);
      },
      () => undefined,
    );
  const failed = take('one', () => Promise.reject(new Error('It fails')));
  const second = take('two', () => new Promise((resolve) => setTimeout(resolve, 50)));
  take('stuck', () => new Promise(() => undefined));
  const fourth = take('four');
  const rejected = expect(failed).rejects.toThrow('It fails');
  await vi.advanceTimersByTimeAsync(20);
  await rejected;
  expect(log).toEqual(['one', 'two']);
  await vi.advanceTimersByTimeAsync(10_000);
  await Promise.all([second, fourth]);
  expect(log).toEqual(['one', 'two', 'end of two', 'stuck', 'four', 'end of four']);
});
