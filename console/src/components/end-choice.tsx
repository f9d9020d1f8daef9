import { MAX_EXPIRES_AFTER_DAYS } from '@licet/contract/limits';
import { keysOf } from '@licet/contract/objects';
import type { ReactNode } from 'react';
import { screenTexts } from '../screen-texts.ts';
import { ControlGroup, TextField } from './form.tsx';

const words = screenTexts.expiry;

/** The end of a license: never, on a date, or some days after its first use. */
export type End = keyof typeof words.ends;

/** The kind of the end, with the field of the chosen kind. */
export const EndChoice = <Kind extends End>({
  label = words.title,
  fields,
  value,
  onChange,
}: {
  label?: string;
  /** The kinds to choose from, each with its field. */
  fields: Readonly<Record<Kind, ReactNode>>;
  value: Kind;
  onChange: (end: Kind) => void;
}) => (
  <ControlGroup label={label} name="licenseType">
    <div className="flex flex-wrap gap-x-5">
      {keysOf(fields).map((end) => (
        <label key={end} className="flex min-h-9 items-center gap-2 pointer-coarse:min-h-11">
          <input
            type="radio"
            name="licenseType"
            value={end}
            checked={end === value}
            onChange={() => onChange(end)}
          />
          {words.ends[end]}
        </label>
      ))}
    </div>
    {fields[value]}
  </ControlGroup>
);

/** The days of a license that begin with its first use. The form keeps them while another kind of end is chosen. */
export const DaysField = ({
  value,
  onChange,
  name = 'expiresAfterDays',
  hint = words.daysHint,
  isRequired = true,
}: {
  value: string;
  onChange: (days: string) => void;
  name?: string;
  hint?: string;
  isRequired?: boolean;
}) => (
  <TextField
    label={words.days}
    hint={hint}
    name={name}
    type="number"
    min={1}
    max={MAX_EXPIRES_AFTER_DAYS}
    value={value}
    onChange={({ target }) => onChange(target.value)}
    required={isRequired}
  />
);
