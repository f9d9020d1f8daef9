import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { id, text } from '../../search';

/** What the address says. */
const search = z.object({
  resourceType: text,
  resourceId: id,
  after: id,
});

export const eventsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'events',
  validateSearch: search,
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
