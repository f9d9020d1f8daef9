import type { ReactNode } from 'react';
import { screenTexts } from '../screen-texts.ts';
import { ControlGroup } from './form.tsx';

const words = screenTexts.expiry;

/** The end of a license: never, on a date, or some days after its first use. */
export type End = keyof typeof words.ends;

/** The kind of the end, with the field of the chosen kind as its child. */
export const EndChoice = <Kind extends End>({
  label = words.title,
  ends,
  value,
  onChange,
  children,
}: {
  label?: string;
  ends: readonly Kind[];
  value: Kind;
  onChange: (end: Kind) => void;
  children: ReactNode;
}) => (
  <ControlGroup label={label} name="licenseType">
    <div className="flex flex-wrap gap-x-5">
      {ends.map((end) => (
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
    {children}
  </ControlGroup>
);
