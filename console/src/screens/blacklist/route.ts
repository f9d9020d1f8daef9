import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { id, text } from '../../search';

/** What the address says. */
const search = z.object({
  q: text,
  after: id,
});

export const blacklistRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'blacklist',
  validateSearch: search,
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
