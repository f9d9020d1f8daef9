import type { Installation, License } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { Block } from '../../components/block.tsx';
import { Button } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { toasts } from '../../components/toasts.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { installationsQuery } from './activity.tsx';
import { change, limitOf } from './queries.ts';

const words = screenTexts.license;
type Kind = 'ips' | 'hwids';

/** The time at which a value was last seen; undefined if it was not. */
function lastSeenOf(
  installations: readonly Installation[] | null | undefined,
  kind: Kind,
  value: string,
): string | undefined {
  const field = kind === 'ips' ? 'ip' : 'hwid';
  return installations
    ?.filter((installation) => installation[field] === value)
    .map(({ lastSeen }) => lastSeen)
    .sort()
    .at(-1);
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
  const noSlots =
    limit === -1
      ? words.notLimited[kind]
      : license.totalRequests > 0
        ? words.noSlotsNow
        : words.noSlotsYet;
  const { data: installations } = useQuery(installationsQuery(id));

  /** Binds freed values again. If the limit is reached meanwhile, the service rejects it. */
  const bindAgain = (freed: readonly string[]) =>
    change(id, (current) => ({ [kind]: [...new Set([...current[kind], ...freed])] }));
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
      note={words.slots(values.length, limit)}
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
            const lastSeen = lastSeenOf(installations, kind, value);
            return (
              <li
                key={value}
                className="flex items-center gap-2 border-line py-1.5 pr-2 pl-4 not-last:border-b sm:pl-5"
              >
                <div className="min-w-0 flex-1">
                  <p className="font-mono text-[0.8125rem] break-all">{value}</p>
                  {installations && (
                    <p className="text-xs text-muted">
                      {lastSeen ? (
                        <>
                          {words.lastSeen} <Time value={lastSeen} show="ago" />
                        </>
                      ) : (
                        words.neverSeen
                      )}
                    </p>
                  )}
                </div>
                <Button
                  aria-label={words.freeOne(value)}
                  refusal={refusal}
                  onClick={() => free([value], words.freed(value))}
                >
                  {words.free}
                </Button>
                <Block
                  type={kind === 'ips' ? 'IP' : 'HWID'}
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
