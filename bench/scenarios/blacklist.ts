import type { Fault } from '../faults.ts';
import { atMost, type Finding, round } from '../report.ts';
import { median } from '../statistics.ts';
import { cpuMillisecondsOf, idle } from '../workerd.ts';
import { PlainWorker } from '../workers.ts';
import type { Bench } from './scenario.ts';

const MAX_CPU_MS = 3;
/** Cold isolates. Each decodes once. */
const ISOLATES = 9;
/** Requests before, without decoding: they compile the rest of the Worker. */
const WARM_UP_REQUESTS = 20;

/** The CPU time of a cold isolate for decoding the blacklist of KV: the first time in a new process. */
export async function blacklist({ settings, scripts }: Bench): Promise<Finding> {
  const { decodedEntries } = settings;
  const text = await encodedBlacklist(scripts.blacklist, decodedEntries);
  const decodingMs: number[] = [];
  const nothingMs: number[] = [];
  const faults: Fault[] = [];
  for (let number = 0; number < ISOLATES; number++) {
    await using worker = await PlainWorker.start(scripts.blacklist);
    const send = async (path: string): Promise<string> => {
      const response = await fetch(new URL(path, worker.url), { method: 'POST', body: text });
      return response.text();
    };
    /** @returns the CPU time of a request, or null where it is not known */
    const cpuMsOf = async (path: string, expected: string): Promise<number | null> => {
      await idle(worker.pid);
      const before = cpuMillisecondsOf(worker.pid);
      const result = await send(path);
      if (result !== expected) {
        const details = `${path}: ${result}`;
        faults.push({ kind: 'wrong', count: 1, where: 'blacklist', details });
      }
      await idle(worker.pid);
      const after = cpuMillisecondsOf(worker.pid);
      return before === null || after === null ? null : after - before;
    };
    for (let sent = 0; sent < WARM_UP_REQUESTS; sent++) await send('/nothing');
    const nothing = await cpuMsOf('/nothing', String(text.length));
    const decoding = await cpuMsOf('/decode', 'decoded');
    if (nothing === null || decoding === null) continue;
    nothingMs.push(nothing);
    decodingMs.push(decoding);
  }
  const cpuMs = decodingMs.length === 0 ? null : median(decodingMs) - median(nothingMs);
  return {
    scenario: 'blacklist',
    title: `Blacklist: ${decodedEntries} entries, decoded by ${ISOLATES} cold isolates`,
    results: [],
    thresholds: [atMost('CPU time in ms', cpuMs, MAX_CPU_MS)],
    faults,
    notes: [
      `the value in KV has ${round(text.length / 1000, 0)} kB; a request without decoding takes ${round(median(nothingMs))} ms of CPU time`,
    ],
  };
}

async function encodedBlacklist(script: string, entries: number): Promise<string> {
  await using worker = await PlainWorker.start(script);
  const response = await fetch(new URL(`/encode?entries=${entries}`, worker.url));
  return response.text();
}
