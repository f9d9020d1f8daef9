import { Dialog } from '@base-ui/react/dialog';
import { MAX_HWID_BYTES } from '@licet/contract/limits';
import { recognize } from '@licet/contract/recognize';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { describe } from '../api.ts';
import { BACKDROP_CLASS, POPUP_CLASS } from '../components/dialog-popup.tsx';
import { Search } from '../components/icons.tsx';
import { MIN_TEXT, useRested } from '../rested.ts';
import { useSession } from '../session.ts';
import { texts } from '../texts.ts';
import { type Hit, lookUp } from './lookup.ts';
import { usePlaces } from './navigation.tsx';

const words = texts.palette;

/** The screens whose name begins with the typed text; all of them without a text. */
function useScreens(typed: string): Hit[] {
  const start = typed.toLowerCase();
  return usePlaces()
    .flat()
    .filter(({ label }) => label.toLowerCase().startsWith(start))
    .map(({ to, label }) => ({
      id: `screen-${to}`,
      group: words.screens,
      title: label,
      note: '',
      link: { to },
    }));
}

/** One search box for everything. It recognizes the kind of a pasted text, and makes the exact look-ups first. */
export default function Palette({
  text,
  onText,
  onClose,
}: {
  text: string;
  onText: (text: string) => void;
  onClose: () => void;
}) {
  const typed = text.trim();
  const rested = useRested(typed);
  const { intents } = useSession();
  const search = useQuery({
    queryKey: ['palette', rested],
    queryFn: ({ signal }) => lookUp(rested, intents, signal),
    enabled: rested.length >= MIN_TEXT || recognize(rested) === 'number',
    placeholderData: keepPreviousData,
  });
  const screens = useScreens(typed);
  const isSearched = typed.length >= MIN_TEXT || recognize(typed) === 'number';
  const isBusy = isSearched && (typed !== rested || search.isFetching);
  const hits = [...(isSearched ? (search.data ?? []) : []), ...screens];

  const navigate = useNavigate();
  const [active, setActive] = useState(0);
  // Enter was pressed before the result arrived, because a key is pasted faster than it is found.
  const [isEager, setEager] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const listId = useId();
  const current = hits[Math.min(active, hits.length - 1)];
  const open = (hit: Hit): void => {
    onClose();
    void navigate(hit.link);
  };
  const found = isEager && !isBusy ? search.data?.[0] : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: opens what was found, once
  useEffect(() => {
    if (found) open(found);
  }, [found]);
  const move = (index: number): void => {
    setActive(index);
    list.current?.querySelectorAll('[role=option]')[index]?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = current ? hits.indexOf(current) : 0;
    if (event.key === 'ArrowDown') move(Math.min(index + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') move(Math.max(index - 1, 0));
    else if (event.key === 'Enter' && isBusy) setEager(true);
    else if (event.key === 'Enter' && current) open(current);
    else return;
    event.preventDefault();
  };
  const groups = Map.groupBy(hits, ({ group }) => group);

  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP_CLASS} />
        <Dialog.Popup
          aria-label={words.label}
          className={`${POPUP_CLASS} inset-x-2 top-2 flex max-h-[calc(100dvh-1rem)] flex-col overflow-hidden rounded-2xl sm:inset-x-auto sm:top-[12vh] sm:left-1/2 sm:max-h-[70vh] sm:w-[40rem] sm:-translate-x-1/2`}
        >
          <div className="flex items-center gap-3 border-b border-line px-4">
            <Search size={18} aria-hidden className="shrink-0 text-muted" />
            <input
              role="combobox"
              aria-label={words.label}
              aria-expanded
              aria-controls={listId}
              aria-activedescendant={current && `${listId}-${current.id}`}
              placeholder={words.placeholder}
              value={text}
              maxLength={MAX_HWID_BYTES}
              autoComplete="off"
              spellCheck="false"
              onChange={({ target }) => {
                onText(target.value);
                setActive(0);
                setEager(false);
              }}
              onKeyDown={onKeyDown}
              className="min-h-14 min-w-0 flex-1 bg-transparent text-base text-ellipsis outline-none placeholder:text-muted"
            />
            {typed !== '' && (
              <span className="rounded-md bg-hover px-1.5 py-0.5 text-xs text-muted">
                {words.kinds[recognize(typed)]}
              </span>
            )}
          </div>
          <p role="status" className="px-4 pt-3 text-xs text-muted empty:hidden">
            {isBusy
              ? words.searching
              : search.error
                ? describe(search.error)
                : !isSearched && (typed === '' || screens.length === 0)
                  ? words.hint
                  : isSearched && search.data?.length === 0
                    ? words.nothing
                    : ''}
          </p>
          <div
            ref={list}
            id={listId}
            role="listbox"
            aria-label={words.label}
            className="min-h-0 flex-1 overflow-y-auto p-2"
          >
            {[...groups].map(([group, members]) => (
              // biome-ignore lint/a11y/useSemanticElements: a listbox has groups, and no field sets
              <div key={group} role="group" aria-label={group}>
                <p aria-hidden className="px-2 pt-2 pb-1 text-xs text-muted">
                  {group}
                </p>
                {members.map((hit) => (
                  // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
                  <div
                    key={hit.id}
                    id={`${listId}-${hit.id}`}
                    role="option"
                    aria-selected={hit === current}
                    tabIndex={-1}
                    onClick={() => open(hit)}
                    onPointerMove={() => setActive(hits.indexOf(hit))}
                    className="flex min-h-10 cursor-pointer items-center gap-3 rounded-lg px-2 py-1.5 aria-selected:bg-accent-soft pointer-coarse:min-h-12"
                  >
                    <span
                      className={
                        group === words.licenses
                          ? 'shrink-0 font-mono text-[0.8125rem]'
                          : 'max-w-2/3 shrink-0 truncate'
                      }
                    >
                      {hit.title}
                    </span>
                    <span className="ml-auto min-w-0 truncate text-xs text-muted">{hit.note}</span>
                  </div>
                ))}
              </div>
            ))}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
