import type { ReactNode } from 'react';

/** In place of the rows of a section that has none. */
export const Nothing = ({ children }: { children: ReactNode }) => (
  <p className="px-4 py-4 text-muted sm:px-5">{children}</p>
);
