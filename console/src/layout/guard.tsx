import { useMatches } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EmptyScreen, Page } from '../components/page.tsx';
import { useRefusalOf } from '../session.ts';
import { placeOf } from './navigation.tsx';

/** A screen, or in its place the reason why the session's token may not open it. */
export function Guard({ children }: { children: ReactNode }) {
  // Unlike the address, the match changes together with the screen.
  const path = useMatches({ select: (matches) => matches.at(-1)?.fullPath ?? '' });
  const place = placeOf(path);
  const isForm = /\/(?:new|edit)$/.test(path);
  const refusal = useRefusalOf((isForm ? place?.write : undefined) ?? place?.right);
  if (!place || refusal === undefined) return children;
  return (
    <Page title={place.label}>
      <EmptyScreen>{refusal}</EmptyScreen>
    </Page>
  );
}
