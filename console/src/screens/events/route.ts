import { EVENT_ACTORS, EVENT_RESOURCES, EVENT_TYPES } from '@licet/contract/enums';
import { createRoute } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { lazyScreen } from '../../layout/lazy-screen.tsx';
import { rootRoute } from '../../layout/root.tsx';
import { day, id, oneOf } from '../../search.ts';

/** The parameters of the address. */
const search = z.object({
  type: oneOf(EVENT_TYPES),
  resourceType: oneOf(EVENT_RESOURCES),
  resourceId: id,
  tokenId: id,
  actor: oneOf(EVENT_ACTORS),
  from: day,
  to: day,
  after: id,
  /** The event in the dialog. */
  open: id,
});
export type EventsSearch = z.output<typeof search>;

export const eventsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'events',
  validateSearch: search,
  component: lazyScreen(() => import('./screen.tsx'), 'Screen'),
});

/** The last changes of the session's token. */
export const mineRoute = createRoute({
  getParentRoute: () => rootRoute,
  // Not under /events: each token may read its own.
  path: 'changes',
  component: lazyScreen(() => import('./mine.tsx'), 'Screen'),
});
