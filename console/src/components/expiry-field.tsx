import { useState } from 'react';
import { DAYS, endOfDay, toDay } from '../dates.ts';
import { formatTime } from '../format.ts';
import { screenTexts } from '../screen-texts.ts';
import { Button } from './button.tsx';
import { TextField } from './form.tsx';

const words = screenTexts.expiry;

/** A field for the last day of something, with buttons for the usual ones. Empty, it never ends, unless it is required. */
export function ExpiryField({
  label,
  name,
  stored = null,
  initial = stored,
  inPast,
  isRequired = false,
  onChange,
}: {
  label: string;
  name: string;
  /** The present time of expiry. */
  stored?: string | null;
  /** The time of expiry at first. */
  initial?: string | null;
  /** The warning about a time that has passed. */
  inPast?: string;
  isRequired?: boolean;
  onChange?: (end: string | null) => void;
}) {
  const [day, setDay] = useState(toDay(initial));
  // A year that is being typed, such as 0002, is no day yet.
  const endOf = (chosen: string) => (chosen < '2000' ? null : endOfDay(chosen, stored));
  const change = (chosen: string): void => {
    setDay(chosen);
    onChange?.(endOf(chosen));
  };
  const end = endOf(day);
  const isOver = end !== null && end !== stored && Date.parse(end) <= Date.now();
  return (
    <TextField
      label={label}
      name={name}
      type="date"
      min="2000-01-01"
      max="9999-12-31"
      value={day}
      required={isRequired}
      onChange={({ target }) => change(target.value)}
      hint={end !== null ? words.until(formatTime(end)) : isRequired ? words.endOfDay : words.never}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend of its own */}
      <div role="group" aria-label={words.usual} className="flex flex-wrap gap-1.5">
        {DAYS.map(([preset, dayOf]) => {
          const chosen = dayOf(new Date());
          if (isRequired && chosen === '') return null;
          return (
            <Button
              key={preset}
              look="chip"
              aria-pressed={day === chosen}
              onClick={() => change(chosen)}
            >
              {words.presets[preset]}
            </Button>
          );
        })}
      </div>
      <p role="status" className="text-warn empty:hidden">
        {isOver && inPast}
      </p>
    </TextField>
  );
}
