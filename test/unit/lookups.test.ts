import { describe, expect, it } from 'vitest';
import { GroupReader } from '../../src/edge/lookups';

/** A read that is answered when the test says so: each key leads to itself, but for `unknown`. */
function controlledRead() {
  const reads: {
    keys: readonly string[];
    answer: () => void;
    fail: (error: Error) => void;
  }[] = [];
  const read = (keys: readonly string[]) =>
    new Promise<ReadonlyMap<string, string>>((resolve, reject) => {
      const known = keys.filter((key) => key !== 'unknown');
      const answer = () => resolve(new Map(known.map((key) => [key, key])));
      reads.push({ keys, answer, fail: reject });
    });
  return { reads, reader: new GroupReader(read) };
}

const keys = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`);

describe('a group of look-ups', () => {
  it('is one read, and each gets what its key leads to', async () => {
    const { reads, reader } = controlledRead();
    const asked = ['A', 'unknown', 'B', 'A'].map((key) => reader.find(key));
    await expect.poll(() => reads.length).toBe(1);
    reads[0]?.answer();
    expect(await Promise.all(asked)).toEqual(['A', null, 'B', 'A']);
    expect(reads).toHaveLength(1);
  });

  it('of more than a hundred keys is as many reads as it takes', async () => {
    const { reads, reader } = controlledRead();
    const asked = keys(250).map((key) => reader.find(key));
    await expect.poll(() => reads.map((read) => read.keys.length)).toEqual([100, 100, 50]);
    for (const { answer } of reads) answer();
    expect(await Promise.all(asked)).toEqual(keys(250));
  });

  it('that fails fails for all, and for nobody who comes later', async () => {
    const { reads, reader } = controlledRead();
    const asked = Promise.allSettled(keys(3).map((key) => reader.find(key)));
    await expect.poll(() => reads.length).toBe(1);
    const later = reader.find('later');
    reads[0]?.fail(new Error('no answer'));
    const reason = expect.objectContaining({ message: 'no answer' });
    expect(await asked).toEqual(keys(3).map(() => ({ status: 'rejected', reason })));
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.answer();
    expect(await later).toBe('later');
  });

  it('does not take in who comes when it is being read: they may ask for what is newer', async () => {
    const { reads, reader } = controlledRead();
    const first = reader.find('A');
    await expect.poll(() => reads.length).toBe(1);
    const second = reader.find('A');
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.answer();
    expect(await second).toBe('A');
    reads[0]?.answer();
    expect(await first).toBe('A');
  });

  it('whose read is slow, or was cut off, asks once more and together, however many wait', async () => {
    const { reads, reader } = controlledRead();
    const asked = keys(50).map((key) => reader.find(key));
    await expect.poll(() => reads.length).toBe(1);
    // The first waits for its own read; the others leave it.
    const others = Promise.all(asked.slice(1));
    let areAnswered = false;
    void others.then(() => {
      areAnswered = true;
    });
    const answerLater = () => {
      for (const { answer } of reads.slice(1)) answer();
      return areAnswered;
    };
    await expect.poll(answerLater, { timeout: 10_000, interval: 20 }).toBe(true);
    expect(await others).toEqual(keys(50).slice(1));
    expect(reads.length).toBeLessThan(10);
    reads[0]?.answer();
    expect(await asked[0]).toBe('key 0');
  });
});
