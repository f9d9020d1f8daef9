import type { LinkProps } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import { texts } from '../texts.ts';
import { Button, ButtonLink } from './button.tsx';
import { SlidersHorizontal, X } from './icons.tsx';

/** The filters above a list. On a phone a button opens those beside the search. */
export function Filters({
  to,
  count,
  search,
  children,
}: {
  /** The screen without filters. */
  to: NonNullable<LinkProps['to']>;
  /** The number of filters in use, without the search. */
  count: number;
  /** The field that is always visible. */
  search?: ReactNode;
  children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <search aria-label={texts.table.filters} className="flex flex-wrap gap-2">
      <div className="flex w-full gap-2 md:contents">
        {search && <div className="min-w-0 max-md:flex-1">{search}</div>}
        <Button
          className="md:hidden"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
        >
          <SlidersHorizontal size={16} aria-hidden />
          {texts.table.filter(count)}
        </Button>
      </div>
      <div
        id={id}
        className={`w-full grid-cols-2 gap-2 md:contents ${isOpen ? 'grid' : 'max-md:hidden'}`}
      >
        {children}
        {count > 0 && (
          <ButtonLink
            to={to}
            look="quiet"
            className="max-md:col-span-2"
            aria-label={texts.table.clearFilters}
            title={texts.table.clearFilters}
          >
            <X size={16} aria-hidden />
            <span className="md:hidden">{texts.table.clearFilters}</span>
          </ButtonLink>
        )}
      </div>
    </search>
  );
}
