import type { ReactNode } from 'react';
import { words } from './language.ts';

const LINK = 'mr-3 inline-block py-0.5 pointer-coarse:py-2 underline underline-offset-2';

/** A sentence about something that does not work, with the ways out of it. */
export function Notice({
  children,
  url = null,
  contact,
}: {
  children: ReactNode;
  /** The page of a product, where the customer renews; null for none. */
  url?: string | null;
  /** The address of the seller for help; undefined for none. */
  contact: string | undefined;
}) {
  return (
    <p className="mt-3 rounded-lg bg-warn-soft px-3 py-2 text-warn">
      <span className="mr-3">{children}</span>
      {url !== null && (
        <a href={url} rel="noreferrer" className={LINK}>
          {words.renew}
        </a>
      )}
      {contact !== undefined && (
        <a href={contact} rel="noreferrer" className={LINK}>
          {words.help}
        </a>
      )}
    </p>
  );
}

/** Why something did not work. */
export const Alert = ({
  children,
  className = '',
}: {
  children: ReactNode;
  className?: string;
}) => (
  <p role="alert" className={`${className} w-full rounded-lg bg-warn-soft px-3 py-2 text-warn`}>
    {children}
  </p>
);
