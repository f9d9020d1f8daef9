import type { Event } from '@licet/client';
import { LICENSE_PLATFORMS } from '@licet/contract/enums';
import { Fragment, type ReactNode } from 'react';
import { entitlementLines } from '../entitlements.ts';
import { formatDate, formatNumber, formatTime, productName } from '../format.ts';
import { metadataText } from '../metadata.ts';
import { platformLabel } from '../platforms.ts';
import { screenTexts } from '../screen-texts.ts';
import { senderName } from '../senders.ts';
import { useMay } from '../session.ts';
import { texts } from '../texts.ts';
import { Badge } from './badge.tsx';
import { TextLink } from './button.tsx';
import type { Tone } from './tones.ts';

/** Events in words: the object, the sender, and the fields before and after. */

const words = screenTexts.events;

type Changes = NonNullable<Event['changes']>;
type Names = ReadonlyMap<number, string>;

/** The name of a field, such as `Owner chat id` for `ownerChatId`. */
export const fieldName = (name: string): string =>
  screenTexts.fields[name] ??
  name
    .replaceAll(/[A-Z](?=[a-z])/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/^./, (letter) => letter.toUpperCase())
    .trim();

/** The words for values of some fields. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  licenseStatus: texts.statuses,
  licenseType: screenTexts.licenseTypes,
  licenseDataType: screenTexts.dataTypes,
  productType: screenTexts.productTypes,
  intents: texts.intents,
  types: {
    ...screenTexts.eventTypes,
    ...Object.fromEntries(
      Object.entries(screenTexts.webhooks.groups).map(([group, { name }]) => [`${group}.*`, name]),
    ),
  },
  format: screenTexts.webhooks.formats,
  kind: screenTexts.markets.kinds,
  onRefund: screenTexts.markets.refundActions,
  onDispute: screenTexts.markets.disputeActions,
};

const LIMITS = /^(?:max|defaultMax)(?:IPs|HWIDs)$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** A value of a field as text; empty for none. */
export function formatValue(field: string, value: unknown, names: Names): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) {
    return value.map((each) => formatValue(field, each, names)).join(', ');
  }
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (typeof value === 'number') {
    if (field === 'productId') return productName(names, value);
    return value === -1 && LIMITS.test(field)
      ? screenTexts.licenses.unlimited
      : formatNumber(value);
  }
  if (typeof value === 'object') {
    if (field === 'metadata') return metadataText(value);
    if (field.startsWith('entitlements'))
      return entitlementLines(value, screenTexts.entitlements.takenAway);
    // The other objects are settings, which people do not write.
    return 'item' in value ? String(value.item) : '…';
  }
  const text = String(value);
  const platform = LICENSE_PLATFORMS.find((one) => one === text);
  if (field === 'licensePlatform' && platform) return platformLabel(platform);
  return VALUES[field]?.[text] ?? (TIMESTAMP.test(text) ? formatTime(text) : text);
}

const isBlank = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && !value.length);

/** Whether a list has a value, or an object with the same fields. */
const isIn = (list: unknown, value: unknown): boolean =>
  Array.isArray(list) && list.some((each) => JSON.stringify(each) === JSON.stringify(value));

/** The values of a list that another list does not have. */
const without = (list: unknown, other: unknown): unknown[] =>
  Array.isArray(list) ? list.filter((each) => !isIn(other, each)) : [];

const SHOWN_FIELDS = 3;

/** One field on a line: `2 → 5`, or for lists the added and removed values. */
function OneChange({
  field,
  change: { before, after },
  names,
}: {
  field: string;
  change: Changes[string];
  names: Names;
}) {
  if (Array.isArray(before) || Array.isArray(after)) {
    const namesIn = (list: unknown, other: unknown): string[] =>
      without(list, other).map((value) => formatValue(field, value, names));
    const [gone, added] = [namesIn(before, after), namesIn(after, before)];
    const signed = [
      ...gone.map((name) => (added.includes(name) ? words.changed(name) : `−${name}`)),
      ...added.filter((name) => !gone.includes(name)).map((name) => `+${name}`),
    ];
    return signed.join(', ');
  }
  const [old, current] = [before, after].map((value) => {
    // A day is enough for a line.
    if (typeof value === 'string' && TIMESTAMP.test(value)) return formatDate(value);
    const text = formatValue(field, value, names);
    return typeof value === 'object' ? text.replaceAll('\n', ', ') : text;
  });
  if (isBlank(before) && isBlank(after)) return words.withheld;
  if (isBlank(before)) return current;
  return (
    <>
      {old} → {isBlank(after) ? words.none : current}
    </>
  );
}

/** Fields that name the object, which stands beside them. */
const NAMES_OBJECT = ['count', 'data', 'name'];

/** The first fields of an event on at most two lines. */
export function ChangeSummary({ event: { type, changes }, names }: { event: Event; names: Names }) {
  // The event of a deleted object has its last values, which say nothing about the change.
  if (!changes || type.endsWith('.deleted')) return null;
  const fields = Object.entries(changes).filter(
    ([field, { before }]) => !(NAMES_OBJECT.includes(field) && (isBlank(before) || before === 0)),
  );
  const rest = fields.length - SHOWN_FIELDS;
  return (
    <span className="line-clamp-2 max-w-3xl wrap-anywhere sm:min-w-40">
      {fields.slice(0, SHOWN_FIELDS).map(([field, change], index) => (
        <Fragment key={field}>
          {index > 0 && '; '}
          <span className="text-muted">{fieldName(field)}:</span>{' '}
          <OneChange field={field} change={change} names={names} />
        </Fragment>
      ))}
      {rest > 0 && <span className="text-muted"> {words.moreChanges(rest)}</span>}
    </span>
  );
}

const Value = ({ field, value, names }: { field: string; value: unknown; names: Names }) =>
  isBlank(value) ? (
    <span className="text-muted">{words.none}</span>
  ) : (
    (Array.isArray(value) ? value : [value]).map((each) => (
      <p key={String(each)} className="break-words whitespace-pre-wrap">
        {formatValue(field, each, names)}
      </p>
    ))
  );

/** All fields of an event before and after the change, or only after it; on a phone one below the other. */
export function ChangeTable({ changes, names }: { changes: Changes; names: Names }) {
  // An object that was created has nothing before.
  const sides = (['before', 'after'] as const).filter(
    (side) => side === 'after' || Object.values(changes).some((change) => !isBlank(change[side])),
  );
  return (
    <table className="w-full table-fixed text-left max-sm:block">
      <thead className="max-sm:sr-only">
        <tr className="border-b border-line text-xs text-muted">
          {[words.field, ...sides.map((side) => words[side])].map((header) => (
            <th key={header} scope="col" className="py-2 pr-3 font-medium">
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {Object.entries(changes).map(([field, change]) => {
          const isWithheld = isBlank(change.before) && isBlank(change.after);
          return (
            <tr
              key={field}
              className="border-line align-top not-last:border-b max-sm:block max-sm:py-2"
            >
              <th
                scope="row"
                title={field}
                className="py-2 pr-3 font-medium break-words max-sm:block max-sm:py-0.5"
              >
                {fieldName(field)}
              </th>
              {isWithheld ? (
                <td colSpan={sides.length} className="py-2 text-muted max-sm:block max-sm:py-0.5">
                  {words.withheld}
                </td>
              ) : (
                sides.map((side) => (
                  <td
                    key={side}
                    className="py-2 pr-3 max-sm:flex max-sm:items-baseline max-sm:py-0.5"
                  >
                    <span aria-hidden className="w-14 shrink-0 text-xs text-muted sm:hidden">
                      {words[side]}
                    </span>
                    <div className="min-w-0">
                      <Value field={field} value={change[side]} names={names} />
                    </div>
                  </td>
                ))
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The first ending that fits counts. */
const TONES: readonly (readonly [ending: string, tone: Tone])[] = [
  ['session.created', 'neutral'],
  ['.first_used', 'good'],
  ['.limit_reached', 'warn'],
  ['.expiring', 'warn'],
  ['.many_addresses', 'warn'],
  ['.expired', 'bad'],
  ['.hit', 'bad'],
  ['.disabled', 'bad'],
  ['blacklist.created', 'bad'],
  ['blacklist.deleted', 'neutral'],
  ['.created', 'good'],
  ['.deleted', 'bad'],
  ['purchase.granted', 'good'],
  ['purchase.restored', 'good'],
  ['purchase.extended', 'good'],
  ['purchase.revoked', 'warn'],
  ['purchase.unmatched', 'bad'],
  ['market.failing', 'bad'],
  ['market.guessed', 'warn'],
  ['mail.failed', 'bad'],
  ['.slots_freed', 'accent'],
  ['.rotated', 'accent'],
  ['.transferred', 'accent'],
];

/** The type of an event. */
export const TypeBadge = ({ type }: { type: Event['type'] }) => (
  <Badge tone={TONES.find(([ending]) => type.endsWith(ending))?.[1] ?? 'neutral'}>
    {screenTexts.eventTypes[type]}
  </Badge>
);

/** The sender of a change, and whether it was in the console or by an assistant. */
export function Actor({ actor }: { actor: Event['actor'] }) {
  const way = actor.isConsole ? words.console : actor.isMcp && words.mcp;
  const name = senderName(actor);
  return (
    <span>
      <span className="inline-block max-w-38 truncate align-bottom" title={name}>
        {name}
      </span>
      {way && <span className="text-muted"> ({way})</span>}
    </span>
  );
}

const textAfter = (change: Changes[string] | undefined): string | undefined => {
  const value = change?.after ?? change?.before;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

/** The name of a person, or the e-mail, if an event has them. */
const personOf = (changes: Event['changes']): string | undefined =>
  [textAfter(changes?.firstName), textAfter(changes?.lastName)].filter(Boolean).join(' ') ||
  textAfter(changes?.email);

/** Whether an event has an object: a log-in has none, nor have the settings. */
export const hasObject = ({ type }: { type: string }): boolean =>
  !/^(session|settings)\./.test(type);

/** The object of an event, with a link to it if it still exists. */
export function EventObject({
  event,
  names,
  storedNames,
}: {
  event: Pick<Event, 'type' | 'resourceType' | 'resourceId' | 'changes'>;
  names: Names;
  /** The present names of objects, which the event of a change does not have: `market 2`. */
  storedNames?: ReadonlyMap<string, string>;
}): ReactNode {
  const mayReadTokens = useMay('everything');
  const { resourceType, resourceId, changes, type } = event;
  if (resourceId === null) {
    const count = changes?.count?.after;
    return typeof count === 'number' ? words.objects(resourceType, count) : null;
  }
  const id = resourceId;
  // The event of a change has no key, so that each event calls a license by its id.
  const known =
    (resourceType === 'product' && names.get(id)) ||
    textAfter(changes?.name) ||
    (resourceType === 'customer' && personOf(changes)) ||
    (resourceType === 'blacklist' && textAfter(changes?.data)) ||
    (resourceType === 'webhook' && textAfter(changes?.description)) ||
    storedNames?.get(`${resourceType} ${id}`);
  const label = known || words.oneObject(texts.resources[resourceType], id);
  const text = <span className="inline-block max-w-full truncate align-bottom">{label}</span>;
  if (resourceType === 'license') {
    return (
      <TextLink to="/licenses/$licenseId" params={{ licenseId: id }} title={label}>
        {text}
      </TextLink>
    );
  }
  if (type.endsWith('.deleted') || resourceType === 'session' || resourceType === 'settings') {
    return text;
  }
  if (resourceType === 'token' && !mayReadTokens) return text;
  if (resourceType === 'purchase') {
    return (
      <TextLink to="/purchases" search={{ open: id }} title={label}>
        {text}
      </TextLink>
    );
  }
  if (resourceType === 'blacklist') {
    return (
      <TextLink to="/blacklist" search={{ open: id }} title={label}>
        {text}
      </TextLink>
    );
  }
  if (resourceType === 'mail') {
    return (
      <TextLink to="/settings/mail" search={{ state: 'FAILED' }} title={label}>
        {text}
      </TextLink>
    );
  }
  const places = {
    product: '/products/$id',
    customer: '/customers/$id',
    token: '/tokens/$id',
    webhook: '/webhooks/$id',
    market: '/markets/$id',
  } as const;
  return (
    <TextLink to={places[resourceType]} params={{ id }} title={label}>
      {text}
    </TextLink>
  );
}
