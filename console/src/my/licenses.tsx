import type { PortalData, PortalLicense } from '@licet/contract/portal-page';
import { useState } from 'react';
import { buttonClass } from '../components/button-class.ts';
import { Discord } from './discord.tsx';
import { words } from './language.ts';
import { License } from './license.tsx';

/** Up to so many licenses, none is folded away. */
const MAX_UNFOLDED = 4;
/** Up to so many licenses, there is no filter. */
const MAX_UNFILTERED = 10;

const isInactive = ({ status }: PortalLicense): boolean =>
  status === 'EXPIRED' || status === 'DEACTIVATED';

const has = (text: string, part: string): boolean =>
  text.toLocaleLowerCase().includes(part.toLocaleLowerCase());

/** The licenses of a customer, in the order in which the service sends them. */
export function Licenses({
  data,
  contact,
  onOver,
  onChange,
}: {
  data: PortalData;
  contact: string | undefined;
  /** Called if the session is over. */
  onOver: () => void;
  onChange: () => Promise<void>;
}) {
  const [typed, setTyped] = useState('');
  const { licenses } = data;
  const hasFilter = licenses.length > MAX_UNFILTERED;
  const wanted = hasFilter ? typed.trim() : '';
  const shown = licenses.filter(
    ({ product, keyEnd }) => has(product, wanted) || has(keyEnd, wanted),
  );
  const isFolded = licenses.length > MAX_UNFOLDED && wanted === '';
  const folded = isFolded ? shown.filter(isInactive) : [];
  const cardsOf = (of: readonly PortalLicense[]) => (
    <div className="flex flex-col gap-4">
      {of.map((license) => (
        <License
          key={license.id}
          license={license}
          contact={contact}
          onOver={onOver}
          onChange={onChange}
        />
      ))}
    </div>
  );
  return (
    <>
      {hasFilter && (
        <input
          type="search"
          className="mb-4 min-h-11 w-full rounded-lg border border-edge bg-surface px-3"
          aria-label={words.filter}
          placeholder={words.filter}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      )}
      {cardsOf(shown.filter((license) => !folded.includes(license)))}
      {folded.length > 0 && (
        <details className="mt-4" open={folded.length === shown.length}>
          <summary className="mb-2 inline-flex min-h-11 cursor-pointer items-center font-medium underline underline-offset-2">
            {words.inactive(folded.length)}
          </summary>
          {cardsOf(folded)}
        </details>
      )}
      <p role="status">{shown.length === 0 && licenses.length > 0 && words.noMatch}</p>
      {licenses.length === 0 && (
        <>
          <p>{words.none}</p>
          {contact !== undefined && (
            <a href={contact} rel="noreferrer" className={buttonClass('plain', 'mt-4')}>
              {words.help}
            </a>
          )}
        </>
      )}
      {data.isCut && <p className="mt-4 text-muted">{words.cut}</p>}
      {data.canLinkDiscord && <Discord onOver={onOver} onLinked={onChange} />}
    </>
  );
}
