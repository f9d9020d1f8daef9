import type { License, Slot } from '@licet/client';
import { countTaken, isGlobal } from '@licet/contract/addresses';
import { limitOf } from '@licet/contract/refusals';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { hasStatus, licet } from '../../api.ts';
import { Block } from '../../components/block.tsx';
import { Button } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { change } from './queries.ts';

const words = screenTexts.license;
type Kind = 'ips' | 'hwids';

const TYPES = { ips: 'IP', hwids: 'HWID' } as const;

/** The slots of a license with their last use; null if the service does not list them. */
const slotsQuery = ({ id, ips, hwids }: License) =>
  queryOptions({
    queryKey: ['licenses', 'slots', id, ips, hwids],
    queryFn: async ({ signal }): Promise<Slot[] | null> => {
      try {
        return await licet.licenses.slots(id, { signal });
      } catch (error) {
        if (hasStatus(error, 404)) return null;
        throw error;
      }
    },
  });

/** When a bound value was used, and when its slot is idle. */
function SlotTimes({ lastUsed, idleDate }: Slot) {
  return (
    <p className="text-xs text-muted">
      {words.lastUsed} <Time value={lastUsed} show="ago" />
      {idleDate && (
        <>
          {' · '}
          {Date.parse(idleDate) <= Date.now() ? (
            <span className="text-warn">{words.idleNow}</span>
          ) : (
            <>
              {words.idleOn} <Time value={idleDate} show="date" />
            </>
          )}
        </>
      )}
    </p>
  );
}

/** The bound addresses or hardware IDs of a license, with buttons that free or block them. */
export function Slots({
  license,
  kind,
  refusal,
}: {
  license: License;
  kind: Kind;
  refusal: string | undefined;
}) {
  const { id, licenseKey, productId } = license;
  const values = license[kind];
  const limit = limitOf(license, kind);
  const takesSlot = (value: string): boolean => kind === 'hwids' || isGlobal(value);
  const noSlots =
    limit === -1
      ? words.notLimited[kind]
      : license.totalRequests > 0
        ? words.noSlotsNow
        : words.noSlotsYet;
  const { data: slots } = useQuery(slotsQuery(license));

  /** Binds freed values again that took a slot. If the limit is reached meanwhile, the service rejects it. */
  const bindAgain = (freed: readonly string[]) =>
    change(id, (current) => ({
      [kind]: [...new Set([...current[kind], ...freed.filter(takesSlot)])],
    }));
  const free = async (freed: readonly string[], done: string): Promise<void> => {
    try {
      await change(id, (current) => ({
        [kind]: current[kind].filter((value) => !freed.includes(value)),
      }));
      toasts.done(done, () => bindAgain(freed));
    } catch (error) {
      toasts.fail(error);
    }
  };
  return (
    <Section
      title={words[kind]}
      note={words.slots(kind === 'ips' ? countTaken(values) : values.length, limit)}
      actions={
        values.length > 0 && (
          <Button refusal={refusal} onClick={() => free(values, words.freedAll(values.length))}>
            {words.freeAll}
          </Button>
        )
      }
    >
      {values.length === 0 ? (
        <p className="px-4 py-4 text-muted sm:px-5">{noSlots}</p>
      ) : (
        <ul className="scroll-hint max-h-96 overflow-y-auto rounded-b-xl">
          {values.map((value) => {
            const slot = slots?.find((one) => one.type === TYPES[kind] && one.value === value);
            const why = kind === 'hwids' ? sharedHwid(value) : undefined;
            return (
              <li
                key={value}
                className="flex items-center gap-2 border-line py-1.5 pr-2 pl-4 not-last:border-b sm:pl-5"
              >
                <div className="min-w-0 flex-1">
                  <p className="font-mono text-[0.8125rem] break-all">{value}</p>
                  {slot && <SlotTimes {...slot} />}
                  {!takesSlot(value) && <p className="text-xs text-muted">{words.localAddress}</p>}
                  {why && <p className="text-xs text-warn">{screenTexts.sharedHwid.slot(why)}</p>}
                </div>
                <Button
                  aria-label={words.freeOne(value)}
                  refusal={refusal}
                  onClick={() => free([value], words.freed(value))}
                >
                  {words.free}
                </Button>
                <Block
                  type={TYPES[kind]}
                  value={value}
                  productId={productId}
                  reason={words.blockReason(licenseKey.slice(-4))}
                  isIcon
                />
              </li>
            );
          })}
        </ul>
      )}
    </Section>
  );
}
