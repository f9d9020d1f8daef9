import type { ApiIntent } from '@licet/client';
import { INTENTS } from '@licet/contract/intents';
import { Link, type LinkProps } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import {
  ArrowDownUp,
  Ban,
  Box,
  CodeXml,
  History,
  type IconComponent,
  KeyRound,
  LayoutDashboard,
  Menu,
  Receipt,
  ScrollText,
  SlidersHorizontal,
  Store,
  Ticket,
  Users,
  Webhook,
} from '../components/icons.tsx';
import { useSession } from '../session.ts';
import { texts } from '../texts.ts';

const { navigation: words } = texts;

interface Place {
  to: NonNullable<LinkProps['to']>;
  label: string;
  Icon: IconComponent;
  /** The intents of which the token needs one: otherwise the place is not shown. */
  right: readonly ApiIntent[];
  /** Those of its screens that create and edit, if it has such screens. */
  write?: readonly ApiIntent[];
}

/** A token that may read one kind of data exports that. */
const EXPORT = [
  ...INTENTS.readLicenses,
  ...INTENTS.readProducts,
  ...INTENTS.readCustomers,
  ...INTENTS.readBlacklists,
];

/** The screens, in groups. */
const PLACES: readonly (readonly Place[])[] = [
  [
    { to: '/', label: words.overview, Icon: LayoutDashboard, right: INTENTS.any },
    {
      to: '/licenses',
      label: words.licenses,
      Icon: KeyRound,
      right: INTENTS.readLicenses,
      write: INTENTS.writeLicenses,
    },
    { to: '/history', label: words.history, Icon: History, right: INTENTS.readRequests },
    {
      to: '/customers',
      label: words.customers,
      Icon: Users,
      right: INTENTS.readCustomers,
      write: INTENTS.everything,
    },
  ],
  [
    {
      to: '/products',
      label: words.products,
      Icon: Box,
      right: INTENTS.readProducts,
      write: INTENTS.writeProducts,
    },
    { to: '/blacklist', label: words.blacklist, Icon: Ban, right: INTENTS.readBlacklists },
    {
      to: '/markets',
      label: words.markets,
      Icon: Store,
      right: INTENTS.readMarkets,
      write: INTENTS.everything,
    },
    {
      to: '/purchases',
      label: words.purchases,
      Icon: Receipt,
      right: INTENTS.readPurchases,
      write: INTENTS.writePurchases,
    },
    { to: '/program', label: words.program, Icon: CodeXml, right: INTENTS.readProducts },
  ],
  [
    { to: '/events', label: words.events, Icon: ScrollText, right: INTENTS.readEvents },
    { to: '/tokens', label: words.tokens, Icon: Ticket, right: INTENTS.everything },
    {
      to: '/webhooks',
      label: words.webhooks,
      Icon: Webhook,
      right: INTENTS.readWebhooks,
      write: INTENTS.everything,
    },
    {
      to: '/settings',
      label: words.settings,
      Icon: SlidersHorizontal,
      right: INTENTS.readSettings,
      write: INTENTS.everything,
    },
    { to: '/import', label: words.import, Icon: ArrowDownUp, right: EXPORT },
  ],
];

/** The place of a screen, by its path in the router, such as `/licenses/$licenseId`. */
export const placeOf = (path: string): Place | undefined =>
  PLACES.flat().find(({ to }) => path === to || (to !== '/' && path.startsWith(`${to}/`)));

/** The screens that the session's token may open, in groups. */
export function usePlaces(): readonly (readonly Place[])[] {
  const { intents } = useSession();
  return PLACES.map((group) =>
    group.filter(({ right }) => intents.some((intent) => right.includes(intent))),
  ).filter((group) => group.length > 0);
}

const ROW =
  'flex min-h-9 items-center gap-3 rounded-lg px-3 text-muted hover:bg-hover hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent pointer-coarse:min-h-11';

const PlaceLink = ({
  place: { to, label, Icon },
  onClick,
}: {
  place: Place;
  onClick?: (() => void) | undefined;
}) => (
  <Link
    to={to}
    activeOptions={{ exact: to === '/', includeSearch: false }}
    className={ROW}
    {...(onClick && { onClick })}
  >
    <Icon size={18} aria-hidden />
    {label}
  </Link>
);

/** At the left of a wide screen. */
export const SideNavigation = ({ brand }: { brand: ReactNode }) => (
  <nav aria-label={words.label} className="flex flex-col gap-5 px-3">
    <div className="px-3 pt-0.5">{brand}</div>
    {usePlaces().map((group) => (
      <div key={group[0]?.to} className="flex flex-col gap-0.5">
        {group.map((place) => (
          <PlaceLink key={place.to} place={place} />
        ))}
      </div>
    ))}
  </nav>
);

const TAB =
  'flex min-h-14 min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-xs text-muted data-[status=active]:text-accent';

/** At the bottom of a phone: the first screens, and all others behind a button. */
export function BottomNavigation() {
  const [isOpen, setOpen] = useState(false);
  const places = usePlaces();
  return (
    <nav
      aria-label={words.label}
      className="fixed inset-x-0 bottom-0 z-30 flex border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] lg:hidden"
    >
      {places[0]?.map(({ to, label, Icon }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          className={TAB}
        >
          <Icon size={20} aria-hidden />
          {label}
        </Link>
      ))}
      {places.length > 1 && (
        <>
          <button
            type="button"
            className={TAB}
            aria-haspopup="dialog"
            onClick={() => setOpen(true)}
          >
            <Menu size={20} aria-hidden />
            {words.more}
          </button>
          {isOpen && (
            <Dialog title={words.more} isOpen onClose={() => setOpen(false)}>
              <div className="-mx-3 -mt-2">
                {places
                  .slice(1)
                  .flat()
                  .map((place) => (
                    <PlaceLink key={place.to} place={place} onClick={() => setOpen(false)} />
                  ))}
              </div>
            </Dialog>
          )}
        </>
      )}
    </nav>
  );
}
