import { DAY_MS } from '@licet/contract/durations';
import {
  DAILY_INSTALLATION,
  DAYS,
  fillHistory,
  LONG_RUNNING_INSTALLATION,
  licenseOf,
} from '../history.ts';
import { addressOf, hardwareIdOf, licenseKeyOf, TOKEN } from '../population.ts';
import { atMost, exact, type Finding, progress, round, type TableRow } from '../report.ts';
import { takeCounts } from '../rows.ts';
import { median } from '../statistics.ts';
import { LicetService } from '../workers.ts';
import { type Bench, shopOf } from './scenario.ts';

const MAX_BYTES_PER_RECORD = 45;
const MAX_NEWEST_MS = 10;
const MAX_FILTERED_MS = 40;
const MAX_NEWEST_ROWS = 5_000;
const MAX_FILTERED_ROWS = 15_000;
/** A page of the console, and the longest one. */
const LIMITS = [100, 1_000] as const;
const REPETITIONS = 9;

interface LookUp {
  name: string;
  filter: Record<string, string>;
  maxMs: number;
  maxRows: number;
}

/** Pages of a long history, in local D1. */
export async function history({ settings, scripts }: Bench): Promise<Finding> {
  const { manyLicenses, records } = settings;
  await using service = await LicetService.start(scripts.counting, {
    population: shopOf(manyLicenses),
  });
  progress(`history: inserting ${records} records`);
  const now = Date.now();
  const figures = await fillHistory(
    await service.database(),
    { licenses: manyLicenses, records },
    now,
  );
  const license = licenseOf(LONG_RUNNING_INSTALLATION, manyLicenses);
  const dailyLicense = licenseOf(DAILY_INSTALLATION, manyLicenses);
  const from = new Date(now - DAYS * DAY_MS).toISOString();
  const filtered = (name: string, filter: Record<string, string>): LookUp => ({
    name,
    filter,
    maxMs: MAX_FILTERED_MS,
    maxRows: MAX_FILTERED_ROWS,
  });
  const lookUps: LookUp[] = [
    { name: 'newest', filter: {}, maxMs: MAX_NEWEST_MS, maxRows: MAX_NEWEST_ROWS },
    filtered('license key', { licenseKey: licenseKeyOf(license) }),
    filtered('license key, one record a day', { licenseKey: licenseKeyOf(dailyLicense) }),
    filtered('address', { ip: addressOf(license, 1) }),
    filtered('hardware ID', { hwid: hardwareIdOf(license, 1) }),
    filtered('product', { productId: '1' }),
    filtered('refused', { valid: 'false' }),
  ];
  const finding: Finding = {
    scenario: 'history',
    title: `History: ${figures.records} records of ${figures.installations} servers in ${DAYS} days, ${manyLicenses} licenses`,
    results: [],
    thresholds: [
      exact(
        atMost(
          'bytes per record, with its installation',
          figures.bytesPerRecord,
          MAX_BYTES_PER_RECORD,
        ),
      ),
    ],
    faults: [],
    notes: [],
  };
  /** @returns the number of records on the page */
  const readPage = async ({ filter }: LookUp, limit: number): Promise<number> => {
    const query = new URLSearchParams({ from, limit: String(limit), ...filter });
    const response = await fetch(new URL(`/api/v2/requests?${query}`, service.url), {
      headers: { TOKEN },
    });
    const page: unknown = await response.json();
    if (Array.isArray(page)) return page.length;
    throw new Error(`${response.status} ${JSON.stringify(page)}`);
  };

  const rows: TableRow[] = [];
  for (const lookUp of lookUps) {
    for (const limit of LIMITS) {
      await takeCounts(service);
      const found = await readPage(lookUp, limit);
      const { rowsRead } = await takeCounts(service);
      rows.push({ 'look-up': lookUp.name, limit, records: found, 'rows read': rowsRead, ms: 0 });
      const text = `rows read, ${lookUp.name}, ${limit} records`;
      finding.thresholds.push(exact(atMost(text, rowsRead, lookUp.maxRows)));
      if (found === 0) {
        const details = `no record was found by ${lookUp.name}`;
        finding.faults.push({ kind: 'wrong', count: 1, where: 'history', details });
      }
    }
  }
  // Without the counting, which reads twice.
  await service.restart(scripts.service);
  // A new process first compiles its code, and reads the database from the disk.
  for (let warmUp = 0; warmUp < REPETITIONS; warmUp++) {
    for (const lookUp of lookUps) await readPage(lookUp, LIMITS[0]);
  }
  for (const lookUp of lookUps) {
    for (const limit of LIMITS) {
      const timesMs: number[] = [];
      for (let repetition = 0; repetition < REPETITIONS; repetition++) {
        const start = performance.now();
        await readPage(lookUp, limit);
        timesMs.push(performance.now() - start);
      }
      const row = rows.find((one) => one['look-up'] === lookUp.name && one.limit === limit);
      if (row) row.ms = round(median(timesMs), 1);
      if (limit !== LIMITS[0]) continue;
      const text = `ms, ${lookUp.name}, ${limit} records`;
      finding.thresholds.push(atMost(text, median(timesMs), lookUp.maxMs));
    }
  }
  finding.faults.push(...service.log.faults('history'));
  finding.notes.push(...service.log.notes());
  return { ...finding, table: rows };
}
