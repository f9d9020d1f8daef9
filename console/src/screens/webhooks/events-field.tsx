import type { EventType } from '@licet/client';
import { useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { ControlGroup } from '../../components/form.tsx';
import { ChevronDown } from '../../components/icons.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { ALL, GROUPS, TYPES_OF } from './choice.ts';

const words = screenTexts.webhooks;

type Events = ReadonlySet<EventType>;

const isSame = (a: Events, b: Events): boolean =>
  a.size === b.size && [...a].every((type) => b.has(type));

const PRESETS: readonly (readonly [name: keyof typeof words.presets, events: Events])[] = [
  ['all', ALL],
  ['alerts', new Set(TYPES_OF.alerts)],
];

/** A checkbox for some events, which is on if all are chosen, and half on for a part of them. */
function Box({
  label,
  hint,
  types,
  value,
  onChange,
}: {
  label: string;
  hint?: string;
  types: readonly EventType[];
  value: Events;
  onChange: (value: Events) => void;
}) {
  const id = useId();
  const chosen = types.filter((type) => value.has(type)).length;
  return (
    <label className="flex min-h-9 items-start gap-3 py-2 pointer-coarse:min-h-11 pointer-coarse:py-3">
      <input
        type="checkbox"
        name="types"
        className="mt-0.5 shrink-0"
        aria-label={label}
        aria-describedby={hint && id}
        checked={chosen === types.length}
        ref={(box) => {
          if (box) box.indeterminate = chosen > 0 && chosen < types.length;
        }}
        onChange={({ currentTarget }) => {
          const others = [...value].filter((type) => !types.includes(type));
          onChange(new Set(currentTarget.checked ? [...others, ...types] : others));
        }}
      />
      <span className="min-w-0">
        {label}
        {hint && (
          <span id={id} className="block text-xs text-muted">
            {hint}
          </span>
        )}
      </span>
    </label>
  );
}

/** The choice of events: all, the alerts, groups, or each event by itself. */
export function EventsField({
  value,
  onChange,
}: {
  value: Events;
  onChange: (value: Events) => void;
}) {
  const chosen = PRESETS.find(([, events]) => isSame(value, events))?.[0];
  // A choice of single events is shown at once.
  const [isOpen, setOpen] = useState(() =>
    GROUPS.some((group) => {
      const count = TYPES_OF[group].filter((type) => value.has(type)).length;
      return count > 0 && count < TYPES_OF[group].length;
    }),
  );
  return (
    <ControlGroup label={words.events} name="types">
      <div>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend of its own */}
        <div role="group" aria-label={words.usual} className="flex flex-wrap gap-1.5">
          {PRESETS.map(([name, events]) => (
            <Button
              key={name}
              look="chip"
              aria-pressed={name === chosen}
              onClick={() => onChange(events)}
            >
              {words.presets[name].name}
            </Button>
          ))}
        </div>
        <p role="status" className="mt-1.5 text-muted">
          {chosen === undefined ? words.custom : words.presets[chosen].hint}
        </p>
      </div>
      <div
        className={`rounded-lg border border-line px-3 ${isOpen ? '' : 'grid gap-x-4 sm:grid-cols-2'}`}
      >
        {GROUPS.map((group) => (
          <div
            key={group}
            className={isOpen ? 'border-line not-last:border-b' : 'sm:first:col-span-2'}
          >
            <Box
              label={words.groups[group].name}
              types={TYPES_OF[group]}
              value={value}
              onChange={onChange}
              {...(group === 'alerts' && { hint: words.groups[group].hint })}
            />
            {isOpen && TYPES_OF[group].length > 1 && (
              <div className="grid gap-x-4 pb-1 pl-7 sm:grid-cols-2">
                {TYPES_OF[group].map((type) => (
                  <Box
                    key={type}
                    label={screenTexts.eventTypes[type]}
                    types={[type]}
                    value={value}
                    onChange={onChange}
                  />
                ))}
              </div>
            )}
          </div>
        ))}
      </div>
      <div>
        <Button look="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? words.fewer : words.more}
          <ChevronDown size={16} aria-hidden className={isOpen ? 'rotate-180' : ''} />
        </Button>
      </div>
    </ControlGroup>
  );
}
