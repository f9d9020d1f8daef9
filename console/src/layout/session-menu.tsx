import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import licet from '../../package.json' with { type: 'json' };
import { logOut, readSessionEnd } from '../api.ts';
import { CircleUser } from '../components/icons.tsx';
import { Menu, MenuItem, MenuLink, MenuList, MenuNote, MenuRadios } from '../components/menu.tsx';
import { Time } from '../components/time.tsx';
import { toasts } from '../components/toasts.tsx';
import { useSession } from '../session.ts';
import { texts } from '../texts.ts';
import { readTheme, storeTheme, THEMES } from '../theme.ts';

const words = texts.session;

/** The menu of the session: its token, the theme, help, and the log-out. */
export function SessionMenu({ onHelp }: { onHelp: () => void }) {
  const { name, id, intents, expiresAt } = useSession();
  const navigate = useNavigate();
  const [theme, setTheme] = useState(readTheme);
  const shownName = id === null ? words.root : name;
  const endsAt = readSessionEnd();
  return (
    <Menu
      look="quiet"
      label={words.menu(shownName)}
      trigger={
        <>
          <CircleUser size={18} aria-hidden />
          <span className="max-w-32 truncate max-sm:hidden">{shownName}</span>
        </>
      }
    >
      <MenuNote>
        <p className="text-sm font-medium break-words text-ink">{shownName}</p>
        <p className="mt-1">
          {words.may}: {intents.map((intent) => texts.intents[intent]).join(', ')}
        </p>
        {expiresAt !== null && (
          <p className="mt-1">
            {words.until} <Time value={expiresAt} show="ago" />
          </p>
        )}
        {endsAt !== null && (
          <p className="mt-1">
            {words.endsAt} <Time value={endsAt} />, {words.orIdle}
          </p>
        )}
      </MenuNote>
      <MenuList label={words.menu(shownName)}>
        <MenuRadios
          label={words.theme}
          options={THEMES.map((each) => [each, words.themes[each]] as const)}
          value={theme}
          onChange={(next) => {
            storeTheme(next);
            setTheme(next);
          }}
        />
        <MenuItem onClick={() => void navigate({ to: '/changes' })}>
          {texts.navigation.mine}
        </MenuItem>
        <MenuItem onClick={onHelp}>{texts.shortcuts.title}</MenuItem>
        <MenuLink href="/docs/guides">{words.guides}</MenuLink>
        <MenuLink href="/docs">{words.interface}</MenuLink>
        <MenuItem onClick={() => logOut().catch(toasts.fail)}>{words.logOut}</MenuItem>
      </MenuList>
      <p className="mt-1 border-t border-line px-3 pt-2 pb-1 text-xs text-muted">
        {words.version(licet.version)}
      </p>
    </Menu>
  );
}
