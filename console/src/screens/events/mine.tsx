import type { Event } from '@licet/client';
import { useQuery } from '@tanstack/react-query';
import { Button, ButtonLink, TextLink } from '../../components/button.tsx';
import { ChangeSummary, EventObject } from '../../components/changes.tsx';
import { Empty, LoadFailure, Page, Skeleton } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { usePlatformLabel } from '../../platforms.ts';
import { useProductNames } from '../../products.ts';
import { screenTexts } from '../../screen-texts.ts';
import { useMay, useRefusal, useSession } from '../../session.ts';
import { texts } from '../../texts.ts';
import { type Act, daysOf, readActs } from './acts.ts';
import { isRestorable, rightTo } from './restore.ts';
import { useStoredNames } from './stored-names.ts';
import { undoEvents } from './undo.ts';

const words = screenTexts.events.mine;

/** The last changes of the session's token, each with its undo. */
export function Screen() {
  const { id } = useSession();
  const mayReadAll = useMay('readEvents');
  const names = useProductNames();
  const storedNames = useStoredNames();
  usePlatformLabel();
  const { data, error, refetch } = useQuery({
    queryKey: ['events', 'mine', id],
    queryFn: ({ signal }) => readActs(id, mayReadAll, signal),
  });
  const content = () => {
    if (error && !data) return <LoadFailure error={error} onRetry={refetch} />;
    if (!data) return <Skeleton />;
    if (data.length === 0) return <Empty title={words.emptyTitle}>{words.empty}</Empty>;
    return (
      <ul aria-label={words.title}>
        {data.map((act) => (
          <Line key={act.events[0].id} act={act} names={names} storedNames={storedNames} />
        ))}
      </ul>
    );
  };
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={mayReadAll && <ButtonLink to="/events">{texts.overview.allEvents}</ButtonLink>}
    >
      <div className="rounded-xl border border-line bg-surface">{content()}</div>
    </Page>
  );
}

/** The name of an act of many licenses. */
function titleOf(act: Act): string {
  const [{ type, changes }] = act.events;
  const count = act.events.length;
  const after = changes?.licenseStatus?.after;
  if (type === 'license.updated' && changes?.expiryDate) return words.moved(count, daysOf(act));
  if (type === 'license.updated' && Object.keys(changes ?? {}).length === 1) {
    if (after === 'DEACTIVATED') return words.deactivated(count);
    if (after === 'ACTIVE') return words.restored(count);
  }
  if (type === 'license.deleted' || after === 'DELETED') return words.deleted(count);
  return words.many(screenTexts.eventTypes[type], count);
}

function Line({
  act,
  names,
  storedNames,
}: {
  act: Act;
  names: ReadonlyMap<number, string>;
  storedNames: ReadonlyMap<string, string>;
}) {
  const [event] = act.events;
  const isMany = act.events.length > 1;
  const title = isMany ? titleOf(act) : screenTexts.eventTypes[event.type];
  const refusal = useRefusal(rightTo(event));
  const mayReadAll = useMay('readEvents');
  const time = <Time value={event.time} show="ago" />;
  const undoable = act.current.filter(isRestorable);
  return (
    <li className="flex items-center gap-4 border-line px-4 py-3 not-last:border-b sm:px-5">
      <div className="flex min-w-0 flex-1 flex-col gap-0.5">
        <p className="flex min-w-0 flex-wrap items-baseline gap-x-2">
          <span className="font-medium">{title}</span>
          {!isMany && (
            <span className="max-w-full min-w-0">
              <EventObject event={event} names={names} storedNames={storedNames} />
            </span>
          )}
        </p>
        {!isMany && <ChangeSummary event={event} names={names} />}
        <p className="text-xs text-muted">
          {mayReadAll ? (
            <TextLink to="/events" search={{ open: event.id }}>
              {time}
            </TextLink>
          ) : (
            time
          )}{' '}
          <Note act={act} undoable={undoable} />
        </p>
      </div>
      {undoable.length > 0 && (
        <Button
          refusal={refusal}
          aria-label={words.undo(title)}
          onClick={() => undoEvents(undoable)}
        >
          {texts.actions.undo}
        </Button>
      )}
    </li>
  );
}

/** The reason why an act, or a part of it, cannot be undone. */
function Note({ act, undoable }: { act: Act; undoable: readonly Event[] }) {
  if (!act.events.some(isRestorable)) return words.notUndoable;
  const overtaken = act.events.length - act.current.length;
  if (overtaken > 0) return words.overtaken(overtaken, act.events.length);
  return undoable.length === 0 ? words.notUndoable : null;
}
