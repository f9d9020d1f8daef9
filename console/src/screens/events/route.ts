import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { EVENT_RESOURCES, EVENT_TYPES } from '../../../../src/lib/enums';
import { rootRoute } from '../../frame/root';
import { day, id, oneOf } from '../../search';

/** The parameters of the address. */
const search = z.object({
  type: oneOf(EVENT_TYPES),
  resourceType: oneOf(EVENT_RESOURCES),
  resourceId: id,
  tokenId: id,
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
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
