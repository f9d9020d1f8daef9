import {
  createContext,
  type KeyboardEvent,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
} from 'react';
import { Button } from './button.tsx';
import { Check, ExternalLink } from './icons.tsx';

const ITEM =
  'flex min-h-9 w-full items-center gap-2 rounded-md px-3 text-left text-sm hover:bg-hover focus-visible:bg-hover aria-disabled:opacity-50 pointer-coarse:min-h-11';

const Close = createContext<() => void>(() => undefined);

/**
 * A button that opens a list of actions: `MenuItem`, `MenuCheck`, `MenuNote`. The arrow keys move in it, Escape
 * closes it. The menu of Base UI alone would take a fifth of the first screen's size budget.
 */
export function Menu({
  label,
  trigger,
  look = 'plain',
  isUp = false,
  refusal,
  children,
}: {
  /** The name of the button. */
  label: string;
  trigger: ReactNode;
  look?: 'plain' | 'quiet';
  /** Opens above the button. */
  isUp?: boolean;
  /** The reason why it cannot be opened. */
  refusal?: string | undefined;
  children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    root.current?.querySelector<HTMLElement>('[role^=menuitem]')?.focus();
    const onPointerDown = ({ target }: PointerEvent): void => {
      if (target instanceof Node && !root.current?.contains(target)) setOpen(false);
    };
    document.addEventListener('pointerdown', onPointerDown);
    return () => document.removeEventListener('pointerdown', onPointerDown);
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector('button')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    if (event.key === 'Escape') {
      event.preventDefault();
      close();
    }
    const items = [...(root.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
    const current = items.findIndex((item) => item.contains(document.activeElement));
    const next = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    items.at(next % items.length)?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the menu inside
    <div
      ref={root}
      className="relative"
      onKeyDown={onKeyDown}
      onBlur={({ relatedTarget }) => {
        if (relatedTarget && !root.current?.contains(relatedTarget)) setOpen(false);
      }}
    >
      <Button
        look={look}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        refusal={refusal}
        onClick={() => setOpen(!isOpen)}
      >
        {trigger}
      </Button>
      {isOpen && (
        <div
          className={`absolute right-0 z-30 my-1.5 ${isUp ? 'bottom-full' : 'top-full'} w-max max-w-[min(20rem,calc(100vw-2rem))] min-w-44 rounded-xl border border-line bg-raised p-1 shadow-raised`}
        >
          <Close value={close}>{children}</Close>
        </div>
      )}
    </div>
  );
}

/** The items of a menu. */
export const MenuList = ({ label, children }: { label: string; children: ReactNode }) => (
  <div role="menu" aria-label={label}>
    {children}
  </div>
);

/** An action; it closes the menu. */
export function MenuItem({
  onClick,
  refusal,
  children,
}: {
  onClick: () => void;
  /** The reason why it cannot be used. */
  refusal?: string | undefined;
  children: ReactNode;
}) {
  const close = useContext(Close);
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      className={ITEM}
      title={refusal}
      aria-disabled={refusal === undefined ? undefined : true}
      onClick={() => {
        if (refusal !== undefined) return;
        close();
        onClick();
      }}
    >
      {children}
    </button>
  );
}

/** An item that is on or off; the menu stays open. */
export const MenuCheck = ({
  isChecked,
  onChange,
  children,
}: {
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  children: ReactNode;
}) => (
  <button
    type="button"
    role="menuitemcheckbox"
    aria-checked={isChecked}
    tabIndex={-1}
    className={ITEM}
    onClick={() => onChange(!isChecked)}
  >
    <span className="w-4">{isChecked && <Check size={16} aria-hidden />}</span>
    {children}
  </button>
);

/** A link to a page outside of the console; it opens in a tab of its own. */
export const MenuLink = ({ href, children }: { href: string; children: ReactNode }) => (
  <a href={href} target="_blank" rel="noreferrer" role="menuitem" tabIndex={-1} className={ITEM}>
    {children}
    <ExternalLink size={14} aria-hidden className="ml-auto text-muted" />
  </a>
);

/** A choice of one option, side by side; the menu stays open. */
export const MenuRadios = <Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string;
  options: readonly (readonly [value: Value, label: string])[];
  value: Value;
  onChange: (value: Value) => void;
}) => (
  // biome-ignore lint/a11y/useSemanticElements: a menu has no fieldset
  <div role="group" aria-label={label} className="flex items-center gap-1 pl-3">
    <span aria-hidden className="mr-auto text-sm">
      {label}
    </span>
    {options.map(([option, name]) => (
      <button
        key={option}
        type="button"
        role="menuitemradio"
        aria-checked={option === value}
        tabIndex={-1}
        className="min-h-9 rounded-md px-2 text-sm text-muted hover:bg-hover aria-checked:bg-accent-soft aria-checked:text-accent pointer-coarse:min-h-11"
        onClick={() => onChange(option)}
      >
        {name}
      </button>
    ))}
  </div>
);

/** Text in a menu, such as the name of the session. */
export const MenuNote = ({ children }: { children: ReactNode }) => (
  <div className="mb-1 border-b border-line px-3 py-2 text-xs text-muted">{children}</div>
);
