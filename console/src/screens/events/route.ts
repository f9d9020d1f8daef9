import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { EVENT_RESOURCES, EVENT_TYPES } from '../../../../src/lib/enums';
import { rootRoute } from '../../frame/root';
import { day, id } from '../../search';

/** What the address says. */
const search = z.object({
  type: z.catch(z.optional(z.enum(EVENT_TYPES)), undefined),
  resourceType: z.catch(z.optional(z.enum(EVENT_RESOURCES)), undefined),
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
