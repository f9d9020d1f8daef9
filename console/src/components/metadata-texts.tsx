import type { License } from '@licet/client';
import { formatEnd } from '../format.ts';
import type { Metadata } from '../metadata.ts';
import { screenTexts } from '../screen-texts.ts';
import { texts } from '../texts.ts';
import { Button, TextLink } from './button.tsx';
import { X } from './icons.tsx';

/** The texts of metadata, each with a link to the objects that have it. */
export const MetadataTexts = ({
  metadata,
  list,
}: {
  metadata: Metadata;
  list: '/licenses' | '/customers';
}) =>
  Object.entries(metadata).map(([name, text]) => (
    <p key={name} className="break-words">
      <span className="text-muted">{name}:</span>{' '}
      <TextLink to={list} search={{ metadata: `${name}:${text}` }} className="underline">
        {text}
      </TextLink>
    </p>
  ));

/** The entitlements that count for a license, each with a link to the licenses that have it too. */
export const EntitlementTexts = ({
  effectiveEntitlements,
  entitlementsExpire: { ...ends },
}: Pick<License, 'effectiveEntitlements' | 'entitlementsExpire'>) =>
  Object.entries(effectiveEntitlements).map(([name, value]) => (
    <p key={name} className="break-words">
      <TextLink to="/licenses" search={{ entitlement: `${name}:${value}` }} className="underline">
        {value === true ? name : `${name} = ${value}`}
      </TextLink>
      {ends[name] && (
        <span className="text-muted">{screenTexts.entitlements.until(formatEnd(ends[name]))}</span>
      )}
    </p>
  ));

/** The filter of a list by a text of metadata, or an entitlement, with the way out of it. */
export const NamedFilter = ({
  value,
  words = screenTexts.metadata,
  onClear,
}: {
  value: string | undefined;
  words?: { filter: (value: string) => string };
  onClear: () => void;
}) =>
  value !== undefined && (
    <Button onClick={onClear}>
      <span className="max-w-60 truncate">{words.filter(value)}</span>
      <X size={14} aria-label={texts.actions.clear} />
    </Button>
  );
