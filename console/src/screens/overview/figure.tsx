import type { ReactNode } from 'react';
import { formatNumber } from '../../format.ts';
import { texts } from '../../texts.ts';

/** A number of the overview, with what it means below it. */
export const Figure = ({
  label,
  value,
  children,
}: {
  label: ReactNode;
  /** Undefined while it is loaded. */
  value: number | undefined;
  children: ReactNode;
}) => (
  <div className="flex min-w-0 flex-col rounded-xl border border-line bg-surface px-4 py-3 sm:px-5 sm:py-4">
    <dt className="text-muted">{label}</dt>
    <dd className="flex flex-1 flex-col">
      <span className="text-2xl leading-10 font-semibold tracking-tight sm:text-3xl sm:leading-12">
        {value === undefined ? (
          <span role="status" aria-label={texts.loading} className="text-edge">
            –
          </span>
        ) : (
          formatNumber(value)
        )}
      </span>
      <div className="min-h-5">{children}</div>
    </dd>
  </div>
);
