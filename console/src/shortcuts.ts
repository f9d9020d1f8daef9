import { useEffect, useRef } from 'react';

/** Keyboard shortcuts. */

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
    (target instanceof HTMLInputElement && !/^(checkbox|radio|button)$/.test(target.type)));

const isDialogOpen = (): boolean =>
  // Toasts are dialogs too, but do not handle keys.
  document.querySelector(
    '[role="menu"], :is([role="dialog"], [role="alertdialog"]):not([aria-modal="false"])',
  ) !== null;

/**
 * Calls a function when its key is pressed, such as `{ j: () => … }`. Off inside fields, dialogs and menus,
 * and with Ctrl, Alt or Meta.
 */
export function useShortcuts(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const call = latest.current[event.key];
      if (!call || isField(event.target) || isDialogOpen()) return;
      event.preventDefault();
      call();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}
