import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { open } from '../../search';

export const tokensRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'tokens',
  validateSearch: z.object({ open }),
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
