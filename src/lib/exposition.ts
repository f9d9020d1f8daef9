/** Metrics in the text format 0.0.4 of Prometheus (6). */

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string>>;

export interface Sample {
  value: number;
  labels?: Labels;
  /** The end of the name of a series of a histogram. */
  suffix?: '_bucket' | '_sum' | '_count';
}

export interface Metric {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  samples: readonly Sample[];
}

/** Values of labels are names of this service, which need no escapes. */
function labelText(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

export const exposition = (metrics: readonly Metric[]): string =>
  metrics
    .flatMap(({ name, type, help, samples }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(
        ({ suffix = '', labels, value }) => `${name}${suffix}${labelText(labels)} ${value}`,
      ),
    ])
    .map((line) => `${line}\n`)
    .join('');

/** A gauge or a counter with one sample for each value of a label. */
export const byLabel = (
  label: string,
  values: Iterable<readonly [name: string, value: number]>,
): Sample[] => Array.from(values, ([name, value]) => ({ labels: { [label]: name }, value }));
