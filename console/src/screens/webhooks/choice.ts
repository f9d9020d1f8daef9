import type { EventType, Webhook, WebhookType } from '@licet/client';
import { EVENT_GROUPS, EVENT_TYPES, SERVICE_EVENT_TYPES } from '@licet/contract/enums';
import { keysOf, objectOf } from '@licet/contract/objects';
import { screenTexts } from '../../screen-texts.ts';

/** The events that a webhook asks for, in groups that each have a plain name. */

const words = screenTexts.webhooks;

const isAlert = (type: EventType): boolean => SERVICE_EVENT_TYPES.some((alert) => alert === type);

const startOf = (type: string): string => type.slice(0, type.indexOf('.'));

export const GROUPS = keysOf(words.groups);
export type Group = (typeof GROUPS)[number];

/** The events of each group. Each event is in one group: alerts about licenses are alerts. */
export const TYPES_OF: Readonly<Record<Group, readonly EventType[]>> = objectOf(GROUPS, (group) =>
  group === 'alerts'
    ? SERVICE_EVENT_TYPES
    : EVENT_TYPES.filter((type) => startOf(type) === group && !isAlert(type)),
);

export const ALL: ReadonlySet<EventType> = new Set(EVENT_TYPES);

/** The events of the types on the wire: without any, all. */
export function eventsOf(types: readonly WebhookType[]): ReadonlySet<EventType> {
  if (types.length === 0) return ALL;
  return new Set(
    EVENT_TYPES.filter((type) =>
      types.some((wanted) => wanted === type || wanted === `${startOf(type)}.*`),
    ),
  );
}

/** The types on the wire for some events, as few as possible: a group on the wire has its alerts, too. */
export function typesOf(events: ReadonlySet<EventType>): WebhookType[] {
  if (events.size === ALL.size) return [];
  return EVENT_GROUPS.flatMap((group): WebhookType[] => {
    const members = EVENT_TYPES.filter((type) => `${startOf(type)}.*` === group);
    const chosen = members.filter((type) => events.has(type));
    // The group of a single type may get others later, which nobody chose.
    const isGroup = members.length > 1 && chosen.length === members.length;
    return isGroup ? [group] : chosen;
  });
}

/** The chosen events in words: whole groups, then single events, such as `Alerts, Products, License created`. */
export function describeTypes({ types }: Pick<Webhook, 'types'>): string {
  const events = eventsOf(types);
  if (events.size === ALL.size) return words.allEvents;
  const groups = GROUPS.filter((group) => TYPES_OF[group].every((type) => events.has(type)));
  const inGroups = new Set(groups.flatMap((group) => TYPES_OF[group]));
  const others = [...events].filter((type) => !inGroups.has(type));
  return [
    ...groups.map((group) => words.groups[group].name),
    ...others.map((type) => screenTexts.eventTypes[type]),
  ].join(', ');
}
