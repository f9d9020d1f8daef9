import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import * as z from 'zod/mini';
import { rootRoute } from '../../frame/root';
import { open } from '../../search';

export const productsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'products',
  validateSearch: z.object({ open }),
  component: lazyRouteComponent(() => import('./screen'), 'Screen'),
});
