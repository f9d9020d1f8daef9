/** Rows are targets: a click beside the controls of a row opens what its first link opens. */

const CONTROLS = 'a, button, input, label, select, textarea';

/** The first link of the row that an event is in; null on controls, and after text was selected. */
function linkOf({ target }: MouseEvent): HTMLAnchorElement | null {
  if (!(target instanceof Element) || target.closest(CONTROLS)) return null;
  if (getSelection()?.type === 'Range') return null;
  return target.closest('[data-row]')?.querySelector('a') ?? null;
}

const MIDDLE = 1;

/** Makes each element with `data-row` a target. With Ctrl or the middle button its link opens in a new tab. */
export function listenToRows(): void {
  document.addEventListener('click', (event) => {
    const { ctrlKey, metaKey, shiftKey } = event;
    linkOf(event)?.dispatchEvent(
      new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }),
    );
  });
  document.addEventListener('mousedown', (event) => {
    // Otherwise the middle button scrolls the page on some systems.
    if (event.button === MIDDLE && linkOf(event)) event.preventDefault();
  });
  document.addEventListener('auxclick', (event) => {
    const link = event.button === MIDDLE ? linkOf(event) : null;
    if (link) window.open(link.href, '_blank', 'noopener');
  });
}
