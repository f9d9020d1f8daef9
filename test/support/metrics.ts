import { expect } from 'vitest';

/** Reads the text format of Prometheus as strictly as its documentation has it. */

const SAMPLE = /^([a-z_]+)(?:\{((?:[a-z_]+="[^"\\\n]*")(?:,[a-z_]+="[^"\\\n]*")*)\})? (\S+)$/;

export interface Metrics {
  names(): string[];
  /** The value of the only sample with a name. */
  value(name: string): number | undefined;
  /** The values of the samples with a name, by their labels. */
  of(name: string): Record<string, number>;
}

export function metricsIn(text: string): Metrics {
  expect(text.endsWith('\n')).toBe(true);
  const samples = new Map<string, Record<string, number>>();
  let name = '';
  let type = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, word, of, rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (word === 'HELP' && of !== undefined) {
      expect(
        [...samples.keys()].some((known) => known === of),
        `${of} comes twice`,
      ).toBe(false);
      name = of;
    } else if (word === 'TYPE') {
      expect(of).toBe(name);
      type = rest;
    } else {
      const [, series = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
      const ends = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      expect(
        ends.map((end) => name + end),
        line,
      ).toContain(series);
      const known = samples.get(series) ?? {};
      expect(labels in known, line).toBe(false);
      expect(Number(value), line).toBeGreaterThanOrEqual(0);
      samples.set(series, { ...known, [labels]: Number(value) });
    }
  }
  return {
    names: () => [...samples.keys()],
    value: (series) => samples.get(series)?.[''],
    of: (series) => samples.get(series) ?? {},
  };
}
