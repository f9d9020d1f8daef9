import { type ErrorComponentProps, Link, Outlet, useRouter } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { Button, ButtonLink } from '../components/button.tsx';
import { ConfirmHost } from '../components/confirm.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Search } from '../components/icons.tsx';
import { EmptyScreen, Page } from '../components/page.tsx';
import { ProgressHost } from '../components/progress.tsx';
import { Sign } from '../components/sign.tsx';
import { useShortcuts } from '../shortcuts.ts';
import { texts } from '../texts.ts';
import { Guard } from './guard.tsx';
import { isOfMissingPart, reload, wasReloaded } from './missing-part.ts';
import { BottomNavigation, SideNavigation } from './navigation.tsx';
import { SessionMenu } from './session-menu.tsx';

const Palette = lazy(() => import('./palette.tsx'));

const Brand = () => (
  <Link
    to="/"
    className="flex items-center gap-2 rounded-sm text-base font-semibold tracking-tight"
  >
    <Sign />
    <span className="max-sm:sr-only">{texts.product}</span>
  </Link>
);

const ShortcutList = ({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) => (
  <Dialog title={texts.shortcuts.title} isOpen={isOpen} onClose={onClose}>
    <dl className="grid grid-cols-[auto_1fr] items-center gap-x-6 gap-y-3">
      {texts.shortcuts.rows.map(([keys, action]) => (
        <div key={keys} className="contents">
          <dt className="font-mono text-xs">{keys}</dt>
          <dd className="text-muted">{action}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
);

const isSearchField = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement && target.role === 'combobox';

/** The search: its text, undefined while it is closed. Keys and pasted text before its field appears are kept. */
function useSearch() {
  const [text, setText] = useState<string>();
  // Keys can come before the page is rendered again.
  const isOpen = useRef(false);
  const set = (open: boolean): void => {
    if (isOpen.current === open) return;
    isOpen.current = open;
    setText(open ? '' : undefined);
  };
  const latest = useRef(set);
  useEffect(() => {
    const add = (event: Event, more: string): void => {
      event.preventDefault();
      setText((before = '') => before + more);
    };
    const onKeyDown = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey } = event;
      if (key === 'k' && (ctrlKey || metaKey)) {
        // Unlike the other keys, this one also works inside fields.
        event.preventDefault();
        latest.current(true);
      } else if (isOpen.current && !isSearchField(event.target)) {
        if (key.length === 1 && !ctrlKey && !metaKey && !altKey) add(event, key);
      }
    };
    const onPaste = (event: ClipboardEvent): void => {
      if (!isOpen.current || isSearchField(event.target)) return;
      add(event, event.clipboardData?.getData('text') ?? '');
    };
    // Before the shortcuts, which leave a key alone that was used.
    document.addEventListener('keydown', onKeyDown, true);
    document.addEventListener('paste', onPaste, true);
    return () => {
      document.removeEventListener('keydown', onKeyDown, true);
      document.removeEventListener('paste', onPaste, true);
    };
  }, []);
  return { text, setText, open: () => set(true), close: () => set(false) };
}

/** The layout of every screen: navigation, search, and the menu of the session. */
export function Layout() {
  const search = useSearch();
  const [isHelping, setHelping] = useState(false);
  useShortcuts({ '/': search.open, '?': () => setHelping(true) });
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[14rem_1fr]">
      <a
        href="#content"
        className="fixed top-2 left-2 z-50 -translate-y-20 rounded-lg bg-raised px-4 py-2 focus:translate-y-0"
      >
        {texts.navigation.skip}
      </a>
      <div className="sticky top-0 flex h-dvh flex-col gap-6 overflow-y-auto border-r border-line py-4 max-lg:hidden">
        <SideNavigation brand={<Brand />} />
      </div>
      <div className="flex min-w-0 flex-col pb-20 lg:pb-0">
        <header className="sticky top-0 z-20 flex h-14 items-center gap-2 border-b border-line bg-page px-4 min-[22rem]:gap-3 sm:px-6">
          <div className="lg:hidden">
            <Brand />
          </div>
          <button
            type="button"
            onClick={search.open}
            className="flex min-h-9 min-w-0 flex-1 items-center gap-2 rounded-lg border border-line bg-surface px-2 text-left text-muted hover:border-edge min-[22rem]:px-3 lg:max-w-xl pointer-coarse:min-h-11"
          >
            <Search size={16} aria-hidden className="shrink-0 max-[22rem]:hidden" />
            <span className="min-w-0 flex-1 truncate">{texts.palette.open}</span>
            <kbd
              aria-hidden
              className="rounded border border-line px-1.5 font-sans text-xs max-lg:hidden"
            >
              /
            </kbd>
          </button>
          <div className="ml-auto">
            <SessionMenu onHelp={() => setHelping(true)} />
          </div>
        </header>
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
          <Guard>
            <Outlet />
          </Guard>
        </main>
      </div>
      <BottomNavigation />
      {search.text !== undefined && (
        <Suspense>
          <Palette text={search.text} onText={search.setText} onClose={search.close} />
        </Suspense>
      )}
      <ShortcutList isOpen={isHelping} onClose={() => setHelping(false)} />
      <ConfirmHost />
      <ProgressHost />
    </div>
  );
}

/** The screen of an address that does not exist. */
export const NotFound = () => (
  <Page title={texts.errors.notFoundTitle}>
    <EmptyScreen
      actions={
        <ButtonLink to="/" look="primary">
          {texts.errors.notFoundHome}
        </ButtonLink>
      }
    >
      {texts.errors.notFound}
    </EmptyScreen>
  </Page>
);

/** Time until a screen that could not be loaded looks again whether the service is in reach. */
const RETRY_MS = 3_000;

/** The screen in place of one that has failed. */
export function ScreenFailure({ error }: ErrorComponentProps) {
  const router = useRouter();
  const [isAway, setAway] = useState(false);
  const isMissing = isOfMissingPart(error);
  const again = useCallback(async () => setAway(!(await reload(error))), [error]);
  useEffect(() => {
    if (isMissing && !wasReloaded(error)) void again();
  }, [error, isMissing, again]);
  useEffect(() => {
    if (!isAway) return;
    const timer = setInterval(again, RETRY_MS);
    return () => clearInterval(timer);
  }, [isAway, again]);
  const { errors } = texts;
  return (
    <Page title={isAway ? errors.title : errors.screenTitle}>
      <EmptyScreen
        actions={
          <>
            <Button look="primary" onClick={again}>
              {errors.reload}
            </Button>
            <ButtonLink to="/" onClick={() => router.invalidate()}>
              {errors.notFoundHome}
            </ButtonLink>
          </>
        }
      >
        {isAway ? errors.noResponse : isMissing ? errors.partMissing : errors.unexpected}
      </EmptyScreen>
    </Page>
  );
}
