import type { Event } from '@licet/client';
import { DAY_MS } from '@licet/contract/durations';
import { licet } from '../../api.ts';
import { isWithoutToken } from '../../senders.ts';

/** The changes of the session's token in the last day, each with the events that belong together. */

/** One or more events of the same kind, the newest first. */
export interface Act {
  events: readonly [Event, ...Event[]];
  /** The events whose fields nobody has changed again. */
  current: readonly Event[];
}

interface Started extends Act {
  events: [Event, ...Event[]];
  current: Event[];
  objects: Set<string>;
}

const MAX_EVENTS = 2_000;
/** An act that the limit would cut is read to its end, within this limit. */
const MAX_EVENTS_WITH_ACT = 20_000;
/** A change of many objects is one event for each; a slow database takes seconds for some. */
const MAX_PAUSE_MS = 3_000;

const fieldsOf = ({ changes }: Event): string[] => Object.keys(changes ?? {});

/** Equal for the events of one act. Its licenses may have had different values before. */
const kindOf = (event: Event): string =>
  JSON.stringify([
    event.type,
    event.actor,
    event.ip,
    fieldsOf(event).toSorted(),
    event.changes?.licenseStatus?.after,
  ]);

/** Whether an event came so soon after another one that both can belong to one act. */
const isSoonAfter = (event: Event, other: Event): boolean =>
  Date.parse(event.time) - Date.parse(other.time) <= MAX_PAUSE_MS;

/** The acts of a token, the newest first, from its events or those of all tokens, the newest first. */
export function actsOf(events: readonly Event[], tokenId: number | null): Act[] {
  const changedLater = new Map<string, Set<string>>();
  const acts: Started[] = [];
  const latest = new Map<string, Started>();
  for (const event of events) {
    const object = `${event.resourceType} ${event.resourceId}`;
    const later = changedLater.get(object) ?? new Set();
    const isCurrent = !fieldsOf(event).some((field) => later.has(field));
    changedLater.set(object, new Set([...later, ...fieldsOf(event)]));
    if (event.actor.tokenId !== tokenId || isWithoutToken(event)) continue;
    if (event.type === 'session.created') continue;
    const kind = kindOf(event);
    const act = latest.get(kind);
    const last = act?.events.at(-1);
    const belongs =
      event.resourceId !== null &&
      last !== undefined &&
      isSoonAfter(last, event) &&
      !act?.objects.has(object);
    if (act && belongs) {
      act.events.push(event);
      act.objects.add(object);
      if (isCurrent) act.current.push(event);
    } else {
      const started: Started = {
        events: [event],
        current: isCurrent ? [event] : [],
        objects: new Set([object]),
      };
      acts.push(started);
      latest.set(kind, started);
    }
  }
  return acts;
}

/**
 * Reads the acts of a token in the last day, the newest first; among the newest 2,000 events and the rest
 * of the act in which they end.
 *
 * @param mayReadAll whether the token may read the changes of others, which can overtake its own
 */
export async function readActs(
  tokenId: number | null,
  mayReadAll: boolean,
  signal: AbortSignal,
): Promise<Act[]> {
  const events: Event[] = [];
  const from = new Date(Date.now() - DAY_MS).toISOString();
  const query = mayReadAll || tokenId === null ? { from } : { from, tokenId };
  for await (const event of licet.events.iterate(query, { signal })) {
    const last = events.at(-1);
    if (last && events.length >= MAX_EVENTS && !isSoonAfter(last, event)) break;
    events.push(event);
    if (events.length === MAX_EVENTS_WITH_ACT) break;
  }
  return actsOf(events, tokenId);
}

/** The days by which an act moved all of its expiries; undefined if they differ. */
export function daysOf({ events }: Act): number | undefined {
  const [first, ...others] = events.map(({ changes }) => {
    const { before, after } = changes?.expiryDate ?? {};
    return (Date.parse(String(after)) - Date.parse(String(before))) / DAY_MS;
  });
  return Number.isInteger(first) && others.every((days) => days === first) ? first : undefined;
}
