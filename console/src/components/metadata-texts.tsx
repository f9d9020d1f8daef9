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

/** The filter of a list by a text of metadata, with the way out of it. */
export const MetadataFilter = ({
  value,
  onClear,
}: {
  value: string | undefined;
  onClear: () => void;
}) =>
  value !== undefined && (
    <Button onClick={onClear}>
      <span className="max-w-60 truncate">{screenTexts.metadata.filter(value)}</span>
      <X size={14} aria-label={texts.actions.clear} />
    </Button>
  );
