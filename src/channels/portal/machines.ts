import { isGlobal, slotOf } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import type { PortalMachine } from '@licet/contract/portal-page';
import { toTimestamp } from '@licet/contract/time';
import type { Database } from '../../db/client.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import { type Machine, machinesOf, selectPairs } from '../../resources/licenses/machines.ts';
import type { Choose } from '../../resources/licenses/self-reset.ts';
import { listSlots } from '../../resources/licenses/slots.ts';

/** The machines of a license, as its customer sees and frees them on the page and at Discord (10). */

const ID_LENGTH = 16;

/**
 * Names a machine without its values.
 *
 * @param secret without it, the few possible values of an address could be tried
 */
const idOf = async ({ ip, hwid }: Machine, secret: string): Promise<string> =>
  (await sha256Hex(JSON.stringify([secret, 'machine', ip, hwid]))).slice(0, ID_LENGTH);

/** Chooses the machine with an id. */
export const withId =
  (id: string, secret: string): Choose =>
  async (machines) => {
    const ids = await Promise.all(machines.map((machine) => idOf(machine, secret)));
    return machines[ids.indexOf(id)];
  };

/** The beginning and the end of a value. @param end the length of the end: parts of an address, or characters */
function shortened(type: LicenseDataType, value: string, end: number): string {
  const separator = type === 'HWID' ? '' : value.includes(':') ? ':' : '.';
  const parts = value.split(separator);
  const begin = type === 'HWID' ? 6 : 2;
  if (begin + end >= parts.length) return value;
  return `${parts.slice(0, begin).join(separator)}${separator}…${parts.slice(-end).join(separator)}`;
}

/** Values as their owner knows them again: shortened, but no two of them look the same. */
function shownValues(type: LicenseDataType, values: Iterable<string>): Map<string, string> {
  const shown = new Map<string, string>();
  let alike = [...values];
  // Doubled, because a customer chooses the hardware IDs, which can differ in one character.
  for (let end = 1; alike.length > 0; end *= 2) {
    const groups = Map.groupBy(alike, (value) => shortened(type, value, end));
    for (const value of alike) shown.set(value, shortened(type, value, end));
    alike = [...groups.values()].flatMap((group) => (group.length > 1 ? group : []));
  }
  return shown;
}

/** The later of some times; null if one is missing. */
function latest(times: readonly (string | null)[]): string | null {
  const known = times.filter((time) => time !== null).toSorted();
  return known.length < times.length ? null : (known.at(-1) ?? null);
}

/**
 * The machines of a license, the last used first.
 *
 * @param address from which the page was asked for
 * @param secret see {@link idOf}
 * @param now milliseconds since 1970
 */
export async function listMachines(
  db: Database,
  licenseId: number,
  address: string | null,
  secret: string,
  now: number,
): Promise<PortalMachine[]> {
  const pairs = await selectPairs(db, licenseId, now);
  const slots = (await listSlots(db, licenseId, now)) ?? [];
  const ofType = (wanted: LicenseDataType) =>
    new Map(slots.flatMap((slot) => (slot.type === wanted ? [[slot.value, slot] as const] : [])));
  const [addresses, hardwareIds] = [ofType('IP'), ofType('HWID')];
  const bound = { ips: [...addresses.keys()], hwids: [...hardwareIds.keys()] };
  const shown = { ip: shownValues('IP', bound.ips), hwid: shownValues('HWID', bound.hwids) };
  const own = address === null ? null : slotOf(address, db.ipv6SlotPrefix);
  const machines = await Promise.all(
    machinesOf(bound, pairs).map(async (machine) => {
      const { ip, hwid, shared, usedAt } = machine;
      const taken = [
        ...(ip === null ? [] : [addresses.get(ip)]),
        ...(hwid === null ? [] : [hardwareIds.get(hwid)]),
      ].filter((slot) => slot !== undefined);
      return {
        id: await idOf(machine, secret),
        ip: ip && (shown.ip.get(ip) ?? null),
        hwid: hwid && (shown.hwid.get(hwid) ?? null),
        shared,
        isThisBrowser: ip !== null && slotOf(ip, db.ipv6SlotPrefix) === own,
        isPrivate: ip !== null && !isGlobal(ip),
        lastUsed: toTimestamp(
          usedAt ?? Math.max(...taken.map(({ lastUsed }) => Date.parse(lastUsed))),
        ),
        idleDate: latest(taken.map(({ idleDate }) => idleDate)),
      };
    }),
  );
  return machines.toSorted((a, b) => Date.parse(b.lastUsed) - Date.parse(a.lastUsed));
}
