import * as z from 'zod';
import { type Fault, faultsOf } from './faults.ts';
import { type RequestAt, validResponse } from './requests.ts';
import { sendTo } from './rounds.ts';
import { THRESHOLD_CONNECTIONS } from './settings.ts';
import { LicetService, type ServiceOptions } from './workers.ts';

const counts = z.object({ rowsRead: z.int(), rowsWritten: z.int() });

/** The rows that D1 has read and written since the last time, as worker/counting.ts counts them. */
export async function takeCounts({ url }: LicetService): Promise<z.infer<typeof counts>> {
  const response = await fetch(new URL('/counts', url));
  return counts.parse(await response.json());
}

interface CountedLoad extends Pick<ServiceOptions, 'population' | 'secrets'> {
  /** Requests that are sent before those that count. */
  warmUpAt: RequestAt;
  warmUpRequests: number;
  requestAt: RequestAt;
  requests: number;
}

/**
 * Counts the rows that a validation writes, by a service of its own. The row that names a new hour is left
 * out: which validation writes it is chance.
 */
export async function countRowsWritten(
  scenario: string,
  countingScript: string,
  { population, secrets = {}, warmUpAt, warmUpRequests, requestAt, requests }: CountedLoad,
): Promise<{ perRequest: number; faults: Fault[] }> {
  await using service = await LicetService.start(countingScript, { population, secrets });
  const target = {
    name: 'counted',
    worker: service,
    requestAt,
    expected: validResponse(population.maxServers),
    records: { witness: service.witness, areKnown: true },
  };
  const connections = THRESHOLD_CONNECTIONS;
  const warmUp = { connections, from: 0, until: { count: warmUpRequests }, requestAt: warmUpAt };
  const warmedUp = await sendTo(target, warmUp);
  const bucketsBefore = await service.buckets();
  await takeCounts(service);
  const round = await sendTo(target, { connections, from: 0, until: { count: requests } });
  const { rowsWritten } = await takeCounts(service);
  const newBuckets = (await service.buckets()) - bucketsBefore;
  const sent = [warmedUp, round].map((one) => ({ ...one, name: 'counted', connections }));
  return {
    perRequest: (rowsWritten - newBuckets) / requests,
    faults: [
      ...faultsOf(scenario, sent, [await service.tally()]),
      ...service.log.faults(`${scenario}, counted`),
    ],
  };
}
